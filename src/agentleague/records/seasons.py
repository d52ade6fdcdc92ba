"""A season on disk: `season.toml`, and its leagues in `001`, `002` and so on, each as any other."""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeGuard

import msgspec
from msgspec import Meta, Struct

from agentleague.errors import StorageError
from agentleague.league.league import League
from agentleague.league.season import Rule
from agentleague.protocol.printable import nearest, one_line
from agentleague.records.reading import SEASON_NAME, open_league
from agentleague.storage.directory import has_journal_file, leagues_in

_LEAGUE = re.compile(r"(?!000)[0-9]{3}")
_INSTEAD = {  # What one league has of its own stands in place of these of all leagues.
    "start_at": ("start_after_seconds",),
    "start_after_seconds": ("start_at",),
    "format": ("format_options", "stages"),
    "stages": ("format", "format_options"),
    "game_type": ("game_options",),
}


_MUST_BE = {
    "leagues": "a whole number from 1 to 999",
    "rule": '"sum", "best" or "rating"',
    "best": "a whole number from 1 to 999",
    "pause_seconds": "a number from 0 to 31,536,000",
    "league": "a table, [league]",
    "each": "tables by the number of a league, such as [each.2]",
}


class WrongSeason(StorageError):
    """Its settings cannot be."""

    exit_code = 2  # as of any wrong setting


class SeasonSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What `season.toml` holds."""

    leagues: Annotated[int, Meta(ge=1, le=999)]
    rule: Rule = "sum"
    best: Annotated[int, Meta(ge=0, le=999)] = 0  # how many leagues count, for the rule "best"
    pause_seconds: Annotated[float, Meta(ge=0, le=31_536_000)] = 0.0
    league: dict[str, Any] = {}  # settings of every league
    each: dict[str, dict[str, Any]] = {}  # by number: those that one league has besides

    def of(self, number: int) -> dict[str, Any]:
        """The settings of one league."""
        besides = self.each.get(str(number), {})
        replaced = {name for each in besides for name in _INSTEAD.get(each, ())}
        shared = {name: each for name, each in self.league.items() if name not in replaced}
        if _has_no_cycles(besides):
            shared.pop("cycles", None)
        own = {**shared, **besides}
        if own.get("league_id"):  # It is unique for ever.
            own["league_id"] = f"{own['league_id']}-{number:03}"
        return own


def _has_no_cycles(besides: Mapping[str, Any]) -> bool:
    """Whether a league has formats of its own, and none of them is a round robin."""
    stages = besides.get("stages", [besides] if "format" in besides else [])
    are_tables = isinstance(stages, list) and all(isinstance(each, dict) for each in stages)
    formats = [each.get("format") for each in stages] if are_tables else []
    return bool(formats) and "round_robin" not in formats


def is_season(directory: object) -> TypeGuard[Path]:
    """Whether a season lies there."""
    return isinstance(directory, Path) and (directory / SEASON_NAME).is_file()


def read_season(directory: Path) -> SeasonSettings:
    """Its settings. Raises WrongSeason with what is wrong with them, StorageError without any."""
    file = directory / SEASON_NAME
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        why = f"there is no season in {directory}; begin one with: league season {directory} --new"
        raise StorageError(why) from None
    except (OSError, ValueError, RecursionError) as error:
        raise WrongSeason(f"{file} cannot be: {one_line(str(error))}") from None
    for wrong in _wrong_fields(table):
        raise WrongSeason(f"{file}: {wrong}")
    found = msgspec.convert(table, SeasonSettings)
    for wrong in _wrong_together(found):
        raise WrongSeason(f"{file}: {wrong}")
    return found


def _wrong_fields(table: Mapping[str, Any]) -> Iterator[str]:
    kinds = {each.name: each.type for each in msgspec.structs.fields(SeasonSettings)}
    for name in table:
        if name not in kinds:
            near = nearest(name, kinds)
            meant = f"did you mean {near}? Settings" if near else "settings"
            shown = one_line(name, 60)
            yield f"a season has no setting '{shown}'; {meant} of its leagues go below [league]"
    for name in ("leagues", *table):
        try:
            msgspec.convert(table.get(name), kinds[name])
        except msgspec.ValidationError:
            given = f"not {one_line(repr(table[name]), 60)}" if name in table else "and is missing"
            yield f"{name} must be {_MUST_BE[name]}, {given}"


def _wrong_together(found: SeasonSettings) -> Iterator[str]:
    numbers = {str(number) for number in range(1, found.leagues + 1)}
    for name in found.each:
        if name not in numbers:
            shown = one_line(name, 20)
            yield f"[each.{shown}] must name a league, from each.1 to each.{found.leagues}"
    if found.rule == "best" and not found.best:
        yield 'rule = "best" needs the number of leagues that count, such as best = 2'
    if found.best and found.rule != "best":
        yield 'best goes with rule = "best" only; write that, or leave best out'


def season_leagues(directory: Path) -> list[Path]:
    """The directories of its leagues that have begun, in order.

    Raises StorageError if one is missing or there twice: who is who would be told wrongly.
    """
    named = (each for each in directory.iterdir() if _LEAGUE.fullmatch(each.name))
    found, ids = sorted(filter(has_begun, named)), dict[str, Path]()
    for number, each in enumerate(found, start=1):
        if each.name != f"{number:03}":
            missing = directory / f"{number:03}"
            raise StorageError(f"there is a league in {each} and none in {missing}; put that back")
        for league_id in leagues_in(each):
            other = ids.setdefault(league_id, each)
            if other != each:
                raise StorageError(f"{each} is a copy of {other}; take one of them out")
    return found


def has_begun(directory: Path) -> bool:
    """Whether a league lies there; a manager that was killed at once left no row of one."""
    return has_journal_file(directory) and bool(leagues_in(directory))


def begun_leagues(directory: Path) -> list[Path]:
    """As `season_leagues`; there is one at least. Raises StorageError."""
    if found := season_leagues(directory):
        return found
    begin = f"league season {shlex.quote(str(directory))}"
    raise StorageError(f"no league of {directory} has begun; begin with: {begin}")


def open_season(directory: Path) -> list[League]:
    """All its leagues so far; there is one at least. Raises StorageError."""
    return [open_league(each)[0] for each in begun_leagues(directory)]


def is_over(league: League) -> bool:
    """Whether it is over, and everybody was told."""
    return ("league_end", league.round_id) in league.told

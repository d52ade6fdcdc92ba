"""The plan of a sweep: a TOML file that names players, games, formats and seeds.

Its leagues are the product of them all, numbered from 1 in the order of the file: game, format,
players, seed. They are played seed by seed, so that a sweep that is stopped has seen each setting
about as often, and its time left can be told.
"""

import json
import math
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.player.strategies import games_of
from agentleague.protocol.printable import there_are
from agentleague.runtime import plugins
from agentleague.runtime.settings import FILE_BYTES_MAX, SettingError, line_of
from agentleague.sdk.offline import offline_stages
from agentleague.sdk.player import Player

Load = Callable[[Path, str], Player]  # the player of a file for a game; every call runs the file
PACKAGE = "agentleague"
PLAYERS_MAX, LEAGUES_MAX = 1_000, 10_000_000
NUMBERS_END = 10**18  # of whole numbers; Parquet has 64 bits for each
FIELDS = ("players", "players_per_league", "games", "formats", "seeds", "seeding")
SEEDINGS = ("random", "order")
EXAMPLE = """\
# The plan of a sweep; play it with: league sweep {file}
# Every game is played in every format, by every set of players, once for each seed.

# Strategies that are installed (`league strategies`), or files that end with .py, from here.
players = ["random", "fixed", "alternating", "frequency"]

# How many of them meet in a league: every combination of so many. All of them unless given.
# players_per_league = 2

# Games that are installed (`league games`), or files that end with .py. even_odd is luck alone:
# there no choice wins more often than it loses, and fewer draws bring more points.
games = ["rock_paper_scissors", "even_odd"]

# Seeds 1 to 20. Others: seeds = [7, 11, 13], or seeds = {{ first = 1_001, last = 2_000 }}
seeds = 20

# In which order the players register, and so who is seeded first: drawn by the seed of each league
# ("random"), or as they stand above ("order").
# seeding = "random"

# One or more formats, with options. Of an option that is a list, each value is tried. A league of
# stages has: stages = [{{ format = "swiss", advance = 8 }}, {{ format = "knockout" }}]
[[formats]]
format = "round_robin"
cycles = [1, 10]
"""


class Setting(NamedTuple):
    """A format with its options, as far as they were given; or several, one after the other."""

    stages: Sequence[Mapping[str, Any]]

    @property
    def format(self) -> str:
        """Its name."""
        return "+".join(stage["format"] for stage in self.stages)

    @property
    def options(self) -> str:
        """As JSON, the same for the same ones."""
        found = [{n: v for n, v in stage.items() if n != "format"} for stage in self.stages]
        only = found[0] if len(found) == 1 else found
        return json.dumps(only, sort_keys=True, separators=(",", ":"))


class SweepLeague(NamedTuple):
    """One league of a plan."""

    number: int
    game: str
    setting: Setting
    players: Sequence[int]  # which of the plan, in the order in which they register
    seed: int


class Key(Struct, frozen=True, array_like=True):
    """What a league is in any plan, as it is kept with its outcome."""

    game: str
    format: str
    options: str
    seeding: str
    players: tuple[str, ...]  # as plans have them, in their order there
    seed: int


@dataclass(frozen=True)
class Plan:
    """All leagues of a sweep."""

    folder: Path
    players: Sequence[str]  # as the file has them
    games: Sequence[str]
    settings: Sequence[Setting]
    sets: Sequence[Sequence[int]]  # of players, which meet in a league
    seeds: Sequence[int]
    seeding: str = "random"  # or as the plan lists the players
    imported: frozenset[str] = frozenset()  # files, by those of the players

    @cached_property
    def names(self) -> list[str]:
        """The players by the names that the table has, each once."""
        names: list[str] = []
        for player in self.players:
            name = Path(player).stem if player.endswith(".py") else player
            names.append(name if name not in names else f"{name}-{len(names) + 1}")
        return names

    @cached_property
    def named(self) -> list[str]:
        """The players as the file has them, told apart where one is there twice."""
        before = (self.players[:n].count(player) for n, player in enumerate(self.players))
        return [
            f"{player}:{n + 1}" if n else player
            for player, n in zip(self.players, before, strict=True)
        ]

    @property
    def leagues(self) -> int:
        """How many there are."""
        return len(self.games) * len(self.settings) * len(self.sets) * len(self.seeds)

    def league(self, number: int) -> SweepLeague:
        """The league of this number."""
        game, setting, which, seed = self.parts_of(number)
        players, drawn = self.sets[which], self.seeds[seed]
        if self.seeding == "random":
            players = Random(drawn).sample(players, len(players))
        return SweepLeague(number, self.games[game], self.settings[setting], players, drawn)

    def parts_of(self, number: int) -> tuple[int, int, int, int]:
        """Which game, setting, set of players and seed a league has."""
        rest, seed = divmod(number - 1, len(self.seeds))
        rest, which = divmod(rest, len(self.sets))
        return *divmod(rest, len(self.settings)), which, seed

    def set_of(self, number: int) -> Sequence[int]:
        """The players of a league in the order of the plan."""
        return self.sets[self.parts_of(number)[2]]

    def key(self, number: int) -> Key:
        """What this league is."""
        game, setting, which, seed = self.parts_of(number)
        told, players = self.settings[setting], tuple(self.named[n] for n in self.sets[which])
        about = (self.games[game], told.format, told.options, self.seeding)
        return Key(*about, players, self.seeds[seed])

    def order(self) -> Iterator[int]:
        """The numbers of all leagues in the order in which they are played."""
        step = len(self.seeds)
        for seed in range(1, step + 1):
            yield from range(seed, self.leagues + 1, step)

    def found(self, name: str) -> str | Path:
        """What the plan names: something installed, or a file beside the plan."""
        return (self.folder / name).absolute() if name.endswith(".py") else name

    @cached_property
    def files(self) -> dict[str, Path]:
        """The files that it names."""
        named = ((name, self.found(name)) for name in (*self.players, *self.games))
        return {name: found for name, found in named if isinstance(found, Path)}

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        return tuple({_folder(file.parent) for file in self.files.values()})

    @contextmanager
    def forgetting_imports(self) -> Iterator[set[str]]:
        """At the end, forget what was imported from the folders of these files and below, so that
        the next import runs it again; its places. Installed libraries stay.
        """
        path, known, imported = list(sys.path), set(sys.modules), set[str]()
        try:
            yield imported
        finally:
            sys.path[:] = path
            for name in sys.modules.keys() - known:
                found = [each for each in _places(name) if each.startswith(self._folders)]
                if found and not name.startswith("agentleague."):  # That may lie there, too.
                    imported.update(found)
                    del sys.modules[name]

    def identity(self) -> dict[str, str]:
        """What all results depend on: the version, and files as digests."""
        here = _folder(self.folder)
        files = self.files | {each.removeprefix(here): Path(each) for each in sorted(self.imported)}
        digests = {name: sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
        return {PACKAGE: version(PACKAGE), **digests}


def _folder(path: Path) -> str:
    return os.path.join(os.path.abspath(path), "")


def _places(name: str) -> list[str]:
    """Where a module lies: its file, or the folders of a package that has none."""
    module = sys.modules[name]
    file = getattr(module, "__file__", None)
    places = map(os.path.abspath, [file] if file else getattr(module, "__path__", ()))
    return [each for each in places if "site-packages" not in each]


class Reading(NamedTuple):
    """A plan that is being read; an error names the file, the line and the field."""

    file: Path
    text: str
    table: Mapping[str, Any]

    def wrong(self, field: str, problem: str, after: int = 0) -> SettingError:
        """That this field, the first below the line `after`, cannot be."""
        at = line_of(self.text, field, after)
        return SettingError(f"{self.file}, line {at}: {field} {problem}")

    def texts(self, field: str, example: str) -> list[str]:
        """A field that lists texts."""
        found = self.table.get(field)
        is_right = (
            isinstance(found, list) and found and all(isinstance(each, str) for each in found)
        )
        if not is_right:
            what = "is missing" if found is None else "must be a list of texts"
            raise self.wrong(field, f"{what}; write for example: {field} = {example}")
        return list(found or ())


def read_plan(file: Path, load: Load) -> Plan:
    """The plan in a file, when everything that it names was found. Raises SettingError."""
    reading = _read(file)
    players = reading.texts("players", '["random", "frequency"]')
    if not 2 <= len(players) <= PLAYERS_MAX:
        raise reading.wrong("players", f"must be from 2 to {PLAYERS_MAX:,}, not {len(players)}")
    games = reading.texts("games", '["even_odd"]')
    size = reading.table.get("players_per_league", len(players))
    if not _is_number(size) or not 2 <= size <= len(players):
        raise reading.wrong("players_per_league", f"must be from 2 to {len(players)}, not {size!r}")
    settings, seeds = _settings(reading, size), _seeds(reading)
    for field, each in (("games", games), ("formats", [(s.format, s.options) for s in settings])):
        if len(set(each)) < len(each):
            raise reading.wrong(field, "names one twice; leave it out")
    seeding = reading.table.get("seeding", SEEDINGS[0])
    if seeding not in SEEDINGS:
        raise reading.wrong("seeding", f"must be one of {', '.join(SEEDINGS)}, not {seeding!r}")
    leagues = len(games) * len(settings) * len(seeds) * math.comb(len(players), size)
    if leagues > LEAGUES_MAX:
        fewer = "give fewer seeds, or leave players_per_league out"
        raise reading.wrong("seeds", f"make {leagues:,} leagues, over {LEAGUES_MAX:,}; {fewer}")
    sets = list(combinations(range(len(players)), size))
    plan = Plan(file.absolute().parent, players, games, settings, sets, seeds, seeding)
    return replace(plan, imported=_check_code(plan, reading, load))


def _read(file: Path) -> Reading:
    try:
        if file.stat().st_size > FILE_BYTES_MAX:
            raise SettingError(f"{file} is too large for a plan")
        text = file.read_text(encoding="utf-8-sig")
        table = tomllib.loads(text)
    except FileNotFoundError:
        raise SettingError(
            f"there is no file {file}; write one with: league sweep --new {file}"
        ) from None
    except (ValueError, RecursionError) as error:  # Also a number of 5,000 digits, or no UTF-8.
        see = "see how it is written with: league sweep --new example.toml"
        raise SettingError(f"{file} is not TOML: {error}; {see}") from None
    reading = Reading(file, text, table)
    for key in table:
        if key not in FIELDS:
            there = there_are(key.lower().replace("-", "_"), FIELDS)
            raise reading.wrong(key, f"is no field of a plan; {there}")
    return reading


def _is_number(value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and abs(value) < NUMBERS_END


def _seeds(reading: Reading) -> Sequence[int]:
    given = reading.table.get("seeds")
    match given:
        case int() if _is_number(given) and 1 <= given <= LEAGUES_MAX:
            return range(1, given + 1)
        case {"first": first, "last": last, **rest} if (
            not rest and _is_number(first) and _is_number(last) and first <= last
        ):
            return range(first, last + 1)
        case [_, *_] if all(map(_is_number, given)):
            if len(set(given)) < len(given):
                raise reading.wrong("seeds", "names one twice; leave it out")
            return list(given)
    what = "is missing" if given is None else f"cannot be {given!r}"
    forms = "seeds = 100, seeds = [7, 11] or seeds = { first = 1, last = 100 }"
    raise reading.wrong("seeds", f"{what}; write {forms}, of at most 18 digits")


def _settings(reading: Reading, players: int) -> Sequence[Setting]:
    """Every format with every value of its options; so many players must be able to play it."""
    given = reading.table.get("formats", ["round_robin"])
    if not isinstance(given, list) or not given:
        raise reading.wrong("formats", 'must be a list; write for example: ["round_robin"]')
    settings: list[Setting] = []
    after = 0
    for each in given:
        table = each if isinstance(each, dict) else {"format": each}
        after = line_of(reading.text, "formats", after) if table is each else 0
        stages = table["stages"] if [*table] == ["stages"] else [table]
        try:
            for chosen in product(*map(_expanded, stages if isinstance(stages, list) else [0])):
                offline_stages(chosen, players)
                settings.append(Setting(chosen))
        except LeagueError as error:
            raise reading.wrong("formats", f"cannot be: {error}", max(after - 1, 0)) from None
    return settings


def _expanded(stage: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A stage with each value of the options that are lists."""
    if not isinstance(stage, dict):
        raise LeagueError('a stage is a table, as in: stages = [{ format = "swiss" }]')
    if empty := [name for name, value in stage.items() if value == []]:
        raise LeagueError(f"the option {empty[0]!r} has no value")
    values = [each if isinstance(each, list) else [each] for each in stage.values()]
    return (dict(zip(stage, chosen, strict=True)) for chosen in product(*values))


def _check_code(plan: Plan, reading: Reading, load: Load) -> frozenset[str]:
    """Load all that the plan names, and nothing else; the files that players import."""
    games = []
    for name in plan.games:
        try:
            games.append(plugins.find_game(plan.found(name)).name)
        except LeagueError as error:
            raise reading.wrong("games", f"cannot be: {error}") from None
    wrong: dict[str, None] = {}  # each once, in order
    with plan.forgetting_imports() as imported:
        for name in plan.players:
            try:
                for game in games:
                    _check_player(plan.found(name), game, load)
            except LeagueError as error:
                wrong[str(error)] = None
    if wrong:
        raise reading.wrong("players", f"cannot be: {'; '.join(wrong)}")
    return frozenset(filter(os.path.isfile, imported))


def _check_player(found: str | Path, game: str, load: Load) -> None:
    if isinstance(found, Path):
        load(found, game)
        return
    made_for = games_of(plugins.load_strategy(found))
    if made_for and game not in made_for:
        raise LeagueError(f"the strategy {found} plays {', '.join(made_for)}, not {game}")

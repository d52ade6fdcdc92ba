"""`league ratings`: how strong players are, by the results of one league or many."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from agentleague.cli.directory import Place
from agentleague.cli.output import (
    ROWS_MAX,
    Column,
    counted,
    print_json,
    print_rest,
    print_rows,
    say,
    shown,
)
from agentleague.cli.reading import all_option
from agentleague.errors import UnsupportedGame
from agentleague.games.game import Game
from agentleague.league.league import League
from agentleague.records.ratings import RatedLeague, in_words, opens_group, results_of, statistics
from agentleague.records.reading import open_league
from agentleague.records.seasons import begun_leagues, is_season
from agentleague.runtime.plugins import load_game
from agentleague.storage.directory import FILE_NAME, JournalPlace, with_league

MORE = Column("more", "More", leaves=1)
PLOT = Column("plot", "", True, leaves=2)
COLUMNS = (
    Column("range", "Rank", True),
    Column("name", "Name", True, True),
    Column("rating", "Rating"),
    Column("interval", "95 % from, to", True),
    Column("matches", "Matches", leaves=1),
    Column("first", "First"),
    MORE,
    PLOT,
)
WIDTH = 31  # of the plot
CHANCES_MAX = 12  # ranks that a narrow terminal has room for
MORE_MEANS = "More: matches of each that would tell it from the next, if they differ so."
MIDDLE = "0 is the middle of all players."
MEANS = "o the rating; = half of all chances; - 95 % of them. " + MIDDLE


@click.command()
@click.argument("places", metavar="DIR...", nargs=-1, required=True, type=Place())
@click.option("--without-forfeits", is_flag=True, help="Leave out matches lost without a game.")
@all_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    places: Sequence[JournalPlace], without_forfeits: bool, is_all: bool, as_json: bool
) -> None:
    """Print how strong players are by their results, and how sure that is; over several leagues,
    players with the same name count as one, in a season those with the same id. It reads journals;
    a league may still run.

    A rating depends on all results together and on no order (Bradley-Terry, on the scale of Elo:
    who is 100 above another wins 64 of 100 matches). A rank has a range, like 2 (1-4).

    league ratings ./league
    league ratings ./monday ./tuesday ./friday --json
    """
    leagues = _opened([each for place in places for each in _leagues(place)])
    is_one = len(places) == 1 and is_season(places[0])  # There an id is one player's.
    identity = (lambda league_id, player_id, name: player_id) if is_one else None
    facts = statistics(leagues, identity=identity, with_forfeits=not without_forfeits)
    if as_json:
        print_json(facts)
        return
    flags = [*["--without-forfeits"] * without_forfeits, "--all"]
    rest = shlex.join(["league", "ratings", *map(str, places), *flags])
    print_ratings(facts, "" if is_all else rest)


def _leagues(place: JournalPlace) -> Sequence[JournalPlace]:
    """The league that lies there, or those of a season. Raises StorageError if none has begun."""
    return begun_leagues(place) if is_season(place) else [_directory(place)]


def _opened(places: Sequence[JournalPlace]) -> list[RatedLeague]:
    """The leagues that lie there. Raises UsageError for one that is named twice."""
    found: dict[str, tuple[JournalPlace, RatedLeague]] = {}
    for each in places:
        league, rows = open_league(each)
        league_id = rows[0].league_id
        if league_id in found:
            other = found[league_id][0]
            raise click.UsageError(f"{other} and {each} are one league, {league_id}; name it once")
        found[league_id] = each, played(league)
    return [league for _, league in found.values()]


def _directory(place: JournalPlace) -> JournalPlace:
    if isinstance(place, Path) and place.name == FILE_NAME:  # Its directory is meant.
        return place.parent
    return with_league(place)


def played(league: League) -> RatedLeague:
    """A league with the game it plays, if that is installed."""
    return results_of(league, game_of(league))


def game_of(league: League) -> Game | None:
    """The game of a league; None if it is not installed: only its word on luck is missing then."""
    try:
        return load_game(league.rules.game_type)
    except UnsupportedGame:
        return None


def print_ratings(facts: Mapping[str, Any], rest: str = "") -> None:
    """Ratings with their intervals, gaps that are clear, and what that says; `rest` prints all."""
    rows = facts["rows"]
    left_out = max(0, len(rows) - ROWS_MAX) if rest and sys.stdout.isatty() else 0
    matches = counted(facts["matches"], "match", "matches")
    title = f"{', '.join(facts['leagues'])}: strength by {matches}"
    sentences = [*filter(None, (facts["verdict"], facts["luck"], *facts["notes"]))]
    if facts["parts"] > 1:
        print(shown(sentences.pop(0)))
    columns: Sequence[Column] = [each for each in COLUMNS if each != MORE or not facts["is_luck"]]
    for part in range(1, facts["parts"] + 1) or (1,):
        group = f", group {part} of {facts['parts']}" if facts["parts"] > 1 else ""
        found = [row for row in rows[: len(rows) - left_out] if row["part"] == part]
        if found or not rows:
            columns = print_rows([*_rows(found)], columns, f"{title}{group}")
    print_rest(left_out, rest)
    for sentence in sentences:
        print(shown(sentence))
    say(MEANS if PLOT in columns else MIDDLE)
    if MORE in columns and any(row.get("more_matches", 0) != 0 for row in rows):
        say(MORE_MEANS)


def print_chances(facts: Mapping[str, Any]) -> None:
    """How likely each rank is for each player, if they are few and can all be compared."""
    rows = [row for row in facts["rows"] if row["rank"]]
    if facts["parts"] > 1 or not 0 < len(rows) <= CHANCES_MAX:
        return
    ranks = [str(rank) for rank in range(1, len(rows) + 1)]
    shares = [[f"{100 * each:.0f}" for each in row["chances"]] for row in rows]
    found = [
        {"name": row["name"], **dict(zip(ranks, own, strict=True))}
        for row, own in zip(rows, shares, strict=True)
    ]
    columns = (Column("name", "Name", True, True), *(Column(each, each) for each in ranks))
    print()
    print_rows(found, columns, "Chance of each rank, in per cent")


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    low = min((row["low_95"] for row in rows), default=0)
    high = max((row["high_95"] for row in rows), default=0)
    leader: Mapping[str, Any] = {}
    for row, before in zip(rows, [None, *rows], strict=False):
        if opens_group(row, before):
            yield {"name": f"--- weaker than {leader['name']} ---"}
        leader = row if not before or opens_group(row, before) else leader
        yield {**row, **in_words(row), "plot": dot_and_line(row, low, high)}


def dot_and_line(row: Mapping[str, float], low: float, high: float) -> str:
    """Dot and line: --=o=--."""
    scale = (WIDTH - 1) / max(1, high - low)
    at = {
        name: round((row[name] - low) * scale) for name in row if name.startswith(("low", "high"))
    }
    line = [" "] * WIDTH
    for mark, ends in (("-", "95"), ("=", "50")):
        for n in range(at[f"low_{ends}"], at[f"high_{ends}"] + 1):
            line[n] = mark
    line[round((row["rating"] - low) * scale)] = "o"
    return "".join(line)

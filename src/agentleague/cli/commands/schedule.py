"""`league schedule`: who meets whom, and how each match ended."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from agentleague.cli.options import Number
from agentleague.cli.output import ROWS_MAX, Column, counted, print_json, print_rows
from agentleague.cli.reading import all_option, read, reading_options, see_all
from agentleague.errors import LeagueError
from agentleague.runtime.query_pages import Source, all_rounds, all_rows
from agentleague.storage.directory import JournalPlace

COLUMNS = (
    Column("round_id", "Round"),
    Column("match_id", "Match", True),
    Column("player_a", "Player A", True, True),
    Column("player_b", "Player B", True, True),
    Column("ended", "Ended", True),
)
MARKS = {  # what is special about a match
    "ruled": "ruled",
    "unverified": "not verified",
    "unconfirmed": "unconfirmed",
    "disputed": "disputed",
}


@click.command()
@click.option("--round", "round_id", metavar="N", type=Number(int, 1), help="This round alone.")
@all_option
@reading_options
def command(
    directory: JournalPlace | None,
    manager_url: str | None,
    as_json: bool,
    round_id: int | None,
    is_all: bool,
) -> None:
    """Print who meets whom, and how each match ended.

    league schedule
    league schedule --round 2
    league schedule --dir ./league --json
    """

    async def ask(source: Source) -> tuple[list[dict[str, Any]], dict[str, str], int]:
        status = await source.ask("GET_STATUS")
        total = status.get("total_rounds")
        if round_id and isinstance(total, int) and 0 < total < round_id:
            raise LeagueError(f"there is no round {round_id}; there are rounds 1 to {total}")
        rounds = await all_rounds(source, **({"round_id": round_id} if round_id else {}))
        agents = [] if as_json else await all_rows(source, "GET_AGENTS", "agents", kind="player")
        names = {row["agent_id"]: row["display_name"] for row in agents}
        return rounds, names, status.get("current_round") or 1

    rounds, names, current = read(directory, manager_url, ask)
    if as_json:
        print_json(rounds)
        return
    cut = rounds if is_all or not sys.stdout.isatty() else _about(rounds, current)
    title = f"Round {round_id}" if round_id else counted(len(rounds), "round")
    print_rows(list(_rows(cut, names)), COLUMNS, title)
    if len(cut) < len(rounds):
        left_out = counted(len(rounds) - len(cut), "more round")
        print(f"… {left_out}; see all with: {see_all('schedule', directory)}, one with: --round N")


def _about(rounds: list[dict[str, Any]], current: int) -> list[dict[str, Any]]:
    """As many rounds as fit on a screen: the one before the current one, and those after it."""
    most = max(2, ROWS_MAX // max([1, *(len(each["matches"]) for each in rounds)]))
    first = max(0, min(current - 2, len(rounds) - most))
    return rounds[first : first + most]


def _rows(rounds: list[dict[str, Any]], names: dict[str, str]) -> Iterator[dict[str, Any]]:
    for each in rounds:
        for match in each["matches"]:
            marks = [words for field, words in MARKS.items() if match.get(field)]
            yield {
                "round_id": each["round_id"],
                "match_id": match["match_id"],
                "player_a": _named(match["player_A_id"], names),
                "player_b": _named(match["player_B_id"], names),
                "ended": ", ".join(filter(None, [_ended(match), *marks])),
            }
        for player_id in each["byes"]:
            yield {
                "round_id": each["round_id"],
                "match_id": "bye",
                "player_a": _named(player_id, names),
            }


def _named(player_id: str, names: dict[str, str]) -> str:
    return f"{player_id} {names.get(player_id, '')}".rstrip()


def _ended(match: dict[str, Any]) -> str:
    if "status" not in match:
        return "playing" if "draw_commitment" in match else ""
    if match.get("no_contest"):
        return "no contest"
    winner = match.get("winner_player_id")
    if match["status"] == "DRAW":
        return "draw"
    won = f"{winner} won" if winner else "both lost"
    return f"{won} by technical loss" if match["status"] == "TECHNICAL_LOSS" and winner else won

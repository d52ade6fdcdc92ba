"""`league play`: matches between two agents, and how they went."""

import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from agentleague.cli import output
from agentleague.cli.local_players import IS_URL, local_players
from agentleague.cli.options import game_choice, read_game_options
from agentleague.dialects.table import in_words
from agentleague.league.league import League
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import play
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.processes import Home, run
from agentleague.runtime.state_files import new_league_id

EXAMPLES = """\b
Examples:
  league play ./mine.py random
  league play ./mine.py http://127.0.0.1:8101/mcp
  league play random fixed --game tic_tac_toe --matches 10
  league play ./mine.py pattern --matches 3 -v
"""
DESCRIPTION = """
Play a match between two agents on this machine, over real HTTP, and show how it went. Several
matches are shown as a table; with -v, each in full.

An agent is a file that ends with .py, with `player = Player(...)` or a function `choose(turn)` in
it; the URL of an agent that is running, which need not register; or the name of a strategy. A file
runs in a process of its own, and may be a program that ends with `player.run()`.

It exits with 0 when the matches were played, also when an agent failed and lost. It exits with 1 if
they could not be played.
"""
MATCHES = (
    output.Column("match_id", "Match", True),
    output.Column("first", "First", True),
    output.Column("winner", "Winner", True, True),
    output.Column("reason", "Why", True, True, True),
)
RETRIES = 1  # A third silence would show nothing new.
RETRY_SECONDS = 0.2
SILENCE = "timeout"  # in the cause of a loss that more time might have prevented
TRIAL_SECONDS = 5.0  # for a move of an agent that is tried once
OTHER_SECONDS = (1.0, 5.0)  # bounds of the time for anything but a move


@click.command(help=EXAMPLES + DESCRIPTION)
@click.argument("a")
@click.argument("b")
@game_choice
@click.option(
    "--matches",
    default=1,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="How many matches, from 1 to 1000, one after another; seats change each time.",
)
@click.option("--seed", help="Any text: the same seed gives the same draws and chances.")
@click.option(
    "--move-seconds",
    default=5,
    show_default=True,
    metavar="SECONDS",
    type=click.FloatRange(0.1, 3600.0),
    help="How long an agent may take for a move, from 0.1 to 3600; in a league it is 30.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show each of several matches in full.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    a: str,
    b: str,
    game: str,
    game_options: str | None,
    matches: int,
    seed: str | None,
    move_seconds: float,
    verbose: bool,
    as_json: bool,
) -> None:
    """Play, print, exit."""
    typed = as_typed(game)
    found = find_game(typed)
    options = read_game_options(found, game_options)
    settings = _settings(found.name, options, matches, move_seconds, seed)
    named = local_players((a, b), typed, seed, in_full=verbose or output.is_debugging())
    with tempfile.TemporaryDirectory(prefix="league-") as folder:
        with output.Progress() as progress:
            watch = progress if matches > 1 or sys.stderr.isatty() else _no_progress
            home = Home(Path(folder), seed)
            run(play(settings, home, watch, game=typed, local_players=named))
        played = _played(Path(folder))
    if as_json:
        output.print_json(played)
        return
    _print(played, in_full=verbose or matches == 1)
    for seat, text in zip("AB", (a, b), strict=True):
        if IS_URL.match(text):
            first = played["matches"][0]
            player_id, name = first[f"player_{seat}_id"], first[f"player_{seat}_name"]
            output.say(f"{name}: {understood(played, player_id)}")
    causes = [cause for facts in played["matches"] for _, cause in facts.get("forfeits", ())]
    if any(SILENCE in cause for cause in causes):
        output.say(_more_time(move_seconds))


def _settings(
    game: str, options: dict[str, Any], matches: int, move_seconds: float, seed: str | None
) -> ManagerSettings:
    least, most = OTHER_SECONDS
    other_seconds = max(least, min(move_seconds, most))
    return ManagerSettings(
        league_id=new_league_id(game, seed),
        game_options=options,
        players=2,
        cycles=matches,
        move_seconds=move_seconds,
        join_seconds=other_seconds,
        game_over_seconds=other_seconds,
        reply_seconds=other_seconds,
        retries=RETRIES,
        join_retries=RETRIES,
        retry_delay_seconds=RETRY_SECONDS,
        seeded=seed is not None,
    )


def try_once(url: str, game: str, options: dict[str, Any]) -> tuple[str, str]:
    """Let an agent play one match against random; what to say of it, and its dialect.

    Raises LeagueError if the match cannot be played here. The agent is not told that the league is
    over: some would end.
    """
    settings = _settings(game, options, 2, TRIAL_SECONDS, None)
    named = local_players((url, "random"), game, None)
    with tempfile.TemporaryDirectory(prefix="league-") as folder:
        home = Home(Path(folder))
        run(play(settings, home, _no_progress, game=game, local_players=named, is_trial=True))
        played = _played(Path(folder))
    return understood(played, "P01"), played["dialects"].get("P01", "")


def understood(played: dict[str, Any], player_id: str) -> str:
    """What an agent made of what it was sent, in words."""
    from agentleague.records.player_story import player_match

    game, matches = played["game_type"], played["matches"]
    failures = [each for facts in matches for each in player_match(facts, player_id).failures]
    has_lost = any(player_id in dict(facts.get("forfeits", ())) for facts in matches)
    if has_lost and failures:
        last = failures[-1]
        asked = f"when asked with {last.asked}, there came {last.came}"
        return f"It does not play {game} yet: {asked}. It should {last.change}."
    return f"It plays {game}, and understands: {in_words(played['dialects'].get(player_id, ''))}."


def _no_progress(league: League) -> None:
    """A single match needs no progress."""


def _played(directory: Path) -> dict[str, Any]:
    """The matches and the score, from the journal."""
    from agentleague.records.match_story import facts_of
    from agentleague.records.reading import event_of, open_league

    league, rows = open_league(directory)
    assignments = [event_of(row) for row in rows if row.kind == "match_assigned"]
    table = output.row_dicts(league.table.rows())
    ids = [f"R{number}M1" for number in range(1, league.rounds_ended + 1)]
    return {
        "game_type": league.rules.game_type,
        "winner": _winner(table),
        "players": table,
        "dialects": dict(league.roster.dialects),
        "matches": [facts_of(league, match_id, assignments) for match_id in ids],
    }


def _winner(table: list[dict[str, Any]]) -> str | None:
    """The id of the player that won more matches."""
    first, second = sorted(table, key=lambda row: int(row["wins"]), reverse=True)
    return str(first["player_id"]) if first["wins"] > second["wins"] else None


def _print(played: dict[str, Any], *, in_full: bool) -> None:
    from agentleague.records import match_story

    if in_full:
        for facts in played["matches"]:
            print("\n".join([*match_story.in_words(facts), ""]))
    else:
        rows = [_row(facts) for facts in played["matches"]]
        first, second = sorted(played["players"], key=lambda row: str(row["player_id"]))
        output.print_rows(
            rows, MATCHES, f"{played['game_type']}: {_named(first)} against {_named(second)}"
        )
        output.say("See each match in full with: -v")
    print(_score(played))


def _row(facts: dict[str, Any]) -> dict[str, Any]:
    """A match as a row."""
    result = facts["result"]
    names = {facts[f"player_{seat}_id"]: facts[f"player_{seat}_name"] for seat in "AB"}
    return {
        "match_id": facts["match_id"],
        "first": facts["player_A_id"],
        "winner": names.get(result.get("winner_player_id"), "nobody"),
        "reason": result.get("reason", ""),
    }


def _named(row: dict[str, Any]) -> str:
    return f"{row['display_name']} ({row['player_id']})"


def _more_time(move_seconds: float) -> str:
    """How much time a league gives, for a player that lost by silence."""
    usual: dict[str, Any] = {field.name: field.default for field in fields(ManagerSettings)}
    return (
        f"Here each call was made at most {RETRIES + 1} times, and a move had {move_seconds:g} s; "
        f"a league calls {usual['retries'] + 1} times, and a move has {usual['move_seconds']:g} s. "
        "Give more time with: --move-seconds"
    )


def _score(played: dict[str, Any]) -> str:
    """Who won, in one line."""
    first, second = sorted(played["players"], key=lambda row: int(row["wins"]), reverse=True)
    winner = f"{output.shown(first['display_name'])} wins" if played["winner"] else "Nobody wins"
    count = len(played["matches"])
    if count == 1:
        return f"{winner}."
    drawn = count - first["wins"] - second["wins"]
    rest = f", and {'one' if drawn == 1 else drawn} that nobody won" if drawn else ""
    return f"{winner}: {first['wins']} to {second['wins']} in {count} matches{rest}."

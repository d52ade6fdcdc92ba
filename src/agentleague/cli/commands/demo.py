"""`league demo`: a whole league on this machine."""

import shlex
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import click

from agentleague.cli import human as human_seat
from agentleague.cli import output
from agentleague.cli.commands.bracket import print_bracket
from agentleague.cli.directory import check_free, dir_option, place_option
from agentleague.cli.local_players import local_players
from agentleague.cli.options import Number, game_choice, read_game_options, referees_option
from agentleague.cli.progress import Progress
from agentleague.cli.settings_options import given_settings, settings_options
from agentleague.league.league import League
from agentleague.league.stage_views import shown_stage, stage_rows, stages, standing_rows
from agentleague.manager import notices
from agentleague.records.shared_files import keep_files
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import LocalPlayer, Played, play, raise_descriptor_limit
from agentleague.runtime.managers import Home
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.processes import run
from agentleague.runtime.settings import Given, check_table, describe
from agentleague.runtime.state_files import new_league_id
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import JournalPlace, has_journal

PLAYERS = 4  # by default
NOT_HERE = ("When it starts", "Who may take part", "The network")  # groups of settings
LADDER_ROUNDS = 10
DRAWN_MAX = 16  # players of a knockout whose bracket is drawn
LOSERS_MAX = 3  # for whom a command is printed that shows why they lost


@click.command()
@game_choice
@click.option(
    "--players",
    type=Number(int, 2, 500),
    envvar="LEAGUE_PLAYERS",
    help=f"How many players, from 2 to 500; by default those of --player, or {PLAYERS}.",
)
@click.option(
    "--player",
    "brought",
    multiple=True,
    metavar="FILE|URL|STRATEGY",
    help="A player of yours; give it once for each.",
)
@click.option(
    "--human",
    is_flag=False,
    flag_value=human_seat.NAME,
    metavar="[NAME]",
    help="Keep a seat for you: play in the browser, with 120 seconds for a move.",
)
@referees_option
@settings_options(
    ManagerSettings, "format", "format_options", "stages", "cycles", "move_seconds", "files"
)
@click.option("--seed", help="Any text: the same seed gives the same table.")
@place_option(
    "Where the journal goes; by default a temporary folder, which is removed.",
    is_new=True,
    is_demo=True,
)
@click.option("--keep", is_flag=True, help="Keep the journal, and say where it is.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    game: str,
    game_options: str | None,
    players: int | None,
    brought: tuple[str, ...],
    human: str | None,
    referees: int,
    seed: str | None,
    directory: JournalPlace | None,
    keep: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Play a whole league on this machine over real HTTP.

    Each --player is a file that ends with .py, the URL of an agent that is running, or the name of
    a strategy. --players fills up with built-in ones. With --keep or --dir the journal stays, so
    all commands that look at a league work on this one too. Settings also come from the environment
    (LEAGUE_MOVE_SECONDS=10).

    league demo
    league demo --players 12 --seed 7
    league demo --dir ./cup
    league demo --players 100 --json > table.json
    league demo --game tic_tac_toe
    league demo --game ./my_game.py
    league demo --players 8 --format knockout --format-options '{"best_of": 3}'
    league demo --game rock_paper_scissors --game-options '{"best_of": 5}'
    league demo --human Ann --game tic_tac_toe
    league demo --player ./mine.py --player http://127.0.0.1:8101/mcp --player random
    """
    if directory:
        check_free(directory)
    raise_descriptor_limit()
    how_many = _how_many(players, (*brought, *filter(None, [human])))
    typed = as_typed(game)
    found = find_game(typed)
    given = given_settings(ManagerSettings, None, options)
    named = local_players(brought, typed, seed, in_full=output.is_given(output.DEBUG))
    settings = _settings(
        given,
        human,
        league_id=getattr(directory, "league_id", "") or new_league_id(found.name, seed),
        game_options=read_game_options(found, game_options),
        players=how_many,
        referees=referees,
        seeded=seed is not None,
    )
    kept = _kept(directory, settings.league_id, keep=keep)
    with nullcontext() if kept else TemporaryDirectory(prefix="league-") as folder:
        home = Home(kept or Path(str(folder)), seed, files=_files(kept, settings))
        seats = human_seat.seats_for(human, home.at, typed)
        own: list[LocalPlayer] = [*named, *seats]

        async def league() -> None:
            try:
                with Progress() as progress:
                    played = await play(settings, home, progress, game=typed, local_players=own)
                _print(played, kept, game, as_json)
                for seat in seats:
                    await seat.stay()
            finally:
                for seat in seats:
                    await seat.close()

        try:
            run(league())
        except KeyboardInterrupt:
            raise _stopped(kept, human) from None


def _kept(directory: JournalPlace | None, league_id: str, *, keep: bool) -> JournalPlace | None:
    """Where the journal stays; None if it does not."""
    if isinstance(directory, DatabaseUrl):
        return directory.of(league_id)
    return directory or (Path(mkdtemp(prefix="league-")) if keep else None)


def _files(kept: JournalPlace | None, settings: ManagerSettings) -> Any:
    """What keeps the files for others, beside a journal in a directory that stays."""
    is_shared = isinstance(kept, Path) and settings.files
    return partial(keep_files, settings.shared_dir) if is_shared else None


def _settings(given: Given, human: str | None, **own: Any) -> ManagerSettings:
    rules = {row.name for row in describe(ManagerSettings) if row.heading not in NOT_HERE}
    values = {name: given.values[name] for name in rules & given.values.keys()}
    if values.get("format") == "ladder":  # Else it would need an option to end.
        values.setdefault("format_options", {"rounds": LADDER_ROUNDS})
    if human:
        values.setdefault("move_seconds", human_seat.MOVE_SECONDS)
    settings = replace(ManagerSettings(**values), **own)
    check_table(given, settings)
    return settings


def _stopped(kept: JournalPlace | None, human: str | None) -> KeyboardInterrupt:
    if kept and has_journal(kept):
        see = f"{_command()} status {dir_option(kept)}"
        return KeyboardInterrupt(f"What was played is kept; see it with: {see}")
    again = [f"Come back whenever you like: {_command()} demo --human"] if human else []
    return KeyboardInterrupt(*again)


def _how_many(players: int | None, brought: Sequence[str]) -> int:
    for number in filter(str.isdecimal, brought):
        raise click.UsageError(
            f"--player takes a file, a URL or a strategy. Did you mean --players {number}?"
        )
    if players is None:
        return len(brought) if len(brought) > 1 else PLAYERS
    if players < len(brought):
        raise click.UsageError(
            f"--player is given {len(brought)} times, --players says {players}; give --players "
            f"{len(brought)} or more, or leave it out"
        )
    return players


def _print(played: Played, kept: JournalPlace | None, game: str, as_json: bool) -> None:
    if as_json:
        output.print_json(_summary(played, kept))
        return
    league = played.league
    rows = standing_rows(league, league.table.rows())
    again = f"{_command()} standings {dir_option(kept)}" if kept else ""
    rest = f"{again} --all" if kept else "league demo --json, or --keep"
    output.print_table(rows, f"{league.rules.league_id}: final table", rest)
    if not kept:  # Else `league bracket` is named below.
        _print_last_bracket(league)
    rate = league.total_matches / played.seconds if played.seconds else 0.0
    output.say(
        f"{output.shown(notices.champion(league))} "
        f"{output.counted(league.total_rounds, 'round')}, "
        f"{output.counted(league.total_matches, 'match', 'matches')} and "
        f"{output.counted(played.messages, 'message')} in {played.seconds:.2f} s "
        f"({rate:,.{int(rate < 10)}f} matches/s)."
    )
    if kept:
        file = f" --game {shlex.quote(game)}" if game.endswith(".py") else ""
        where = f"{shlex.quote(str(kept))}{file}"
        see = f"See who met whom:\n  {_command()} bracket {dir_option(kept)}\n"
        bracket = "" if league.is_fixed else see
        output.say(
            f"The journal is in {kept}; print the table again with:\n  {again}\n{bracket}"
            f"See it in a browser:\n  {_command()} dashboard {where}\n"
            f"Write all of it, with plots and every match, in one file:\n"
            f"  {_command()} report {where}"
        )
    elif len(league.stages) > 1:
        output.say(f"To see the {stages(league)[0]['title'].lower()}, too, play it with --keep.")
    for row in [row for row in rows if row["technical_losses"]][:LOSERS_MAX]:
        where = dir_option(kept) if kept else "--dir DIR, if you play with --dir DIR"
        output.say(
            f"{output.shown(row['display_name'])} lost "
            f"{row['technical_losses']} of its matches without a game; see why with:\n"
            f"  {_command()} agent {row['player_id']} {where}"
        )


def _print_last_bracket(league: League) -> None:
    number = shown_stage(league, None)
    about, rows = stages(league)[number - 1], stage_rows(league, number)
    entered = {player for row in rows for player in row.get("players", ()) if player}
    if about["format"] == "knockout" and len(entered) <= DRAWN_MAX:
        print_bracket({}, rows, f"{league.rules.league_id}: {about['title'].lower()}", "")
        print()


def _command() -> str:
    return "league" if which("league") else sys.argv[0]


def _summary(played: Played, kept: JournalPlace | None) -> dict[str, object]:
    league = played.league
    rows = standing_rows(league, league.table.rows())
    names = ("player_id", "display_name", "points")
    champions = [{name: getattr(row, name) for name in names} for row in league.champions()]
    return {
        "league_id": league.rules.league_id,
        "game_type": league.rules.game_type,
        "players": len(league.roster.players),
        "referees": len(league.roster.referees),
        "total_rounds": league.total_rounds,
        "total_matches": league.total_matches,
        "champion": next(each for each in champions if each["player_id"] == league.champion),
        "champions": champions,
        "final_standings": rows,
        "seconds": round(played.seconds, 4),
        "matches_per_second": round(league.total_matches / played.seconds, 1),
        "messages": played.messages,
        "dir": str(kept) if kept else None,
    }

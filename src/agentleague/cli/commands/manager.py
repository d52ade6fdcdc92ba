"""`league manager`: runs one league, and keeps its journal in a directory."""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from errno import EACCES, EADDRINUSE
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from agentleague.cli import output
from agentleague.cli.directory import (
    check_free,
    dir_option,
    manager_address,
    place_option,
    season_command,
    stem,
    with_directory,
)
from agentleague.cli.output import say
from agentleague.cli.progress import Progress
from agentleague.cli.reading import see_all, with_manager
from agentleague.cli.serving import until_stopped
from agentleague.cli.settings_options import SettingsCommand, given_settings, settings_options
from agentleague.cli.standby import LOOK_SECONDS, stand_by
from agentleague.dashboard.process import DashboardProcess
from agentleague.errors import Claimed, Damaged, LeagueError, Lost, StorageAway, StorageError
from agentleague.games.game import Game
from agentleague.league.league import League, Phase
from agentleague.league.season import Season
from agentleague.league.stage_views import standing_rows
from agentleague.manager.role import Manager
from agentleague.protocol.join_codes import is_guessable, is_published
from agentleague.records.reading import open_league
from agentleague.records.shared_files import keep_files
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.managers import Home, check_resumable, kept_rules, open_manager
from agentleague.runtime.network import check_wish, place_of_manager
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.processes import CannotListen, Place, run
from agentleague.runtime.settings import Given, as_toml, check_table, describe
from agentleague.runtime.state_files import kept_settings, new_join_code, new_league_id
from agentleague.runtime.stopping import stop_signal
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import (
    SETTINGS_NAME,
    JournalPlace,
    another,
    has_journal_file,
    is_served,
    lease_of,
    remedy,
    with_league,
)

LINES_ABOVE = 6  # the last of what was said, above the live table
ASK_SECONDS = 0.5  # who listens at a port that is busy
LAST_SECONDS = 0.5  # Players ask whether the league is really over.
HERE = "\nIts table can still be read. Stop with Ctrl-C."
CODES = ("--join-code", "--referee-code")
OF_ONE_LEAGUE = {"--dir", "--journal", "--start-at"}
OPENING = (
    "bind",
    "dashboard_bind",
    "network",
    "lan",
    "trusted_proxies",
    "referee_access",
    "shared_dir",
)


@click.command(cls=SettingsCommand)
@click.argument("config", required=False, metavar="[CONFIG.toml]", type=click.Path(path_type=Path))
@click.option("--config", "config_too", hidden=True, type=click.Path(path_type=Path))
@place_option("Where the journal goes.  [league, or the name of the file of settings]", is_new=True)
@click.option("--seed", metavar="TEXT", help="Makes draws repeatable, and predictable: for tests.")
@click.option(
    "--accept-loss",
    "accepts_loss",
    is_flag=True,
    help="Go on although rows of the journal are lost: what is undecided is drawn anew.",
)
@click.option(
    "--standby",
    is_flag=True,
    help="Wait while another manager runs the league, and take over. For PostgreSQL alone.",
)
@click.option("--exit", "exits", is_flag=True, help="Exit when the league is over.")
@output.verbose_option
@settings_options(ManagerSettings)
def command(
    config: Path | None,
    config_too: Path | None,  # as for a referee or a player
    directory: JournalPlace | None,
    standby: bool,
    seed: str | None,
    accepts_loss: bool,
    exits: bool,
    verbose: int,
    **options: Any,
) -> None:
    """Run a league manager: it registers agents and keeps the table.

    CONFIG.toml holds settings; `league init` writes one with all of them. The environment
    (LEAGUE_MOVE_SECONDS=10) overrides it, and the options below override both.

    league manager --players 4
    league init cup.toml; league manager cup.toml
    league manager --players 30 --port 9000 --dir ./cup --exit
    league manager --journal postgresql://ann@db.example.org/leagues#cup
    """
    config = config or config_too
    if isinstance(directory, DatabaseUrl):
        _name_league(directory, options)
    given = given_settings(ManagerSettings, config, options)
    directory = directory or Path(config.stem if config else "league")
    if isinstance(directory, DatabaseUrl):
        directory = with_league(directory.of(given.values.get("league_id", "")))
    elif standby:
        raise click.UsageError(f"--standby is for a league on PostgreSQL, not in {directory}")
    if again := season_command(directory):
        why = "is a league of a season, which knows the players of those before"
        raise click.UsageError(f"{directory} {why}; go on with: {again}")
    check_free(directory)
    prepare = partial(set_up, given, directory, seed)
    run_it = partial(manage, accepts_loss=accepts_loss, exits=exits, verbose=verbose)
    if standby:
        _stand_by(prepare, run_it)
    else:
        check_idle(directory)
        run_it(prepare())


class SetUp(NamedTuple):
    """What a manager is started with."""

    at: JournalPlace
    settings: ManagerSettings
    kept: dict[str, Any]  # of the settings, for its next start
    played: Game
    where: Place
    seed: str | None


def set_up(given: Given, directory: JournalPlace, seed: str | None) -> SetUp:
    """Read and check all settings. Raises Misused or StorageError."""
    kept, asked = _with_kept(given, directory)
    is_new, is_of_season = not has_journal_file(directory), bool(season_command(directory))
    check(given, asked, is_new=is_new, is_of_season=is_of_season)
    played = _game(given, asked)
    settings = replace(
        asked,
        league_id=asked.league_id or new_league_id(played.name, seed),
        game_type=played.name,
        seeded=asked.seeded or seed is not None,
    )
    _check_codes(given, asked, directory)
    if isinstance(directory, DatabaseUrl):
        directory = directory.of(settings.league_id)
    return SetUp(directory, settings, kept, played, place_of_manager(settings, say), seed)


def _stand_by(prepare: Callable[[], SetUp], run_it: Callable[[SetUp], None]) -> None:
    """Manage the league as soon as nobody else does. Raises what no waiting mends."""
    (url, settings, _, _, where, seed), said = prepare(), ""
    assert isinstance(url, DatabaseUrl)
    if has_journal_file(url):  # What it could not go on with is said now, not when it has to.
        check_resumable(settings, url, seed)
    while True:
        try:
            run(stand_by(url, where))
            return run_it(prepare())  # The other manager may have kept other settings since.
        except (Claimed, StorageAway) as error:
            if str(error) != said:
                said = str(error)
                say(f"It does not go on: {said}.")
            time.sleep(LOOK_SECONDS)


def manage(
    setup: SetUp,
    *,
    accepts_loss: bool = False,
    exits: bool = True,
    verbose: int = 0,
    season: Season | None = None,
) -> None:
    """Run the league until it is over or stopped; one of a season says no more. Raises Claimed."""
    directory, settings, kept, played, where, seed = setup
    game = kept.get("game_type", settings.game_type)

    async def serve() -> bool:
        stopped = stop_signal()
        is_shared = settings.files and (settings.shared_dir or isinstance(directory, Path))
        files = partial(keep_files, settings.shared_dir) if is_shared else None
        home = Home(
            directory,
            seed,
            logs=True,
            given=kept,
            accepts_loss=accepts_loss,
            season=season,
            files=files,
        )
        running = await open_manager(settings, home, where, lambda name: played)
        role = running.host.role
        assert isinstance(role, Manager)
        say(f"{settings.league_id}: the manager is at {running.url}, its journal in {directory}.")
        for remark in _remarks(home, role, settings):
            say(remark)
        say(_state(role.league, settings, directory))
        running.tell(lambda sentence: say(with_directory(sentence, directory)))
        output.log_to_stderr(running, verbose)
        file = game if _file(game) else ""
        DashboardProcess(settings, directory, say, file, kept).attach(running)
        with Progress(LINES_ABOVE) as progress:
            wanted = {"players_wanted": settings.players, "referees_wanted": settings.referees}
            progress.follow(running.host, verbose, **wanted)

            def at_end(_: object) -> None:
                progress.stop()
                if not exits:
                    _print_end(role.league, directory, game, HERE)

            running.ended.add_done_callback(at_end)
            await until_stopped(running, stopped, ends=exits, last_seconds=LAST_SECONDS)
        return running.ended.done() and not exits  # Then its end is printed.

    try:
        is_printed = run(serve())
    except CannotListen as error:
        kind = Claimed if error.errno == EADDRINUSE else LeagueError
        raise kind(_in_words(error, setup)) from None
    except Damaged as error:  # That rows are lost says what to do itself.
        more = "" if isinstance(error, Lost) else f"; {remedy(directory)}"
        raise click.ClickException(f"{error}{more}") from None
    if not is_printed and season is None:
        _print_stop(directory, game, exits)


def _name_league(url: DatabaseUrl, options: dict[str, Any]) -> None:
    if url.league_id and options.get("league_id") not in (None, url.league_id):
        raise click.UsageError(
            f"--league-id {options['league_id']} and #{url.league_id} of the URL name two leagues; "
            "leave one of them out"
        )
    if url.league_id:
        options["league_id"] = url.league_id


def _print_stop(directory: JournalPlace, game: str, exits: bool) -> None:
    again = f"{_resume(directory, game)}{' --exit' * exits}"
    try:  # What is on disk: with a full disk the manager is ahead.
        league, _ = open_league(directory)
    except StorageError as error:
        if isinstance(error, Damaged) or isinstance(directory, Path):
            raise
        say(f"Stopped while {error}.\nWhat was told to anybody is kept. Continue with: {again}")
        return
    if league.phase is Phase.COMPLETED:
        _print_end(league, directory, game)
        return
    ended = league.rounds_ended
    state = f"after round {ended}" if ended else "before the first round ended"
    _print_table(league, state, directory)
    say(f"Stopped; nothing is lost. Continue with: {again}")


def check_idle(directory: JournalPlace) -> None:
    """Raises Claimed if a manager runs there: that its port is busy would say less.

    One that was killed is outwaited: in a database its lease lasts some seconds more.
    """
    address = manager_address(directory)
    if isinstance(directory, DatabaseUrl):
        first = lease = lease_of(directory)
        while first and lease == first:
            time.sleep(LOOK_SECONDS)
            lease = lease_of(directory)
        address = lease and lease.address
    if address:
        if isinstance(directory, DatabaseUrl) and is_served(directory):
            raise Claimed(
                f"a service runs the league in {directory}; to run it yourself, end it there "
                f"first: league leagues archive {directory.league_id}"
            )
        waits = ", stand by for it with: --standby" * isinstance(directory, DatabaseUrl)
        look = f"look at it with: league watch {dir_option(directory)}"
        choices = f", {look}, or play another with: {another(directory)}"
        if season_command(directory):  # A season plays one after the other.
            choices = f", or {look}"
        raise Claimed(
            f"a manager runs the league in {directory} already, at {address}; stop it first{waits}"
            f"{choices}"
        )


def _with_kept(given: Given, directory: JournalPlace) -> tuple[dict[str, Any], ManagerSettings]:
    """What to keep for the next start, and the settings, as a league that is there had them."""
    if not has_journal_file(directory):
        return dict(given.values), given.make(ManagerSettings)
    kept = {**kept_settings(directory), **given.values}
    asked = ManagerSettings(**{**kept, **kept_rules(directory, kept), **given.values})
    game = str(kept.get("game_type"))
    if _file(game) and "game_type" not in given.values:
        again = _resume(directory, output.shown(game))
        problem = (
            f"{output.shown(asked.game_type)} came from a file; name that again, with: {again}"
        )
        raise given.wrong("game_type", problem)
    # The directory may be anybody's.
    opened = [name for name in OPENING if kept.get(name) and name not in given.values]
    if opened:
        values = ", ".join(f"{name} = {output.shown(as_toml(kept[name]))}" for name in opened)
        where = directory / SETTINGS_NAME if isinstance(directory, Path) else directory
        say(f"As {where} has it: {values}")
    return kept, asked


def _resume(directory: JournalPlace, game: str) -> str:
    return f"league manager {dir_option(directory)}{_file(game)}"


def _in_words(error: CannotListen, setup: SetUp) -> str:
    settings, is_busy = setup.settings, error.errno == EADDRINUSE
    address = f"{settings.bind or '127.0.0.1'} port {settings.port}"
    if is_busy and _plays_at(setup.where.here(settings.port)) == settings.league_id:
        return (
            f"at {address} a manager runs {settings.league_id} already, so {setup.at} is a copy of "
            "it: a league must not run at two places. Go on there, or first end that one for good"
        )
    option = "--port" if error.errno in (EADDRINUSE, EACCES) else "--bind or --port"
    reason = error.strerror or error
    return f"{address} cannot be opened ({reason}); choose another with {option}"


def _plays_at(url: str) -> object:
    """Which league the manager has that listens there, if it is one."""
    asked = with_manager(url, lambda manager: manager.ask("GET_STATUS"))
    try:
        return run(asyncio.wait_for(asked, ASK_SECONDS))["league_id"]
    except (LeagueError, KeyError, TimeoutError):
        return None


def _remarks(home: Home, role: Manager, settings: ManagerSettings) -> Iterator[str]:
    if home.seed is not None:
        yield "A seed was given: anybody who knows it can predict the draws."
    if home.accepts_loss and role.lost_until is None:
        yield "No rows are lost: --accept-loss has no effect."
    for name, code in (("join", settings.join_code), ("referee", settings.referee_code)):
        if is_published(code):
            yield (
                f"The {name} code is the one of the documentation, which everybody may read; take "
                f"another, such as {new_join_code()}"
            )
    if settings.is_apart and not settings.join_code:
        yield "There is no join code: anybody who reaches it may register."


def check(given: Given, asked: ManagerSettings, *, is_new: bool, is_of_season: bool) -> None:
    """Raises Misused if two settings contradict each other; a league that is there goes on."""
    check_table(given, asked, is_new=is_new, is_of_season=is_of_season)
    is_code = asked.who_may_referee == "code"
    if asked.referee_access == "local" and is_code and not asked.referee_code:
        problem = 'is "local", which holds on one machine only: write "code", and a referee_code'
        raise given.wrong("referee_access", problem)
    for name in ("lan", "trusted_proxies", "endpoint", "bind", "dashboard_bind"):
        try:
            check_wish(name, getattr(asked, name))
        except LeagueError as error:
            raise given.wrong(name, f"cannot be: {error}") from None


def _check_codes(given: Given, asked: ManagerSettings, directory: JournalPlace) -> None:
    """A new league does not begin with a code that can be guessed; one that is there goes on."""
    for name in ("join_code", "referee_code"):
        code = getattr(asked, name)
        if not code or not is_guessable(code):
            continue
        instead = f"take three words that chance put together, or this one: {new_join_code()}"
        if not has_journal_file(directory):
            raise given.wrong(name, f"can be guessed; {instead}")
        say(
            f"The {name.replace('_', ' ')} can be guessed; {instead}\n"
            "A league may change its code when its manager starts: whoever is registered stays."
        )


def _game(given: Given, asked: ManagerSettings) -> Game:
    name, typed = "game_type", asked.game_type
    try:  # What a journal names is never a file.
        game = find_game(as_typed(typed) if name in given.values else typed)
        name = "game_options"
        game.start(asked.game_options)
    except (LeagueError, ValueError) as error:
        wrong = [row.name for row in describe(ManagerSettings) if row.name in asked.game_options]
        if name == "game_options" and wrong:
            problem = f"holds {wrong[0]!r}, a setting of the league; move it above [game_options]"
            raise given.wrong(name, problem) from None
        raise given.wrong(name, f"cannot be: {error}") from None
    return game


def _this_command() -> str:
    """The command as it was typed, with CODE for a code, and without what is of this league."""
    words = [word for word in sys.argv[1:] if word != "--accept-loss"]
    shown = []
    for before, word in zip(["", *words], words, strict=False):
        option, equals, _ = word.partition("=")
        if before in CODES:
            shown.append("CODE")
        elif not OF_ONE_LEAGUE & {before, option}:
            shown.append(f"{option}=CODE" if equals and option in CODES else word)
    return shlex.join(["league", *shown])


def _print_end(league: League, directory: JournalPlace, game: str, more: str = "") -> None:
    _print_table(league, "final table", directory)
    shown = shlex.quote(str(directory))
    say(
        f"Check it with: league verify {shown}{_file(game)}\n"
        f"Hand it in as one file: league report {shown}{_file(game)}\n"
        f"Publish pages of it: league report {shown}{_file(game)} --site "
        f"{shlex.quote(f'{stem(directory)}-pages')}\n"
        f"JSON and CSV for programs: league export {shown} --out "
        f"{shlex.quote(f'{stem(directory)}-files')}\n"
        f"Begin another with: {_this_command()} {another(directory)}{more}"
    )


def _file(game: str) -> str:
    return f" --game {shlex.quote(game)}" if game.endswith(".py") else ""


def _print_table(league: League, state: str, directory: JournalPlace) -> None:
    if league.has_started:
        title, rows = f"{league.rules.league_id}: {state}", league.table.rows()
        output.print_table(standing_rows(league, rows), title, see_all("standings", directory))
        sys.stdout.flush()


def _state(league: League, settings: ManagerSettings, directory: JournalPlace) -> str:
    if league.phase is Phase.COMPLETED:
        return f"This league is over.{HERE}"
    waiting = _waiting_for(league, settings, directory)
    if settings.who_may_referee != "code":
        return waiting
    how = "There is no referee code, so each referee waits until you let it in, with:"
    if settings.referee_code:
        how = "Referees show the referee code; let in others, one by one, with:"
    return f"{waiting}\n{how} league approve REF01 {dir_option(directory)}"


def _waiting_for(league: League, settings: ManagerSettings, directory: JournalPlace) -> str:
    start = f"league start {dir_option(directory)}"
    if league.phase is not Phase.REGISTERING:
        paused = f"\nIt is paused; continue with: {start}" if league.paused else ""
        decided = output.counted(league.decided_total, "match", "matches")
        return f"Resumed in round {league.round_id}: {decided} decided. Stop with Ctrl-C.{paused}"
    roster = league.roster
    referees = f"{settings.referees} referees" if settings.referees > 1 else "a referee"
    if settings.players:
        there = {"player": league.players_total, "referee": roster.referees_total}
        told = [output.counted(number, kind) for kind, number in there.items() if number]
        known = f"; known from before: {' and '.join(told)}" if told else ""
        at = settings.start_at and output.starting(settings.start_at, league.players_total)
        latest = f"\nThe league starts {at}, at the latest." if at else ""
        waits = f"Waiting for {settings.players} players and {referees}{known}."
        return f"{waits} Stop with Ctrl-C.{latest}"
    after = settings.start_after_seconds
    when = "" if after is None else f" after {after:g} seconds, or"
    if settings.start_at:
        when = f" {output.starting(settings.start_at, league.players_total)}, or"
    return (
        f"Waiting for players and {referees}. Stop with Ctrl-C.\n"
        f"The league starts{when} with: {start}"
    )

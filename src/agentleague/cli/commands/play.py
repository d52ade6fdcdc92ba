"""`league play`: matches between two agents, and how they went."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import log10, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from agentleague.cli import output
from agentleague.cli.directory import check_free, dir_option
from agentleague.cli.local_players import IS_URL, local_players
from agentleague.cli.options import Number, directory_option, game_choice, read_game_options
from agentleague.cli.progress import Progress
from agentleague.cli.until import MARGIN, MARGIN_MAX, MARGIN_MIN, Clarity, Percent, sentences
from agentleague.cli.until import MATCHES as UNTIL_MATCHES
from agentleague.dialects.table import in_words
from agentleague.errors import LeagueError
from agentleague.games.game import Game, is_luck
from agentleague.league.events import MatchDecided
from agentleague.league.league import League
from agentleague.league.standings import Standing
from agentleague.protocol.messages import Rules
from agentleague.records import match_story, replay
from agentleague.records.match_story import facts_of
from agentleague.records.player_story import player_match
from agentleague.records.reading import event_of
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import play
from agentleague.runtime.managers import Home
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.processes import run
from agentleague.runtime.state_files import new_league_id
from agentleague.storage.directory import open_reader

MATCHES = (
    output.Column("match_id", "Match", True),
    output.Column("first", "First", True),
    output.Column("winner", "Winner", True, True),
    output.Column("reason", "Why", True, True, True),
)
MATCHES_MAX = 100_000
RETRIES = 1  # A third silence would show nothing new.
RETRY_SECONDS = 0.2
SILENCE = "timeout"  # in the cause of a loss that more time might have prevented
TRIAL_SECONDS = 5.0  # for a move of an agent that is tried once
CONFIDENCE = 0.95  # of the interval of a score
DEVIATIONS = 1.959964  # of a normal distribution, within which that part of it lies
OTHER_MIN, OTHER_MAX = 1.0, 5.0  # bounds of the time for anything but a move


@click.command()
@click.argument("a")
@click.argument("b")
@game_choice
@click.option(
    "--matches",
    type=Number(int, 1, MATCHES_MAX),
    help=f"How many matches, from 1 to {MATCHES_MAX:,}, one after another; seats change each time. "
    f"With --until at most so many, else {UNTIL_MATCHES:,}.  [default: 1]",
)
@click.option(
    "--until",
    metavar="PERCENT",
    type=Percent(),
    help="Play until it is clear with this confidence, such as 95%, who is better.",
)
@click.option(
    "--margin",
    metavar="ELO",
    type=Number(float, MARGIN_MIN, MARGIN_MAX),
    help="With --until: the smallest difference that matters, "
    f"from {MARGIN_MIN:g} to {MARGIN_MAX:g} Elo.  [default: {MARGIN:g}]",
)
@click.option("--seed", help="Any text: the same seed gives the same draws and chances.")
@click.option(
    "--move-seconds",
    default=5,
    show_default=True,
    metavar="SECONDS",
    type=Number(float, 0.1, 3600),
    help="How long an agent may take for a move, from 0.1 to 3600; in a league it is 30.",
)
@click.option("--all", "all_matches", is_flag=True, help="Show a line for each match.")
@click.option("-v", "--verbose", is_flag=True, help="Show each match in full, with the rules.")
@click.option("--show", is_flag=True, help="Show each match turn by turn, with the board.")
@directory_option("A new directory for the journal, to be kept; by default it is not.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON; matches with --all or -v.")
def command(
    a: str,
    b: str,
    game: str,
    game_options: str | None,
    matches: int | None,
    until: float | None,
    margin: float | None,
    seed: str | None,
    move_seconds: float,
    all_matches: bool,
    verbose: bool,
    show: bool,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Play a match between two agents on this machine, over real HTTP, and show how it went. Of
    several matches the score is shown: with its 95 % interval, by Wilson, and as an Elo difference;
    a drawn match counts half. With --all a line for each match is shown too, with -v each in full.

    With --until they play pairs of matches, seats swapped, until it is clear who is better, or that
    neither is better by the margin. The answer is wrong with a chance of about what --until leaves,
    or less: with 95% in one of 20 contests.

    An agent is a file that ends with .py, with `player = Player(...)` or a function `choose(turn)`
    in it; the URL of an agent that is running, which need not register; or the name of a strategy.
    A file runs in a process of its own, and may be a program that ends with `player.run()`.

    It exits with 0 when the matches were played, also when an agent failed and lost. It exits with
    1 if they could not be played, as when nobody listens at a URL.

    league play ./mine.py random
    league play ./mine.py http://127.0.0.1:8101/mcp
    league play random fixed --game tic_tac_toe --matches 10
    league play ./mine.py pattern --matches 1000
    league play ./mine.py pattern --until 95%
    league play ./mine.py pattern --matches 3 -v
    """
    matches, clarity = _how_long(matches, until, margin)
    if directory:
        check_free(directory)
    typed = as_typed(game)
    found = find_game(typed)
    options = read_game_options(found, game_options)
    settings = _settings(found.name, options, matches, move_seconds, seed)
    if clarity and is_luck(found, options):
        output.say(_LUCK.format(found.name))
    named = local_players((a, b), typed, seed, in_full=verbose or output.is_given(output.DEBUG))
    temporary = nullcontext(str(directory)) if directory else TemporaryDirectory(prefix="league-")
    with temporary as folder:
        home = Home(Path(folder), seed, survives=directory is not None)
        with Progress() as progress:
            watch = progress if matches > 1 or sys.stderr.isatty() else _no_progress
            watch = partial(clarity.watch, progress) if clarity else watch
            is_enough = clarity.after_round if clarity else None
            work = play(settings, home, watch, game=typed, local_players=named, is_enough=is_enough)
            league = run(work).league
        lost, failed = _without_game(league, folder)
        summary = _summary(league, lost, clarity)
        if as_json:
            shown = all_matches or verbose or matches == 1
            output.print_json(summary | ({"matches": list(_matches(league))} if shown else {}))
            return
        tell = partial(_told, found, in_full=verbose, show=show)
        is_told = verbose or show or matches == 1
        _print(league, summary, failed, all_matches=all_matches, tell=tell if is_told else None)
    _say_what_failed(league, failed, (a, b), move_seconds)
    if directory:
        output.say(f"Check what was kept with: league verify {dir_option(directory)}")


_LUCK = (
    "{} is a game of luck: no choice wins more often than it loses, so neither can be better, "
    "whoever seems to be."
)


def _say_what_failed(
    league: League, failed: dict[str, Any] | None, typed: tuple[str, str], move_seconds: float
) -> None:
    for player_id, text in zip(("P01", "P02"), typed, strict=True):
        if IS_URL.match(text):
            _say_of(league, failed, player_id, text)
    if failed and any(SILENCE in cause for _, cause in failed["forfeits"]):
        output.say(_more_time(move_seconds))


def _say_of(league: League, failed: dict[str, Any] | None, player_id: str, url: str) -> None:
    """What an agent that nobody here started made of its matches."""
    if league.total_matches > 1 or not failed:  # Else the match has said it.
        name = league.roster.member(player_id).display_name
        output.say(f"{name}: {understood(league, failed, player_id)}")
    if has_failed(failed, player_id):
        output.say(check_it(url))


def _how_long(
    matches: int | None, until: float | None, margin: float | None
) -> tuple[int, Clarity | None]:
    """How many matches, at most if there is somebody who says when it is clear."""
    if until is None:
        if margin is not None:
            raise click.UsageError("--margin is for --until; add --until 95%, or leave it out")
        return matches or 1, None
    if matches == 1:
        raise click.UsageError("--until needs a pair of matches; give --matches 2 or more")
    return (matches or UNTIL_MATCHES) // 2 * 2, Clarity(until, margin or MARGIN)


def _settings(
    game: str, options: dict[str, Any], matches: int, move_seconds: float, seed: str | None
) -> ManagerSettings:
    other_seconds = max(OTHER_MIN, min(move_seconds, OTHER_MAX))
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


def try_once(url: str, game: str, rules: Rules) -> tuple[str, str, str]:
    """Let an agent play a match against random by a league's rules.

    What to say of that, what to type if it failed, and its dialect.
    """
    settings = replace(
        _settings(game, rules.game_options, 2, min(TRIAL_SECONDS, rules.move_seconds), None),
        join_seconds=min(TRIAL_SECONDS, rules.join_seconds),
        missing_fields="refuse" if rules.missing_fields == "refuse" else "warn",
        unsigned_pushes=rules.unsigned_pushes,
    )
    named = local_players((url, "random"), game, None)
    with TemporaryDirectory(prefix="league-") as folder:
        home = Home(Path(folder), survives=False)
        trial = play(settings, home, _no_progress, game=game, local_players=named, is_trial=True)
        league = run(trial).league
        failed = _without_game(league, folder)[1]
        words = understood(league, failed, "P01")
    hint = check_it(url) if has_failed(failed, "P01") else ""
    return words, hint, league.roster.dialects.get("P01", "")


def has_failed(failed: dict[str, Any] | None, player_id: str) -> bool:
    """Whether this player lost a match without a game by its own fault."""
    return failed is not None and player_id in dict(failed["forfeits"])


def check_it(url: str) -> str:
    """What to type about an agent that failed."""
    return f"All that is wrong with it, rule by rule: league check player {shlex.quote(url)}"


def understood(league: League, failed: dict[str, Any] | None, player_id: str) -> str:
    """What an agent made of what it was sent, in words; `failed` is a match without a game."""
    game = league.rules.game_type
    failures = player_match(failed, player_id).failures if failed else []
    if failures and has_failed(failed, player_id):
        last = failures[-1]
        asked = f"when asked with {last.asked}, there came {last.came}"
        return f"It does not play {game} yet: {asked}. It should {last.change}."
    dialect = in_words(league.roster.dialects.get(player_id, ""))
    return f"It plays {game}, and understands: {dialect}."


def _no_progress(league: League, awaited: Sequence[str]) -> None:
    """A single match needs no progress."""


def _matches(league: League) -> Iterator[dict[str, Any]]:
    """The facts of each match, one after another: they are not all held."""
    for number in range(1, league.rounds_ended + 1):
        yield facts_of(league, f"R{number}M1")


def _without_game(league: League, directory: str) -> tuple[int, dict[str, Any] | None]:
    """How many matches were lost without a game, and the facts of the first of them."""
    if not any(row.technical_losses for row in league.table.rows()):
        return 0, None
    rows = open_reader(Path(directory)).read(league.rules.league_id)
    decided = (event_of(row) for row in rows if row.kind == "match_decided")
    lost = (each for each in decided if isinstance(each, MatchDecided) and each.forfeits)
    first = next(lost, None)
    return (1 + sum(1 for _ in lost), facts_of(league, first.match_id)) if first else (0, None)


def _summary(league: League, lost: int, clarity: Clarity | None) -> dict[str, Any]:
    """What came of the matches, from the side of the first player; some `lost` without a game."""
    rows = sorted(league.table.rows(), key=lambda row: row.player_id)
    ahead, score = rows[0].wins - rows[1].wins, score_of(rows)
    score |= clarity.interval() if clarity else {}
    if lost == score["matches"]:  # They do not say how well anybody plays.
        score |= {"elo": None, "elo_interval": [None, None]}
    return {
        "game_type": league.rules.game_type,
        "winner": rows[ahead < 0].player_id if ahead else None,
        "players": output.row_dicts(rows),
        "dialects": dict(league.roster.dialects),
        "score": score | {"without_game": lost},
        **({"until": clarity.facts(league)} if clarity else {}),
    }


# Both treat a drawn match as half a won one. The interval of Wilson is for matches that are won or
# lost; draws vary less, so with them it is a little too wide, never too narrow.
def wilson(share: float, matches: int) -> tuple[float, float]:
    """Between which shares the true one lies, if this one was seen in so many matches."""
    spread = DEVIATIONS**2 / matches
    middle = (share + spread / 2) / (1 + spread)
    half = sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def elo(share: float) -> float | None:
    """The Elo difference at which this share of the points is expected; None at 0 and 1."""
    return 400 * log10(share / (1 - share)) if 0 < share < 1 else None


def score_of(rows: Sequence[Standing]) -> dict[str, Any]:
    """The score of the first of two players, a draw as half. Raises LeagueError if none counts."""
    first, second = sorted(rows, key=lambda row: row.player_id)
    matches = first.played
    if not matches:
        raise LeagueError("no match counts: its referee could reach neither player")
    points = (matches + first.wins - second.wins) / 2
    low, high = wilson(points / matches, matches)
    own, *interval = map(elo, (points / matches, low, high))
    return {
        "player_id": first.player_id,
        "matches": matches,
        "points": points,
        "share": points / matches,
        "interval": [low, high],
        "confidence": CONFIDENCE,
        "method": "wilson",
        "elo": own,
        "elo_interval": interval,
    }


def _print(
    league: League,
    summary: dict[str, Any],
    failed: dict[str, Any] | None,
    *,
    all_matches: bool,
    tell: Callable[[dict[str, Any]], list[str]] | None,
) -> None:
    first, second = summary["players"]
    if tell:
        for facts in _matches(league):
            print("\n".join([*tell(facts), ""]))
    elif all_matches:
        rows = [_row(facts) for facts in _matches(league)]
        title = f"{summary['game_type']}: {_named(first)} against {_named(second)}"
        output.print_rows(rows, MATCHES, title)
    winner = next((row for row in (first, second) if row["player_id"] == summary["winner"]), None)
    wins = f"{output.shown(winner['display_name'])} wins" if winner else "Nobody wins"
    if summary["score"]["matches"] == 1:
        print(f"{wins}.")
        return
    print("\n".join(_result(summary, failed, wins)))
    if not all_matches and not tell:
        output.say("See a line for each match with: --all")


def _result(summary: dict[str, Any], failed: dict[str, Any] | None, wins: str) -> list[str]:
    """The score, and what it says; with --until that is first: who won more need not be better."""
    first, second = summary["players"]
    names = {row["player_id"]: output.shown(row["display_name"]) for row in (first, second)}
    count, lost = summary["score"]["matches"], summary["score"]["without_game"]
    judged = _judged(summary) if lost < count else []
    most, least = sorted((first["wins"], second["wins"]), reverse=True)
    drawn = count - most - least
    rest = f", and {'one' if drawn == 1 else f'{drawn:,}'} that nobody won" if drawn else ""
    score = [f"{wins}: {most:,} to {least:,} in {count:,} matches{rest}."]
    is_answer = bool(judged) and "until" in summary
    if is_answer:
        won = " and ".join(
            f"{names[row['player_id']]} won {row['wins']:,}" for row in (first, second)
        )
        score = [f"  {won} of {count:,} matches{f'; nobody won {drawn:,}' if drawn else ''}."]
    if failed:
        reason = output.shown(failed["result"]["reason"].partition(" - ")[0])
        why = re.sub("P0[12]", lambda found: names[found[0]], reason)
        no_elo = "; that says nothing of how well they play" if lost == count else ""
        were = "was" if lost == 1 else "were"
        score += [f"  {lost:,} {were} lost without a game{no_elo}. In {failed['match_id']} {why}."]
    return [*judged, *score] if is_answer else [*score, *judged]


def _judged(summary: Mapping[str, Any]) -> list[str]:
    names = [output.shown(row["display_name"]) for row in summary["players"]]
    if "until" in summary:
        return sentences(names, summary["score"], summary["until"])
    return compared(names[0], summary["score"])


def _told(game: Game, facts: dict[str, Any], *, in_full: bool, show: bool) -> list[str]:
    """One match: what was said and the board at the end, or every turn with its board."""
    played = replay.steps(game, facts)
    if not show:
        return match_story.in_words(facts, in_full=in_full, board=replay.board(played))
    story = match_story.in_words(facts, in_full=in_full)
    return [
        *(story if in_full else story[:1]),
        *(f"\n{step}" for step in replay.in_words(facts, played)),
    ]


def compared(name: str, score: Mapping[str, Any]) -> list[str]:
    """The score of the first player, its interval, and what both mean."""
    low, high = score["interval"]
    share, percent = 100 * score["share"], f"{100 * low:.1f} % to {100 * high:.1f} %"
    below, above = score["elo_interval"]
    if score["elo"] is None:
        end = f"more than {below:+.0f}" if share else f"less than {above:+.0f}"
        difference = f"{end}: a score of {share:.0f} % has no finite one"
    else:
        difference = f"{score['elo']:+.0f}, {below:+.0f} to {above:+.0f}"
    better = "is better" if low > 0.5 else "is weaker" if high < 0.5 else ""
    said = f"{name} {better}" if better else "which one is better, these matches do not show"
    return [
        f"  Score of {name}: {score['points']:,g} of {score['matches']:,} points, {share:.1f} %",
        f"  95 % interval (Wilson): {percent}: {said}",
        f"  Elo difference: {difference}",
    ]


def _row(facts: dict[str, Any]) -> dict[str, Any]:
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
    usual = ManagerSettings()
    return (
        f"Here each call was made at most {RETRIES + 1} times, and a move had {move_seconds:g} s; "
        f"a league calls {usual.retries + 1} times, and a move has {usual.move_seconds:g} s. "
        "Give more time with: --move-seconds"
    )

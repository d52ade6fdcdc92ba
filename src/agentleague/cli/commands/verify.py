"""`league verify`: recompute a league, and compare with its journal."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from agentleague.cli.directory import directory_argument
from agentleague.cli.output import counted, listed, print_json, say
from agentleague.errors import Damaged, UnsupportedGame
from agentleague.games.game import Game
from agentleague.league.season import Season
from agentleague.protocol.printable import one_line
from agentleague.records.reading import no_league, open_league, read_rows
from agentleague.records.seasons import is_season, season_leagues
from agentleague.records.verify import Difference, Findings, missing_receipt, verify
from agentleague.roles.agent import AgentState
from agentleague.roles.ports import Row
from agentleague.runtime.plugins import as_typed, find_game, load_game
from agentleague.storage.directory import (
    JournalPlace,
    has_journal,
    may_hold_more,
    open_reader,
    repair_command,
)

DIFFERS = 3
LINE_MAX = 2000  # characters
MATCHES_SHOWN = 20  # in a line
Found = tuple[JournalPlace, Findings, bool]  # The last: whether a repair may save more.
NO_ROW = 0  # The difference is not in one row.
RECEIPT = re.compile(r"([1-9]\d{0,17}):([0-9a-fA-F]{64})")


def _receipts(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> list[tuple[int, str]]:
    """SEQ:HASH, as GAME_OVER, MATCH_RESULT_ACK and ROUND_COMPLETED carry them, or where it is."""
    receipts = []
    for value in values:
        found = RECEIPT.fullmatch(value) or RECEIPT.fullmatch(_kept_in(Path(value)))
        if found is None:
            raise click.BadParameter(
                f"{value!r} is not a receipt; give the row and its 64 hex digits, as in "
                "41:9f86..., or the state file of an agent that has kept one"
            )
        receipts.append((int(found[1]), found[2].lower()))
    return receipts


def _kept_in(path: Path) -> str:
    """The receipt in the state file of an agent; empty if it has none."""
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=AgentState).receipt
    except (OSError, ValueError, RecursionError):
        return ""
    return f"{kept.seq}:{kept.hash}" if kept else ""


@click.command()
@directory_argument()
@click.option(
    "--receipt",
    "receipts",
    metavar="SEQ:HASH|FILE",
    multiple=True,
    callback=_receipts,
    help="A row that must be there, with that hash, or an agent's state file that names one; may "
    "be given several times.",
)
@click.option("--game", metavar="FILE.py", help="The game, if it is not installed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    directory: JournalPlace, receipts: list[tuple[int, str]], game: str | None, as_json: bool
) -> None:
    """Recompute a league from its journal: the chain of its rows, the schedule, every draw and
    result, the table and the champion; and whether rows are missing at its end, by the journal.head
    beside it.

    It exits with 0 if everything is the same, 3 at the first difference, 2 if there is no league,
    and 1 if results could not be recomputed, since their game is missing: a file is run only if you
    name it. The league may still run. Of a season every league is checked, and with those before it
    who is who and how strong.

    league verify ./league
    league verify ./spring                          a season
    league verify ./league --receipt 41:9f86d0...   the receipt of a GAME_OVER, hash in full
    league verify ./league --receipt ./state/player-ann-8101-0e5d8a.json
    league verify ./cup --game ./my_game.py         a game that is not installed
    """
    missing: list[str] = []  # why there is no game
    load = partial(load_named, typed=game, on_missing=missing.append)
    if is_season(directory):
        if receipts:
            raise click.UsageError(no_league(directory))
        all_findings = list(_season_findings(directory, load))
    else:
        all_findings = [(directory, *_findings(directory, receipts, load))]
    _print([findings for _, findings, _ in all_findings], directory, as_json=as_json)
    for place, _, is_damaged in all_findings:
        if is_damaged and isinstance(place, Path):
            say(f"Save what is left with: {repair_command(place)}")
    if all_findings[-1][1].difference:
        click.get_current_context().exit(DIFFERS)
    if missing:
        raise click.ClickException(
            f"{missing[0]}. So no result was recomputed; install the game, or name its file: "
            f"league verify {shlex.quote(str(directory))} --game FILE.py"
        )


def _print(found: Sequence[Findings], directory: JournalPlace, *, as_json: bool) -> None:
    if as_json:
        told = [_as_json(each) for each in found]
        is_true = all(each["ok"] for each in told)
        print_json({"ok": is_true, "leagues": told} if is_season(directory) else told[0])
        return
    print("\n".join(line for each in found for line in in_words(each)))
    if is_season(directory) and not found[-1].difference:
        count = counted(len(found), "league")
        print(f"{count} of {directory}: who came back, and what ratings they brought, is true.")


def _as_json(findings: Findings) -> dict[str, Any]:
    is_true = findings.difference is None and not findings.game_missing
    return {"ok": is_true, **msgspec.to_builtins(findings)}


def _season_findings(directory: Path, load_game: Callable[[str], Game | None]) -> Iterator[Found]:
    """League by league, each with those before it, up to the first that differs."""
    season, places = Season(), season_leagues(directory)
    if not places:
        raise click.UsageError(f"no league of {directory} has begun; there is nothing to check")
    for place in places:
        findings, is_damaged = _findings(place, [], load_game, season)
        yield place, findings, is_damaged
        if findings.difference:
            return
        season.take(open_league(place)[0])


def _findings(
    directory: JournalPlace,
    receipts: list[tuple[int, str]],
    load_game: Callable[[str], Game | None],
    season: Season | None = None,
) -> tuple[Findings, bool]:
    """What was found, and whether a repair may save more than can be read."""
    try:
        rows = read_rows(directory) if has_journal(directory) else []
    except Damaged as error:
        row, why = error.context.get("seq", NO_ROW), error.context.get("why")
        sentence = f"it {why}" if why else str(error)
        return Findings(difference=Difference(row, None, sentence)), True
    return findings_of(directory, rows, load_game, receipts, season)


def findings_of(
    directory: JournalPlace,
    rows: Sequence[Row],
    load_game: Callable[[str], Game | None],
    receipts: Sequence[tuple[int, str]] = (),
    season: Season | None = None,
) -> tuple[Findings, bool]:
    """What was found in these rows of a directory, and whether a repair may save more."""
    damage = open_reader(directory).damage()
    is_damaged = damage is not None and may_hold_more(directory)
    if not rows:
        if not damage:
            raise click.UsageError(no_league(directory))
        return Findings(difference=Difference(NO_ROW, None, damage)), is_damaged
    findings = verify(rows, load_game, season=season)
    if findings.difference is None:
        findings.difference = missing_receipt(rows, receipts)
    if findings.difference is None and damage:
        sentence = f"the rows that can be read are true, but {damage}"
        findings.difference = Difference(NO_ROW, None, sentence)
    return findings, is_damaged


def load_named(name: str, typed: str | None, on_missing: Callable[[str], None]) -> Game | None:
    """The game that was typed, else the installed one that the journal names, if there is one."""
    if typed:
        game = find_game(as_typed(typed))
        if game.name != name:
            raise UnsupportedGame(f"{typed} is the game {game.name}, but the league played {name}")
        return game
    try:
        return load_game(name)
    except UnsupportedGame as error:
        on_missing(str(error))
        return None


def in_words(findings: Findings) -> list[str]:
    """What was found, for people."""
    wrong = findings.difference
    if wrong:
        match = f" ({wrong.match_id})" if wrong.match_id else ""
        where = "" if wrong.row == NO_ROW else f"Row {wrong.row}{match}: "
        what = wrong.sentence if where else wrong.sentence[:1].upper() + wrong.sentence[1:]
        return [one_line(f"{where}{what}.", LINE_MAX)]
    lines = [_first_line(findings)]
    is_one = 1 in (findings.matches_decided, findings.total_matches)
    lines.append(
        f"{findings.matches_decided} of {counted(findings.total_matches, 'match', 'matches')} "
        f"{'is' if is_one else 'are'} decided, each once; "
        f"{findings.recomputed} {'was' if findings.recomputed == 1 else 'were'} recomputed, move "
        "by move and draw by draw."
    )
    for words, found in _not_recomputed(findings):
        if found:
            shown = str(found) if isinstance(found, int) else listed(found, MATCHES_SHOWN)
            lines.append(f"{words}: {shown}.")
    lines += [f"ROWS WERE LOST before row {row}: {why}." for row, why in findings.losses.items()]
    if findings.seeded:
        lines.append("A seed was given at the start: anybody who knew it could predict the draws.")
    lines.append(f"The last row is {findings.head}; it serves as a receipt of all before it.")
    return [one_line(line, LINE_MAX) for line in lines]


def _not_recomputed(findings: Findings) -> list[tuple[str, int | list[str]]]:
    """Matches, or their number, whose result cannot be recomputed, and why."""
    return [
        ("Not recomputed, since the game is missing", findings.not_recomputed),
        ("Technical losses, by the word of a referee", findings.forfeited),
        ("Of them by one alone, for which nobody vouches", findings.unconfirmed),
        (
            "Technical losses, since the organiser had removed the player",
            findings.forfeited_by_removal,
        ),
        ("Believed, since their referees do not lock", findings.believed),
        ("Without a contest", findings.no_contests),
        ("Disputed by a referee", findings.disputed),
        ("Set aside, since players they called silent played with others", findings.set_aside),
        ("Counted as the organiser ruled", findings.ruled),
    ]


def _first_line(findings: Findings) -> str:
    rounds = f"{findings.rounds_ended} of {counted(findings.total_rounds, 'round')} ended"
    rows = counted(findings.rows, "row")
    played = f"{findings.league_id} ({findings.game_type}), {rows}, {rounds}"
    true = "all is true"
    if findings.game_missing:
        true = "all but the results was checked and is true"
    if not findings.complete:
        return f"{played}: {true} so far."
    if findings.aborted:
        return f"{played}: {true}; the organiser ended it early."
    return f"{played}: {true}. The champion is {findings.champion}."

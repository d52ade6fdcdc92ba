"""`league match`: how one match went, and why it ended that way."""

import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from agentleague.cli.commands.verify import load_named
from agentleague.cli.output import print_json, say
from agentleague.cli.reading import ask_manager, read, reading_options, rules_option
from agentleague.errors import LeagueError
from agentleague.records.match_story import facts_of, in_words, read_answer, with_ending
from agentleague.records.reading import event_of, open_league
from agentleague.records.replay import board, steps
from agentleague.records.replay import in_words as step_words
from agentleague.runtime.query_pages import Source
from agentleague.storage.directory import JournalPlace

PAGES_MAX = 1000  # of a transcript; no manager needs so many


@click.command()
@click.argument("match_id", metavar="MATCH")
@click.option("--replay", is_flag=True, help="Step through the turns of a match that is decided.")
@click.option("--game", metavar="FILE.py", help="The game, if it is not installed.")
@rules_option
@reading_options
def command(
    match_id: str,
    replay: bool,
    game: str | None,
    directory: JournalPlace | None,
    manager_url: str | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Show how a match went: a line for each message to a player and its answer, then the draw, the
    board where the game draws itself, and in the last line why it ended, and what the loser could
    change. With -v it says by which rule of docs/protocol.md, and in which forms a player was
    asked.

    With --replay it shows the moves of each turn and the board after it instead; on a terminal it
    waits for Enter after each, and q ends it.

    league match R1M1
    league match R1M1 --replay
    league match R1M1 --dir ./league
    league match R2M3 --manager http://127.0.0.1:8000/mcp --json
    """
    wanted = match_id.upper()
    if directory is not None and manager_url is None:
        facts = _from_directory(directory, wanted)
    else:
        facts = read(directory, manager_url, lambda source: whole_match(source, wanted))
    missing: list[str] = []  # why there is no game
    found = load_named(facts["game_type"], game, missing.append)
    played = steps(found, facts) if found else []
    if replay and not facts.get("result"):
        raise LeagueError(f"{wanted} is not decided yet; its moves are shown when it is")
    install = "install the game, or name its file with --game FILE.py"
    if replay and not played:
        why = missing[0] if missing else "the game could not be started with its options"
        raise LeagueError(f"{why}; {install}")
    if as_json:
        print_json(facts | ({"steps": msgspec.to_builtins(played)} if replay else {}))
        return
    story = in_words(facts, in_full=verbose, board=board(played))
    if replay:
        _step_through([story[0], *step_words(facts, played)])
    else:
        print("\n".join(story))
        if missing and facts.get("result"):
            say(f"There is no board: {missing[0]}; {install}")


def _step_through(parts: Sequence[str]) -> None:
    waits = sys.stdin.isatty() and sys.stdout.isatty()
    for part in parts[:-1]:
        print(part, end="\n\n")
        if waits and part is not parts[0] and "q" in input("Enter: next, q: end ").lower():
            return
    print(parts[-1])


def _from_directory(directory: JournalPlace, match_id: str) -> dict[str, Any]:
    """From the journal: only it knows why a match was assigned again."""
    league, rows = open_league(directory)
    facts = facts_of(
        league, match_id, (event_of(row) for row in rows if row.kind == "match_assigned")
    )
    if match_id in league.open_matches:  # How long its referee still has, the manager knows.
        from agentleague.runtime.processes import run

        asked = ask_manager(directory, lambda manager: manager.ask("GET_MATCH", match_id=match_id))
        told = (run(asked) or {}).get("match", {})
        facts |= {name: told[name] for name in ("awaited", "state") if name in told}
    return facts


async def whole_match(source: Source, match_id: str) -> dict[str, Any]:
    """Ask for the match, page by page of its transcript."""
    facts: dict[str, Any] = {}
    rows: list[Any] = []
    for _ in range(PAGES_MAX):
        part = read_answer(await source.ask("GET_MATCH", match_id=match_id, offset=len(rows)))
        facts, added = facts or part.match, part.match.get("transcript")
        if not isinstance(added, list):
            break
        rows += added
        if not added or len(rows) >= part.total:
            break
    return with_ending({**facts, "transcript": rows})

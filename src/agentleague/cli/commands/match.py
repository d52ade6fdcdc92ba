"""`league match`: how one match went, and why it ended that way."""

from pathlib import Path
from typing import Any

import click

from agentleague.cli.output import print_json
from agentleague.cli.reading import ask_manager, read, reading_options, rules_option
from agentleague.records.match_story import facts_of, in_words, read_answer, with_ending
from agentleague.records.reading import event_of, open_league
from agentleague.runtime.query_pages import Source

PAGES_MAX = 1000  # of a transcript; no manager needs so many


@click.command()
@click.argument("match_id", metavar="MATCH")
@rules_option
@reading_options
def command(
    match_id: str, directory: Path | None, manager_url: str | None, as_json: bool, verbose: bool
) -> None:
    """Show how a match went: a line for each message to a player and its answer, then the draw, and
    in the last line why it ended, and what the loser could change. With -v it says by which rule of
    docs/protocol.md, and in which forms a player was asked.

    league match R1M1
    league match R1M1 --dir ./league
    league match R2M3 --manager http://127.0.0.1:8000/mcp --json
    """
    wanted = match_id.upper()
    if directory is not None and manager_url is None:
        facts = _from_directory(directory, wanted)
    else:
        facts = read(directory, manager_url, lambda source: whole_match(source, wanted))
    if as_json:
        print_json(facts)
        return
    for line in in_words(facts, in_full=verbose):
        print(line)


def _from_directory(directory: Path, match_id: str) -> dict[str, Any]:
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

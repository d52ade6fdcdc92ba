"""`league agent P03`: everything public about one agent, and why it lost matches."""

from typing import Any

import click
import msgspec

from agentleague.cli import reading
from agentleague.cli.output import print_facts, print_json, say, shown
from agentleague.records.match_story import read_answer
from agentleague.records.player_story import in_words, player_match
from agentleague.runtime.query_pages import Source, all_rounds
from agentleague.storage.directory import JournalPlace

HEADINGS = {
    "kind": "Kind",
    "state": "State",
    "activity": "Activity",
    "version": "Version",
    "endpoint": "End point",
    "listens": "Identity",
    "speaks": "Speaks",
    "locks": "Locks",
    "max_concurrent_matches": "Matches at once",
    "open_matches": "Open matches",
    "at_matches": "At",
    "rank": "Rank",
    "points": "Points",
    "played": "Played",
    "wins": "Won",
    "draws": "Drawn",
    "losses": "Lost",
    "technical_losses": "Technical losses",
    "why": "Why there",
    "misused": "Misused tokens",
}


@click.command()
@click.argument("agent_id", metavar="AGENT")
@click.option("--all", "all_matches", is_flag=True, help="Show all matches, not the last 20.")
@reading.rules_option
@reading.reading_options
def command(
    agent_id: str,
    all_matches: bool,
    directory: JournalPlace | None,
    manager_url: str | None,
    as_json: bool,
    verbose: bool,
) -> None:
    """Print everything about one agent, by its id or its name. For a player this includes its
    matches: how each ended, and for each error what was asked, what was answered, how long it took,
    and what to change; with -v also which rule of docs/protocol.md applies.

    league agent P03
    league agent "Agent Alpha"
    league agent P03 --dir ./league --all
    league agent REF01 --dir ./league --json
    """

    async def ask(source: Source) -> tuple[dict[str, Any] | None, str | None]:
        found = await _agent(source, agent_id, all_matches)
        if found is None:
            return None, None
        await reading.mark_reachable([found], directory, name=found["agent_id"])
        if isinstance(source, reading.JournalSource):
            return found, source.endpoint(found["agent_id"])
        return found, found.get("endpoint")

    agent, endpoint = reading.read(directory, manager_url, ask)
    if agent is None:
        look = f"league agents{reading.source_option(directory, manager_url)}"
        raise click.ClickException(
            f"there is no agent {agent_id!r} in this league; see who is there with: {look}"
        )
    stories = [player_match(facts, agent["agent_id"]) for facts in agent.pop("facts")]
    if as_json:
        print_json({**agent, "told": msgspec.to_builtins(stories)})
        return
    agent["endpoint"] = endpoint
    print_facts(_facts(agent), f"{agent.get('agent_id')} {agent.get('display_name')}")
    for line in (line for story in stories for line in in_words(story, in_full=verbose)):
        print(shown(line))
    total = agent.get("matches") or 0
    if len(stories) < total:
        say(f"These are the last {len(stories)} of {total} matches; see all with: --all")


async def _agent(source: Source, typed: str, all_matches: bool) -> dict[str, Any] | None:
    """An agent, with the `facts` of its matches; None if there is none."""
    agent_id = await reading.find_agent_id(source, typed)
    if agent_id is None:
        return None
    agent = (await source.ask("GET_AGENT", agent_id=agent_id))["agent"]
    wanted = [match["match_id"] for match in agent.get("last_matches", ())]
    if all_matches and wanted:
        wanted = [
            match["match_id"]
            for each in await all_rounds(source)
            for match in each["matches"]
            if agent["agent_id"] in (match["player_A_id"], match["player_B_id"])
            and "draw_commitment" in match  # It has begun.
        ]
    facts = [await source.ask("GET_MATCH", match_id=match_id) for match_id in wanted]
    return {**agent, "facts": [read_answer(answer).match for answer in facts]}


PROVED: dict[bool | None, str] = {
    True: "proved: whoever listens at its end point said that it is this agent",
    False: (
        "not proved: only agents that `league` runs can prove it; what it does counts all the same"
    ),
}
SEATED = "at a seat: it fetches its calls from the manager, which nobody but it can do"
DISPLACED = "another agent listens at that end point, and this one was taken out"


def _facts(agent: dict[str, Any]) -> dict[str, Any]:
    agent["listens"] = DISPLACED if agent.get("displaced") else PROVED.get(agent.get("proved"))
    if agent.get("seat"):
        agent["listens"] = SEATED
    if agent.get("reachable") is False:
        agent["endpoint"] = ", ".join(filter(None, (agent.get("endpoint"), "nobody answers there")))
        agent["listens"] = DISPLACED if agent.get("displaced") else None
    return {
        heading: _text(agent[field])
        for field, heading in HEADINGS.items()
        if agent.get(field) not in (None, [])
    }


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else value

"""`league agent P03`: all that anybody may know of one agent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from agentleague.cli.reading import Source, read, reading_options
from agentleague.cli.table import Column, print_facts, print_json, print_rows
from agentleague.errors import LeagueError

EXAMPLES = """\b
Examples:
  league agent P03
  league agent REF01 --dir ./league --json
"""
HEADINGS = {
    "kind": "Kind",
    "state": "State",
    "activity": "Activity",
    "version": "Version",
    "endpoint": "End point",
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
    "technical_losses": "Lost by default",
    "why": "Why there",
}
MATCHES = (
    Column("match_id", "Match", True),
    Column("opponent_id", "Opponent", True),
    Column("ended", "Ended", True),
)


@click.command(help=EXAMPLES + "\nPrint all of one agent.")
@click.argument("agent_id", metavar="AGENT")
@reading_options
def command(agent_id: str, directory: Path | None, manager_url: str | None, as_json: bool) -> None:
    """Print the agent."""

    async def ask(source: Source) -> dict[str, Any]:
        return await source.ask("GET_AGENT", agent_id=agent_id.upper())

    try:
        agent = read(directory, manager_url, ask).get("agent", {})
    except LeagueError as error:
        if "not found in registry" not in str(error):
            raise
        raise click.ClickException(f"{error}; see who is there with: league agents") from None
    if as_json:
        print_json(agent)
        return
    print_facts(_facts(agent), f"{agent.get('agent_id')} {agent.get('display_name')}")
    if agent.get("last_matches"):
        print_rows(list(_matches(agent)), MATCHES, "Last matches")


def _facts(agent: dict[str, Any]) -> dict[str, Any]:
    return {
        heading: _words(agent[field])
        for field, heading in HEADINGS.items()
        if agent.get(field) not in (None, [])
    }


def _words(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else value


def _matches(agent: dict[str, Any]) -> Iterator[dict[str, Any]]:
    own = agent["agent_id"]
    for match in agent["last_matches"]:
        players = (match["player_A_id"], match["player_B_id"])
        yield {
            "match_id": match["match_id"],
            "opponent_id": players[1] if players[0] == own else players[0],
            "ended": _ended(match, own),
        }


def _ended(match: dict[str, Any], own: str) -> str:
    if "status" not in match:
        return "playing"
    if match.get("no_contest"):
        return "no contest"
    if match["status"] == "DRAW":
        return "draw"
    by_default = " by default" if match["status"] == "TECHNICAL_LOSS" else ""
    return f"{'won' if match.get('winner_player_id') == own else 'lost'}{by_default}"

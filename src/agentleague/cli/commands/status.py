"""`league status`: how far a league is, and how well it works."""

import re
from typing import Any

import click

from agentleague.cli import output
from agentleague.cli.directory import dir_option, how_to_approve, manager_address, no_manager
from agentleague.cli.progress import matches, number, round_in_words
from agentleague.cli.reading import ask_manager, mark_reachable, read, reading_options
from agentleague.errors import LeagueError
from agentleague.league.league import Phase
from agentleague.records.reading import read_rows
from agentleague.runtime.query_pages import Source, all_rows
from agentleague.storage.directory import JournalPlace

METRICS = (
    output.Column("words", "Measure", True, True),
    output.Column("shown", "Value"),
    output.Column("wanted", "Wanted"),
    output.Column("verdict", "Kept", True),
)
SHOWN = 12  # matches or agents in a line
LISTS = {  # of matches or agents, shown where they are not empty
    "in_play": "In play",
    "not_reachable": "Not reachable",
    "disputed_matches": "Disputed",
    "ruled_matches": "Ruled on",
    "misused_tokens_of": "Misused tokens",
    "latecomers": "Came late",
    "waiting_referees": "Waiting to referee",
    "set_aside_referees": "Set aside",
    "unconfirmed_matches": "Unconfirmed",
    "accepted_losses": "Lost rows",
}
LIVE = {  # what only a running manager knows: a line for each
    "not_understood": "Understands no form",
    "awaited_answers": "Waiting for",
    "awaited_reports": "Not reported yet",
    "refused_registrations": "Refused",
    "contradictions": "Contradictions",
}
# It knows that, too, before the start, or while a round is only announced.
WANTED = {"players_wanted", "referees_wanted", "starts_at", "round_begins_at"}
VERDICTS = {True: "yes", False: "NO", None: ""}


@click.command()
@click.option(
    "--metrics",
    "with_metrics",
    is_flag=True,
    help="Show also how well it works: answers in time, losses by default, and more.",
)
@reading_options
def command(
    directory: JournalPlace | None, manager_url: str | None, as_json: bool, with_metrics: bool
) -> None:
    """Show how far a league is, and how well it works.

    league status
    league status --metrics
    league status --dir ./league --json
    """

    async def ask(source: Source) -> tuple[dict[str, Any], dict[str, Any]]:
        status = await source.ask("GET_STATUS")
        status.pop("you", None)
        told = await ask_manager(directory, lambda manager: manager.ask("GET_STATUS")) or {}
        status |= {field: told[field] for field in (LIVE.keys() | WANTED) & told.keys()}
        if status.get("status") != Phase.COMPLETED:
            has_begun = "round_begins_at" not in status
            status |= await _now(source, directory, has_begun=has_begun)
        return status, await source.ask("GET_METRICS") if with_metrics else {}

    status, metrics = read(directory, manager_url, ask)
    if as_json:
        output.print_json(status | metrics)
        return
    output.print_facts(_facts(status), str(status.get("league_id")))
    for line in (f"{LIVE[field]}: {row}." for field in LIVE for row in status.get(field, ())):
        print(output.shown(line))
    if metrics:
        _print_metrics(metrics)
    if status.get("waiting_referees") and status.get("status") != Phase.COMPLETED:
        output.say(how_to_approve(status["waiting_referees"], directory))
    if directory is not None:
        output.say(_of_directory(directory, status))


async def _now(
    source: Source, directory: JournalPlace | None = None, *, has_begun: bool = True
) -> dict[str, list[str]]:
    """The matches in play and the agents that cannot be reached; empty if the source cannot say.

    Those of a round that is only announced are given to referees, too, but not played yet.
    """
    try:
        agents = await all_rows(source, "GET_AGENTS", "agents")
        await mark_reachable(agents, directory)
        at_work = [row for row in agents if row["kind"] == "referee" and row["open_matches"]]
        in_play: list[str] = []
        for row in at_work if has_begun else ():
            answer = await source.ask("GET_AGENT", agent_id=row["agent_id"])
            in_play += answer["agent"]["at_matches"]
        lost = [row["agent_id"] for row in agents if row.get("reachable") is False]
    except (LeagueError, LookupError):  # A foreign manager.
        return {}
    in_play.sort(key=lambda match_id: [int(number) for number in re.findall(r"\d+", match_id)])
    return {"in_play": in_play, "not_reachable": lost}


def _of_directory(directory: JournalPlace, status: dict[str, Any]) -> str:
    wrote = f"The last row was written at {read_rows(directory)[-1].at}"
    address = manager_address(directory)
    if address:
        paused = f"; continue with: league start {dir_option(directory)}"
        more = paused if status.get("paused") else "."
        return f"{wrote}; a manager runs, here at {address}{more}"
    if status.get("status") == Phase.COMPLETED:
        return f"{wrote}; no manager runs in {directory}."
    return f"{wrote}; {no_manager(directory)}"


def _facts(status: dict[str, Any]) -> dict[str, Any]:
    mark = "paused" if status.get("paused") else "aborted" if status.get("aborted") else ""
    numbers = {kind: status.get(f"{kind}_wanted") for kind in ("players", "referees")}
    wanted = {kind: f" of {number}" if number else "" for kind, number in numbers.items()}
    is_there = status.get("referees") or status.get("waiting_referees")
    start = "; start one with: league referee" if wanted["referees"] and not is_there else ""
    late = f" and {len(status['latecomers'])} who came late" if status.get("latecomers") else ""
    name = status.get("champion_name")
    facts = {
        "State": f"{status.get('status')}{f' ({mark})' if mark else ''}",
        "Game": status.get("game_type"),
        **_format(status),
        **_rounds(status),
        "Players": f"{status.get('players')}{wanted['players']}{late}",
        "Referees": f"{status.get('referees')}{wanted['referees']}{start}",
    }
    if status.get("starts_at"):
        facts["Starts"] = output.starting(status["starts_at"], status.get("players"))
    for field, heading in LISTS.items():
        if status.get(field):
            facts[heading] = output.listed(status[field], SHOWN)
    if status.get("champion"):
        named = f"{status['champion']} {name}" if name else status["champion"]
        level = status.get("champions") or ()
        drawn = f", drawn by lot among {output.listed(level, SHOWN)}" if len(level) > 1 else ""
        facts["Leader" if status.get("aborted") else "Champion"] = f"{named}{drawn}"
    if status.get("ending"):
        facts["End"] = status["ending"]
    return facts


def _rounds(status: dict[str, Any]) -> dict[str, str]:
    if not (number(status, "current_round") or number(status, "total_rounds")):
        return {}
    begins_at = status.get("round_begins_at")
    return {
        "Round": round_in_words(status).removeprefix("Round "),
        **({"Begins": output.time_until(str(begins_at)) or f"at {begins_at}"} if begins_at else {}),
        "Matches": matches(status).replace(" matches", ""),
    }


def _format(status: dict[str, Any]) -> dict[str, str]:
    """The formats of the stages, where a manager tells them and points alone do not say it."""
    stages = status.get("stages")
    if not isinstance(stages, list) or stages == ["round_robin"]:
        return {}
    return {"Format": ", then ".join(str(each).replace("_", " ") for each in stages)}


def _print_metrics(metrics: dict[str, Any]) -> None:
    rows = [
        {
            **row,
            "shown": _value(row["value"], row["unit"]),
            "wanted": _wanted(row["threshold"], row["unit"]),
            "verdict": VERDICTS[row["kept"]],
        }
        for row in metrics["metrics"]
    ]
    matches = output.counted(metrics["matches_measured"], "match", "matches")
    title = f"Measured over the last {matches}"
    output.print_rows(rows, METRICS, title, lambda row: "bold red" if row["kept"] is False else "")


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "share":
        return f"{value:.1%}"
    return f"{value:.0f} ms" if unit == "ms" else str(value)


def _wanted(threshold: str | None, unit: str) -> str:
    """`< 0.05` of shares is `< 5%`."""
    sign, _, bound = (threshold or "").partition(" ")
    if not bound:
        return ""
    return f"{sign} {float(bound):.0%}" if unit == "share" else f"{sign} {bound} ms"

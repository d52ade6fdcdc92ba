"""`league status`: how far a league is, and how well it goes."""

from pathlib import Path
from typing import Any

import click

from agentleague.cli.reading import Source, read, reading_options
from agentleague.cli.table import Column, print_facts, print_json, print_rows

EXAMPLES = """\b
Examples:
  league status
  league status --metrics
  league status --dir ./league --json
"""
METRICS = (
    Column("words", "Measure", True, True),
    Column("shown", "Value"),
    Column("wanted", "Wanted"),
    Column("verdict", "Kept", True),
)
VERDICTS = {True: "yes", False: "NO", None: ""}


@click.command(help=EXAMPLES + "\nSay how far a league is.")
@click.option("--metrics", "with_metrics", is_flag=True, help="And how well it goes.")
@reading_options
def command(
    directory: Path | None, manager_url: str | None, as_json: bool, with_metrics: bool
) -> None:
    """Print the status."""

    async def ask(source: Source) -> tuple[dict[str, Any], dict[str, Any]]:
        status = await source.ask("GET_STATUS")
        status.pop("you", None)
        return status, await source.ask("GET_METRICS") if with_metrics else {}

    status, metrics = read(directory, manager_url, ask)
    if as_json:
        print_json(status | metrics)
        return
    print_facts(_facts(status), str(status.get("league_id")))
    if metrics:
        _print_metrics(metrics)


def _facts(status: dict[str, Any]) -> dict[str, Any]:
    mark = "paused" if status.get("paused") else "aborted" if status.get("aborted") else ""
    facts = {
        "State": f"{status.get('status')}{f' ({mark})' if mark else ''}",
        "Game": status.get("game_type"),
        "Round": f"{status.get('current_round')} of {status.get('total_rounds')}",
        "Matches": f"{status.get('matches_completed')} of {status.get('total_matches')}",
        "Players": status.get("players"),
        "Referees": status.get("referees"),
    }
    if status.get("champion"):
        facts["Leader" if status.get("aborted") else "Champion"] = status["champion"]
    return facts


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
    title = f"Measured over the last {metrics['matches_measured']} matches"
    print_rows(rows, METRICS, title, lambda row: "bold red" if row["kept"] is False else "")


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

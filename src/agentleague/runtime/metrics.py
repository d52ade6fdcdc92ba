"""What `/metrics` of an agent says, in the text format of Prometheus, version 0.0.4.

A scrape reads counts that are kept anyway: it costs the same in a league of any length. No label
holds a name, a token or an address, and none has a value for each agent or match.
"""

import os
import platform
from collections.abc import Callable, Mapping, Sized
from contextlib import suppress
from http import HTTPStatus
from importlib.metadata import version
from itertools import accumulate
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from agentleague.league.events import KINDS
from agentleague.league.league import Phase
from agentleague.roles.tally import SECONDS, Times
from agentleague.runtime.clock import cpu_seconds

if TYPE_CHECKING:
    from agentleague.runtime.processes import Running

HEADERS = (("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),)
VERSION = version("agentleague")
STATM = Path("/proc/self/statm")  # where Linux says what this process holds, in pages


class Metric(NamedTuple):
    """What is said of a metric, and where its value is: a number, Times, or what is counted.

    The value of one with a label is a mapping from that label's values to numbers.
    """

    words: str
    read: str | Callable[[Any], Any]  # an attribute of an agent, or how it is read from it
    label: str = ""


def _labels(**labels: object) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: object) -> str:
    return str(value).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _info(agent: Any) -> str:
    role, is_manager = agent.role, agent.journal is not None
    what = {
        "version": VERSION,
        "python": platform.python_version(),
        "role": "manager" if is_manager else role.KIND,
        "league_id": (agent.league.rules if is_manager else role.state).league_id,
        "agent_id": "" if is_manager else role.agent_id,
    }
    return _labels(**what)


def _memory(agent: Any) -> int:
    with suppress(OSError):
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _requests(agent: Any) -> dict[str, int]:
    """By status; those that a seated agent makes up are one."""
    known, counts = set(map(int, HTTPStatus)), dict[str, int]()
    for status, count in agent.server.answers.items():
        name = str(status) if status in known else "other"
        counts[name] = counts.get(name, 0) + count
    return counts


def _rows(agent: Any) -> dict[str, int]:
    return {kind: agent.league.counts.get(cls, 0) for kind, cls in KINDS.items()}


def _unreachable(agent: Any) -> int:
    return list(agent.role.reachability.known.values()).count(False)


def _one_of(value: str, *choices: str) -> dict[str, int]:
    return {each: int(each == value) for each in choices}


def _questions(prefix: str, whose: str) -> dict[str, Metric]:
    return {
        f"{prefix}_attempts_total": Metric(
            f"Attempts to get an answer of a player in {whose}, by outcome.",
            "role.tally.attempts",
            "outcome",
        ),
        f"{prefix}_retries_total": Metric(
            "Attempts among them after the first.", "role.tally.retries"
        ),
        f"{prefix}_move_seconds": Metric(f"How long moves took in {whose}.", "role.tally.moves"),
    }


EVERY = {
    "info": Metric("What this agent is; always 1.", _info),
    "start_time_seconds": Metric("When it began, in Unix time.", "running.began"),
    "process_cpu_seconds_total": Metric(
        "Processor time of its process, with all agents in it.", lambda agent: cpu_seconds()
    ),
    "process_resident_memory_bytes": Metric(
        "Memory of its process, with all agents in it; 0 where it is not known.", _memory
    ),
    "event_loop_lag_seconds": Metric(
        "How late it looked at its connections, which it does four times a second.", "server.lag"
    ),
    "http_requests_total": Metric(
        "Requests that it answered; errors of the protocol mostly have status 200.",
        _requests,
        "status",
    ),
    "http_refusals_total": Metric(
        "Errors that it answered with; E047 is over the rate.", "transport.refusals", "code"
    ),
    "http_dropped_total": Metric(
        "Connections dropped since too many refusals waited to be told.", "server.dropped"
    ),
    "http_received_bytes_total": Metric("Bytes of requests, with heads.", "server.bytes_in"),
    "http_sent_bytes_total": Metric("Bytes of answers, with heads.", "server.bytes_out"),
    "calls_total": Metric("Messages that it sent.", "transport.calls"),
    "call_failures_total": Metric(
        "Messages without a good answer; E001 is none in time, E009 no connection.",
        "transport.failures",
        "code",
    ),
    "call_seconds": Metric("How long answers to its messages took.", "transport.call_times"),
    "call_sent_bytes_total": Metric("Bytes of its messages.", "transport.bytes_sent"),
    "call_received_bytes_total": Metric("Bytes of their answers.", "transport.bytes_answered"),
}
MANAGER = {
    "league_phase": Metric(
        "1 for the phase of the league.", lambda agent: _one_of(agent.league.phase, *Phase), "phase"
    ),
    "league_paused": Metric("1 while it is paused.", "league.paused"),
    "league_round": Metric("The round that runs, or ran last.", "league.round_id"),
    "league_rounds": Metric("All rounds.", "league.total_rounds"),
    "league_rounds_ended": Metric("Rounds that are over.", "league.rounds_ended"),
    "league_matches": Metric("All matches.", "league.total_matches"),
    "league_matches_decided_total": Metric(
        "Matches with a result, also before a restart, by how they ended.",
        "league.decided_by",
        "status",
    ),
    "league_matches_open": Metric(
        "Matches of the running round that are not closed.", "league.open_matches"
    ),
    "league_players": Metric("Players.", "league.players_total"),
    "league_players_suspended": Metric(
        "Players that let so many questions run out that they get no retries.", "league.suspended"
    ),
    "league_players_removed": Metric(
        "Players that the organiser took out.", "league.roster.removed"
    ),
    "league_referees": Metric("Referees.", "league.roster.referees_total"),
    "league_referees_waiting": Metric(
        "Referees that the organiser has not let in yet.", "league.roster.waiting"
    ),
    "league_referees_set_aside": Metric(
        "Referees that get no matches any more.", "league.roster.set_aside"
    ),
    "league_agents_unreachable": Metric(
        "Agents at whose end point nobody listened when it was tried.", _unreachable
    ),
    "league_disputes_open": Metric("Matches that await a ruling.", "league.disputed"),
    "league_matches_unconfirmed": Metric(
        "Technical losses by the word of one referee alone.", "league.unconfirmed"
    ),
    "league_seats": Metric("Seats that are taken.", "transport.seats.opened"),
    "league_hosted_players": Metric("Players of MCP hosts.", "running.hosted"),
    "league_broadcasts_total": Metric(
        "How often it told many agents at once.", "transport.broadcasts"
    ),
    "journal_rows_total": Metric(
        "Rows, also before a restart; match_assigned: a match was given out again.", _rows, "kind"
    ),
    "journal_bytes": Metric(
        "Room it takes; in a database, that of all leagues together.",
        lambda agent: agent.journal.size_bytes(),
    ),
    "journal_state": Metric(
        "1 for its state; full: the league waits for room on the disk; away: for the database.",
        lambda agent: _one_of(agent.journal.state, "ok", "full", "away", "failed"),
        "state",
    ),
    "journal_commits_total": Metric("Transactions.", "journal.commits"),
    "journal_wait_seconds": Metric(
        "How long what was decided waited for the disk before it was told.", "host.disk_times"
    ),
    **_questions("league", "matches that referees told of"),
}
REFEREE = {
    "referee_matches_running": Metric("Its matches.", "role.matches"),
    "referee_matches_ended_total": Metric("Its matches that are over.", "role.ended"),
    **_questions("referee", "matches that it reported"),
}
PLAYER = {
    "player_matches_total": Metric("Matches that ended.", "role.memory.results", "result"),
    "player_strategy_seconds": Metric("How long its strategy took.", "strategy"),
    "player_strategy_failures_total": Metric(
        "How often its strategy raised an error, or returned no move.", "strategy.failures"
    ),
}
SERVICE = {
    **{
        name: EVERY[name]
        for name in (
            "start_time_seconds",
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "event_loop_lag_seconds",
            "http_requests_total",
            "http_dropped_total",
            "http_received_bytes_total",
            "http_sent_bytes_total",
        )
    },
    "service_leagues": Metric("Leagues of all workers, by state.", "leagues", "state"),
    "service_leagues_here": Metric("Leagues that this worker runs.", "here"),
    "service_workers": Metric("Workers that live.", "workers"),
    "service_forwarded_total": Metric("Requests sent on to another worker.", "sent_on"),
}
METRICS = {
    "every agent": EVERY,
    "manager": MANAGER,
    "referee": REFEREE,
    "player": PLAYER,
    "worker of a service": SERVICE,
}


def scrape(running: "Running") -> bytes:
    """All that an agent counts."""
    host, transport, role = running.host, running.transport, running.host.role
    agent = SimpleNamespace(
        running=running,
        host=host,
        transport=transport,
        server=transport.server,
        role=role,
        journal=host.journal,
        league=getattr(role, "league", None),
        strategy=getattr(host.runner or getattr(role, "strategy", None), "counts", None),
    )
    own = METRICS["manager" if host.journal else getattr(role, "KIND", "")]
    return written(EVERY | own, agent)


def written(metrics: Mapping[str, Metric], agent: Any) -> bytes:
    """These metrics, as they are read from an agent."""
    return "".join(_written(name, *each, agent) for name, each in metrics.items()).encode()


def kind_of(name: str) -> str:
    """The type of a metric, which its name says."""
    is_histogram = name.endswith("_seconds") and not name.endswith("_time_seconds")
    return "counter" if name.endswith("_total") else "histogram" if is_histogram else "gauge"


def _written(name: str, words: str, read: Any, label: str, agent: Any) -> str:
    value = (attrgetter(read) if isinstance(read, str) else read)(agent)
    kind, name = kind_of(name), f"agentleague_{name}"
    if isinstance(value, Times):
        lines = _histogram(name, value)
    elif label:
        lines = [f"{name}{{{_labels(**{label: key})}}} {value[key]}" for key in value]
    elif isinstance(value, str):
        lines = [f"{name}{{{value}}} 1"]
    else:
        lines = [f"{name} {len(value) if isinstance(value, Sized) else +value}"]
    return "\n".join([f"# HELP {name} {words}", f"# TYPE {name} {kind}", *lines, ""])


def _histogram(name: str, times: Times) -> list[str]:
    counts = list(accumulate(times.counts))
    bounds = zip((*SECONDS, "+Inf"), counts, strict=True)
    lines = [f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in bounds]
    return [*lines, f"{name}_sum {times.seconds}", f"{name}_count {counts[-1]}"]

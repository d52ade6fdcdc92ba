"""`league simulate`: whole leagues in virtual time, with faults by a seed."""

import time
from operator import itemgetter
from typing import Any

import click
import msgspec

from agentleague.cli.options import Number
from agentleague.cli.output import bar, counted, print_json
from agentleague.protocol.messages import WIRE_NAME
from agentleague.simulation import modes
from agentleague.simulation.league import BEGAN
from agentleague.simulation.modes import MODES
from agentleague.simulation.network import host_of
from agentleague.simulation.observer import Delivery

SEEDS = 200
ABOVE_0 = Number(int, 1)
SHOWN = ("match_id", "round_id", "epoch", "status", "accept", "parity_choice", "move", "index")


@click.command()
@click.option(
    "--mode",
    default="chaos",
    show_default=True,
    type=click.Choice(list(MODES)),
    help="What goes wrong.",
)
@click.option("--seeds", type=ABOVE_0, metavar="N", help=f"How many leagues; {SEEDS} unless given.")
@click.option(
    "--seed", type=Number(int, 0), metavar="N", help="This league, or the first of --seeds."
)
@click.option(
    "--jobs", type=ABOVE_0, metavar="N", help="At most so many processes; one a core unless given."
)
@click.option("--trace", is_flag=True, help="Print one league message by message.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    mode: str, seeds: int | None, seed: int | None, jobs: int | None, trace: bool, as_json: bool
) -> None:
    """Try to break the league: the real manager, referees and players in virtual time, with
    messages lost, processes killed and disks full, by a seed. A seed that finds something is
    printed with the command that shows it again.

    \b
    Modes:
      chaos       a few of all the things that can go wrong
      exhaustive  a crash after every single event, one by one; then pairs of them
      calm        nothing goes wrong but one player, and nobody else may suffer
      liveness    everything goes wrong for a while; then the league has to end
      hostile     somebody steals tokens and seats, and a referee does not let go
      seats       as chaos, with players that fetch their calls from the manager
      standby     two managers share a database; they, it and the ways to it fail
      formats     as chaos, in any format, often where a round or a stage ends

    league simulate
    league simulate --mode exhaustive --seeds 5000
    league simulate --mode chaos --seed 291 --trace
    """
    if trace:
        _trace(mode, seed or 0, as_json)
        return
    number = seeds or (SEEDS if seed is None else 1)
    first, began = seed or 0, time.perf_counter()
    reports = []
    processes = modes.processes_for(number, jobs)
    workers = modes.simulate_all(mode, range(first, first + number), processes)
    with workers as leagues, bar("leagues") as shown:
        task = shown.add_task(mode.capitalize(), total=number)
        for each in leagues:
            reports.append(each)
            shown.advance(task)
    summary = _summary(mode, reports, time.perf_counter() - began)
    if as_json:
        print_json(summary)
    else:
        _print(summary)
    if summary["violations"]:
        raise click.exceptions.Exit(1)


def _trace(mode: str, seed: int, as_json: bool) -> None:
    league, violation = modes.attempt(MODES[mode](seed))
    faults = [_line(at, what) for at, what in league.observer.incidents]
    messages = [_message(each) for each in league.observer.deliveries]
    lines = sorted([*faults, *messages], key=itemgetter("at"))
    if as_json:
        trace = {"mode": mode, "seed": seed, "violation": violation, "lines": lines}
        print_json({**trace, "trace": league.observer.trace})
    else:
        print(*map(_sentence, lines), sep="\n")
        ended = violation or "everything held"
        print(f"{mode}, seed {seed}: {league.seconds:.1f} virtual seconds, {ended}")
    if violation:
        raise click.exceptions.Exit(1)


def _summary(mode: str, reports: list[modes.SeedReport], seconds: float) -> dict[str, Any]:
    again, first = f"league simulate --mode {mode} --seed", reports[0].seed
    failures = [
        {"seed": each.seed, "violation": each.violation, "command": f"{again} {each.seed} --trace"}
        for each in reports
        if each.violation
    ]
    over_all = modes.never_drawn(reports)
    if over_all:
        command = f"{again} {first} --seeds {len(reports)}"
        failures.append({"seed": first, "violation": over_all, "command": command})
    return {
        "mode": mode,
        "leagues": len(reports),
        "virtual_hours": round(sum(each.seconds for each in reports) / 3600, 2),
        "violations": len(failures),
        "leagues_per_second": round(len(reports) / max(seconds, 1e-9), 1),
        "messages": sum(each.messages for each in reports),
        "failures": failures,
    }


def _print(summary: dict[str, Any]) -> None:
    for failure in summary["failures"]:
        print(f"Seed {failure['seed']}: {failure['violation']}\n  see it: {failure['command']}")
    print(
        f"{counted(summary['leagues'], 'league')}, {summary['virtual_hours']:,} virtual hours, "
        f"{counted(summary['violations'], 'violation')}, "
        f"{summary['leagues_per_second']:,} leagues per second"
    )


def _line(at: float, what: str, source: str = "", target: str = "") -> dict[str, Any]:
    """A message that arrived, or a fault, which has no source."""
    return {"at": at - BEGAN, "source": source, "target": target, "what": what}


def _sentence(line: dict[str, Any]) -> str:
    way = f"{line['source']} -> {line['target']}: " if line["source"] else "*** "
    return f"{line['at']:10.4f}  {way}{line['what']}"


def _message(delivery: Delivery) -> dict[str, Any]:
    name = WIRE_NAME[type(delivery.message)]
    content = _content(delivery.body)
    if delivery.is_answer:
        name = f"{content.get('message_type') or 'an answer'} to {name}"
    facts = [f"{key}={content[key]}" for key in SHOWN if content.get(key) not in (None, "")]
    result = content.get("game_result")
    if isinstance(result, dict):
        facts.append(f"{result.get('status')} winner={result.get('winner_player_id')}")
    what = " ".join([name, *facts])
    return _line(delivery.at, what, delivery.source, host_of(delivery.url))


def _content(body: bytes) -> dict[str, Any]:
    """The message in a request or an answer; a refusal says why."""
    try:
        envelope = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {"message_type": f"{len(body)} unreadable bytes"}
    if not isinstance(envelope, dict):
        return {}
    error = envelope.get("error")
    if isinstance(error, dict):
        return {"message_type": f"refusal ({error.get('message')})"}
    content = envelope.get("params") or envelope.get("result")
    return content if isinstance(content, dict) else {}

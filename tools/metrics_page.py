"""The reference page of the metrics, made from the table that each scrape is written from."""

from agentleague.roles.tally import SECONDS
from agentleague.runtime.metrics import METRICS, kind_of
from page_parts import GENERATED, code, page, table

ABOUT = f"""\
What `GET /metrics` of an agent says, in the text format of Prometheus. [Watch a league with
Prometheus](../how-to/monitor.md) says how to collect and show it.

Every name begins with `agentleague_`. A counter begins at 0 with each process, unless its line says
otherwise. A histogram has the buckets {", ".join(f"{each:g}" for each in SECONDS)} seconds and no
bound. No label holds a name, a token or an address, and none has a value for each player or match,
so that a league of 10,000 players has as many series as one of two. Codes are those of
[Errors](errors.md)."""


def metrics_page() -> str:
    """Every metric, by who has it."""
    blocks = ["# Metrics", GENERATED, ABOUT]
    for who, metrics in METRICS.items():
        rows = [
            (code(name), kind_of(name), code(metric.label), metric.words)
            for name, metric in metrics.items()
        ]
        blocks += [f"## {who.capitalize()}", table(("name", "type", "label", "what it is"), rows)]
    return page(*blocks)

"""Plans of few matches, and the engine that plays them in this process."""

from agentleague.cli.player_files import load_for
from agentleague.sweeps.engines import Finished
from agentleague.sweeps.leagues import Work, play_batch
from agentleague.sweeps.plan import read_plan

SMALL = """\
players = ["random", "fixed", "frequency"]
games = ["even_odd", "rock_paper_scissors"]
seeds = [5, 3]
[[formats]]
format = "round_robin"
cycles = [1, 2]
"""


def plan_of(folder, text=SMALL):
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_plan(folder / "plan.toml", load_for)


class InProcess:
    """Plays a batch when it is asked what is finished; the leagues in `deadly` end it."""

    def __init__(self, plan, slots=1, deadly=()):
        self.slots, self.work, self.deadly = slots, Work(plan, load_for), deadly
        self.waiting, self.batches = [], []

    def start(self, batch):
        self.waiting.append(batch)
        self.batches.append(batch)

    def finished(self):
        batch = self.waiting.pop()  # The last one first: the order must not matter.
        if set(batch) & set(self.deadly):
            yield Finished(batch, (), 0.0, "signal 9")
        else:
            yield Finished(batch, *play_batch(self.work, batch))

    def close(self):
        pass

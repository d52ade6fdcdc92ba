"""Managers composed of traits: python composed_managers.py PLAYERS SHAPE [SHAPE …].

leagues.py has the traits of what a manager takes in and counts. What it says, in calls and in
answers, has those of every composed agent: call, method, under, names, kind, id (wrappers.py),
lacks, nulls, stamp, place, returns, http (composed_agent.py).
"""

import sys
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign import leagues, wrappers
from foreign.composed_agent import Agent


class Manager(leagues.ForeignManager):
    """A manager that speaks as nobody thought of."""

    role, id, token = "league_manager", "LM01", None
    listed, enveloped, wrap = Agent.listed, Agent.enveloped, Agent.wrap

    @property
    def has_tools(self):
        return self.trait("form") == "mcp"

    def tell(self, url, name, fields):
        kind = name.upper()
        message = self.enveloped(kind, fields)
        return wrappers.content_of(self.send(url, wrappers.request(self.traits, kind, message)))


if __name__ == "__main__":
    leagues.main(*sys.argv[1:], cls=Manager)

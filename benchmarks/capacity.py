"""How long a round takes when players think: real roles in virtual time, so no machine is needed.

`python benchmarks/capacity.py --players 2000 --referees 10 --think 5`. It counts waiting alone: the
network takes 0.5 to 10 ms a message, the disk 2 ms a commit, and no work takes any processor time.
"""

import argparse
import json
from resource import RUSAGE_SELF, getrusage

from agentleague.simulation.agents import Agents
from agentleague.simulation.league import SimulatedLeague

SECONDS_MAX = 1e7  # virtual


def measure(
    players: int, referees: int, think: float, at_once: int, rounds: int
) -> dict[str, float]:
    """Play some rounds; virtual seconds of one, and what the simulation itself took."""
    agents = Agents(think_seconds=(think, think), capacity=at_once)
    settings = {"move_seconds": max(30.0, 2 * think)}
    league = SimulatedLeague(players, referees, settings=settings, agents=agents)
    league.run_until(lambda: league.manager.league.round_id == 1, SECONDS_MAX)
    began = league.seconds
    league.run_until(lambda: league.manager.league.rounds_ended == rounds, SECONDS_MAX)
    used = getrusage(RUSAGE_SELF)
    manager = league.manager.league
    return {
        "players": players,
        "referees": referees,
        "think_seconds": think,
        "at_once": at_once,
        "round_seconds": round((league.seconds - began) / rounds, 1),
        "forfeits": sum(row.technical_losses for row in manager.table.rows()),
        "real_cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[2])
    parser.add_argument("--players", type=int, default=100)
    parser.add_argument("--referees", type=int, default=10)
    parser.add_argument("--think", type=float, default=5.0, help="seconds for a move")
    parser.add_argument("--at-once", type=int, default=64, help="max_concurrent_matches")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    found = measure(given.players, given.referees, given.think, given.at_once, given.rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

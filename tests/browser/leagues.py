"""Leagues to look at: played in virtual time, written to disk, and shown by a real dashboard."""

from contextlib import contextmanager

from agentleague.games import even_odd, tic_tac_toe
from agentleague.league.events import Disputed, MatchRuled, read_event
from agentleague.player import strategies
from agentleague.storage.sqlite import SqliteJournal
from commands import BIN, SECONDS, free_port, popen, read_until
from memory_league import BEGAN, MemoryLeague

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(1)</script>"
LEAGUE_ID = "league_test"


def breaks():
    """A strategy that is illegal at first, with HTML, and good when it is asked again."""
    asked = []

    def choose(turn):
        asked.append(turn)
        return "<b>neither</b>" if len(asked) % 2 else "even"

    return choose


def with_faults():
    """Even/odd with names that are HTML, a player that errs, one that is silent, and disputes."""
    league = MemoryLeague(4, 2, even_odd)
    _referees(league)
    league.add_player(name=IMAGE)
    league.add_player(breaks(), name="Breaks")
    league.add_player(strategies.fixed, name=SCRIPT)
    league.think_seconds = lambda: 10_000.0
    league.add_player(name="Silent")
    disputed = [Disputed(each, "REF02", "not its referee") for each in ("R1M1", "R2M1")]
    ruled = MatchRuled("R1M1", "no_contest", None, f"both agents {IMAGE}")
    return [*_events(league), *disputed, ruled]


def with_boards():
    """Tic-tac-toe among three."""
    league = MemoryLeague(3, 1, tic_tac_toe)
    _referees(league)
    for name, strategy in (("Ann", strategies.random), (IMAGE, strategies.perfect)):
        league.add_player(strategy, name=name)
    league.add_player(strategies.random, name=SCRIPT)
    return _events(league)


def with_many():
    """Even/odd among forty."""
    return _events(MemoryLeague(40, 2, even_odd).fill())


def _referees(league):
    for number in range(league.referees):
        league.add_referee(f"Referee {number + 1} {IMAGE}")


def _events(league):
    league.play()
    rows = league.journal.read(LEAGUE_ID)
    return [read_event(row.kind, row.version, row.body) for row in rows]


def written(directory, events):
    """A journal on disk with these events."""
    journal = SqliteJournal(directory, lambda: BEGAN, lambda call: call())
    journal.claim(LEAGUE_ID)
    journal.append(LEAGUE_ID, 0, events, lambda rows: None)
    journal.close()
    return directory


@contextmanager
def shown(directory):
    """The address of a dashboard for as long as the block lasts."""
    process = popen([BIN / "league", "dashboard", directory, "--port", free_port()])
    try:
        yield read_until(process, "See it in a browser: ").split()[-1].rstrip("/")
    finally:
        process.terminate()
        process.communicate(timeout=SECONDS)

"""The simulator is worth something only if it finds bugs: here are some, and how each is found.

A bug counts as found when at least one league of the mode breaks an invariant, and none does
without the bug (test_crashes.py).
"""

import msgspec
import pytest

from agentleague.league.court import Court
from agentleague.league.events import MatchDecided
from agentleague.match.machine import Match, Phase
from agentleague.services.host import Host
from agentleague.services.leases import Leases
from agentleague.services.rounds import Rounds
from agentleague.simulation.invariants import CALM
from simulation.crashing import (
    REFEREES_AWAY,
    a_league,
    crash,
    events_of,
    failures,
    some,
    stall,
)

MANAGER = crash("manager", restart=0.5)


def release_before_commit(monkeypatch):
    """Effects go out when they are decided, whatever is on disk by then."""

    def append(host, events):
        if events:
            journal, league_id = host._ledger
            journal.append(league_id, host._decided, events, lambda heads: None)
            host._decided = host._committed = host._decided + len(events)

    monkeypatch.setattr(Host, "_append", append)
    monkeypatch.setattr(Host, "_with_receipt", lambda host, message, seq: message)


def replay_counts_twice(monkeypatch):
    replay = Host.replay

    def twice(host, rows, read):
        rows = list(rows)
        replay(host, rows, read)
        for row in rows:
            event = read(row.kind, row.version, row.body)
            if isinstance(event, MatchDecided):
                league, result = host.role.league, event.result
                players = league.matches[event.match_id].players
                league.table.count(*players, winner=result.winner_player_id)

    monkeypatch.setattr(Host, "replay", twice)


def leases_never_expire(monkeypatch):
    monkeypatch.setattr(Leases, "expired", lambda leases, now: [])


def no_fence(monkeypatch):
    """A referee that lost its match may lock all the same."""
    lock = Court.lock

    def unfenced(court, referee_id, request):
        file = court._league.matches[request.match_id]
        now = msgspec.structs.replace(request, epoch=file.epoch)
        return lock(court, file.referee_id if referee_id in file.referees else referee_id, now)

    monkeypatch.setattr(Court, "lock", unfenced)


def reports_are_sent_once(monkeypatch):
    again = Match._again

    def never(match, error, now):
        return [] if match.phase is Phase.REPORTING else again(match, error, now)

    monkeypatch.setattr(Match, "_again", never)


def nothing_is_handed_out_after_a_restart(monkeypatch):
    monkeypatch.setattr(Rounds, "_resume_round", lambda rounds: None)


def the_end_is_told_once(monkeypatch):
    monkeypatch.setattr(Rounds, "_resume_end", lambda rounds: rounds.end())


def referees_make_numbers_up(monkeypatch):
    tell = Match._tell

    def made_up(match, now):
        locked = match._locked
        said = locked.result.game_result
        wrong = msgspec.structs.replace(said, drawn_number=11)
        result = msgspec.structs.replace(locked.result, game_result=wrong)
        match._locked = msgspec.structs.replace(locked, result=result)
        effects = tell(match, now)
        match._locked = locked
        return effects

    monkeypatch.setattr(Match, "_tell", made_up)


PLANTED = {
    # bug: (the fault that shows it, what may come of that fault, words of what is found)
    release_before_commit: (MANAGER, CALM, "none is on disk"),
    replay_counts_twice: (MANAGER, CALM, "the table differs"),
    leases_never_expire: (crash("referee1", restart=None), REFEREES_AWAY, "not over"),
    no_fence: (stall("referee1", 15.0), REFEREES_AWAY, "had lost it"),
    reports_are_sent_once: (MANAGER, CALM, "for no reason"),
    nothing_is_handed_out_after_a_restart: (MANAGER, CALM, "not over"),
    the_end_is_told_once: (MANAGER, CALM, "never told that the league is over"),
    referees_make_numbers_up: (MANAGER, CALM, "is told"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug, monkeypatch):
    fault, course, words = PLANTED[bug]
    total = events_of(a_league)
    points = [*some(10, of=total), *range(total - 20, total, 5)]  # The end is a time of its own.
    bug(monkeypatch)

    found = failures(a_league, fault, points, course)

    assert any(words in sentence for sentence in found.values()), found
    print(f"{bug.__name__}: found in {len(found)} of {len(points)} leagues")

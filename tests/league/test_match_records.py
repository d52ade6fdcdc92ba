"""A league forgets old matches where it can look them up, and answers as if it had not."""

from random import Random

import pytest

from agentleague.errors import LeagueError
from agentleague.league.events import MatchAssigned, MatchRuled, Told
from agentleague.league.league import League
from agentleague.league.match_records import MATCHES_AT_HAND, LeagueLimits
from agentleague.league.match_result import STAND
from agentleague.league.queries import answer
from agentleague.league.queries_metrics import MATCHES_MAX
from agentleague.runtime.host import JournalArchive
from agentleague.storage.memory import MemoryJournal
from league.decisions import LEAGUE_ID, Decisions

PAGE = 16


class Searched(JournalArchive):
    """An archive that notes what is looked up in it."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.searches = []

    def find(self, first, last, match_id):
        self.searches.append(match_id)
        return super().find(first, last, match_id)


class Forgetful(Decisions):
    """Decisions that also go to a second league, which forgets what it can."""

    def __init__(self, *args, at_hand=0, limits=None, **more):
        self.journal = MemoryJournal(lambda: 0.0)
        self.journal.claim(LEAGUE_ID)
        self.archive = Searched(self.journal, LEAGUE_ID, at_hand)
        self.forgetful = League(self.archive, limits=limits)
        super().__init__(*args, **more)

    def record(self, *events):
        for event in events:
            self.forgetful.apply(event)
            self.journal.append(LEAGUE_ID, len(self.events), [event], lambda heads: None)
            super().record(event)

    def next_round(self):
        self.play_round()
        self.schedule(self.league.round_id + 1)
        return self


def asked(league, query_type, asker=None, **params):
    try:
        return answer(league, query_type, params, asker)
    except LeagueError as error:
        return repr(error)


def answers(league):
    """Whatever anybody could ask about matches, agents and the table."""
    players, referees = list(league.roster.players), list(league.roster.referees)
    total = league.total_matches
    per_round = total // league.total_rounds
    matches = [
        f"R{round_id}M{number}"
        for round_id in range(league.total_rounds + 2)
        for number in range(per_round + 2)
    ]
    yield from (asked(league, "GET_MATCH", match_id=match_id) for match_id in matches)
    yield from (asked(league, "GET_SCHEDULE", offset=n) for n in range(0, total, PAGE))
    yield from (asked(league, "GET_AGENT", each, agent_id=each) for each in players + referees)
    yield from (asked(league, "GET_PLAYER_STATS", each) for each in players)
    yield from (asked(league, "GET_NEXT_MATCH", each) for each in players)
    for query_type in ("GET_STANDINGS", "GET_STATUS", "GET_AGENTS"):
        yield asked(league, query_type)


def play_at_second_attempt(decisions, match_id):
    loser, winner = decisions.league.matches[match_id].players
    decisions.record(MatchAssigned(match_id, 2, "REF02", "unreachable"))
    at = {"match_id": match_id, "referee": "REF02", "epoch": 2}
    decisions.lock([], [(loser, "left")], **at)
    decisions.report(winner, **at)


def disturb(decisions, chance):
    """Now and then an old match is disputed or ruled on."""
    old = chance.choice([*decisions.league.matches])
    if chance.random() < 0.5:
        decisions.report("nobody", match_id=old, referee=chance.choice(["REF01", "REF02"]))
    if chance.random() < 0.3:
        verdict = chance.choice(["draw", "no_contest", STAND])
        decisions.record(MatchRuled(old, verdict, None, "seen again"))


@pytest.mark.parametrize("seed", range(4))
def test_a_league_that_forgets_answers_every_question_as_one_that_does_not(seed):
    chance = Random(seed)
    decisions = Forgetful(4 + seed % 2, 2, cycles=3).start()

    for round_id in range(1, decisions.league.total_rounds):
        if chance.random() < 0.3:
            play_at_second_attempt(decisions, f"R{round_id}M1")
        decisions.play_round()
        disturb(decisions, chance)
        if round_id % 3 == 0:
            assert list(answers(decisions.forgetful)) == list(answers(decisions.league))
        decisions.schedule(round_id + 1)

    assert len(decisions.forgetful.matches) == (LeagueLimits().rounds_at_hand + 1) * 2
    assert len(decisions.league.matches) == decisions.league.round_id * 2


def played(rounds, **more):
    """After so many rounds of four players, and one that runs."""
    decisions = Forgetful(4, cycles=10, **more).start()
    for _ in range(rounds):
        decisions.next_round()
    return decisions


def test_the_running_round_and_the_last_that_ended_are_at_hand():
    decisions = played(rounds=6)

    assert list(decisions.forgetful.matches) == ["R5M1", "R5M2", "R6M1", "R6M2", "R7M1", "R7M2"]
    assert list(decisions.forgetful.byes) == [5, 6, 7]
    assert decisions.forgetful.matches["R5M1"].round_id == 5
    assert decisions.archive.searches == []


def test_as_many_matches_as_are_wanted_at_hand_are():
    decisions = played(rounds=12, at_hand=7)

    assert next(iter(decisions.forgetful.matches)) == "R9M1"


def test_without_an_archive_nothing_is_forgotten():
    league = played(rounds=6).league

    assert len(league.matches) == 14
    assert len(league.byes) == 7


def test_measures_never_need_a_match_that_is_forgotten():
    assert MATCHES_AT_HAND >= MATCHES_MAX


def test_measures_are_of_the_newest_matches_whatever_was_ruled_on_since():
    decisions = played(rounds=12, at_hand=8)
    decisions.record(MatchRuled("R1M1", "draw", None, "seen again"))

    newest = [file.match_id for file in reversed(decisions.forgetful.matches.values())]

    assert newest[:3] == ["R13M2", "R13M1", "R12M2"]
    assert "R1M1" not in newest


def test_a_match_that_is_asked_for_again_and_again_is_looked_up_once():
    decisions = played(rounds=6)

    first, second = (decisions.forgetful.matches.get("R1M2") for _ in range(2))

    assert first == decisions.league.matches["R1M2"]
    assert first is second
    assert decisions.archive.searches == ["R1M2"]


def test_of_what_was_looked_up_only_the_last_are_kept():
    decisions = played(rounds=6, limits=LeagueLimits(recalled_max=2))

    for match_id in ("R1M1", "R1M2", "R1M1", "R2M1", "R1M1", "R1M2"):
        assert decisions.forgetful.matches[match_id] == decisions.league.matches[match_id]

    assert decisions.archive.searches == ["R1M1", "R1M2", "R2M1", "R1M2"]


def test_what_is_no_match_is_not_looked_up():
    for match_id in [
        "",
        "R1M3",
        "R01M1",
        "R0M1",
        "R1M0",
        "R99M1",
        "r1m1",
        "R1M1 ",
        "R1M",
        "R\u0661M1",
        "M1",
    ]:
        decisions = played(rounds=6)

        assert decisions.forgetful.matches.get(match_id) is None
        with pytest.raises(KeyError):
            _ = decisions.forgetful.matches[match_id]
        assert decisions.archive.searches == []


def test_a_match_that_was_disputed_or_ruled_on_is_never_looked_up_again():
    decisions = played(rounds=2, limits=LeagueLimits(recalled_max=0))
    decisions.report("nobody", match_id="R1M1")
    for _ in range(4):
        decisions.next_round()
    decisions.report("nobody", match_id="R2M1")
    decisions.record(MatchRuled("R2M2", "draw", None, "seen again"))
    decisions.archive.searches.clear()

    for match_id in ("R1M1", "R2M1", "R2M2"):
        assert decisions.forgetful.matches[match_id] == decisions.league.matches[match_id]

    assert decisions.archive.searches == []
    assert decisions.forgetful.table.rows() == decisions.league.table.rows()


def test_a_move_that_is_called_like_a_match_is_not_taken_for_it():
    decisions = Forgetful(4, cycles=10).start()
    decisions.record(MatchAssigned("R1M2", 2, "REF01", "R1M1"))
    decisions.lock([], [("P03", "R1M1")], match_id="R1M2", epoch=2)
    decisions.report("P04", match_id="R1M2", epoch=2)
    for _ in range(6):
        decisions.next_round()

    assert decisions.forgetful.matches["R1M1"] == decisions.league.matches["R1M1"]


def test_what_was_told_of_old_rounds_is_forgotten():
    decisions = played(rounds=0)
    for _ in range(6):
        decisions.record(Told("announcement", decisions.league.round_id))
        decisions.next_round()

    assert decisions.league.told == {("announcement", 5), ("announcement", 6)}

"""Guessing a join code: few wrong ones are looked at, and whoever knows it still gets in."""

from agentleague.errors import RateLimited, TokenInvalid
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import LeagueRegisterRequest, PlayerMeta
from agentleague.roles.stimuli import Caller
from league.decisions import Decisions
from manager.test_registration import registration

CODE = "tipuf-sajil-gikop"
CLASS, ELSEWHERE = "10.0.0.9", "10.0.0.7"  # A class is behind one address.
LIMITS = ManagerLimits()


class Door:
    """Where a league with a join code is knocked at."""

    def __init__(self, limits=LIMITS, code=CODE):
        self.step, self.admitting = registration(Decisions(0).league, limits=limits, join_code=code)
        self.waits = []  # how long those were told to wait who were told nothing else

    def try_code(self, code, source=CLASS, now=0.0):
        """Whether it is right; None if that is not said."""
        self.step.now = now
        request = LeagueRegisterRequest(PlayerMeta("Ann", "http://10.0.0.9:9/mcp", join_code=code))
        try:
            _, answer = self.admitting.admit_player(request, Caller(source, None))
        except TokenInvalid:
            return False
        except RateLimited as error:
            self.waits.append(error.context["retry_after"])
            return None
        return answer.status == "ACCEPTED"

    def guesses(self, count, source=CLASS, now=0.0):
        """What came of so many wrong codes."""
        return [self.try_code(f"guess-{number}", source, now) for number in range(count)]


def test_a_class_may_mistype_its_code():
    assert Door().guesses(40) == [False] * 40


def test_after_so_many_wrong_codes_of_a_source_one_a_second_is_answered():
    door = Door()

    assert door.guesses(LIMITS.guesses + 5) == [False] * LIMITS.guesses + [None] * 5
    assert door.guesses(5, now=1.0) == [False, None, None, None, None]
    assert door.guesses(5, now=4.5) == [False, False, False, None, None]
    assert set(door.waits) == {1}


def test_whoever_knows_a_good_code_gets_in_whatever_else_came_from_that_address():
    door = Door()
    door.guesses(100_000)

    assert door.try_code(CODE) is True


def test_with_a_code_that_can_be_guessed_none_is_looked_at_when_the_budget_is_spent():
    """It would fall in minutes; only a league that began before has one."""
    door = Door(code="4711")

    assert door.try_code("4711") is True
    door.guesses(LIMITS.guesses)
    assert door.try_code("4711") is None
    assert door.try_code("4711", ELSEWHERE) is True
    assert [door.try_code("4711", now=1.0) for _ in range(3)] == [True] * 3  # It costs nothing.
    tried = [door.try_code(f"{code:04}", now=1.0 + code / 500) for code in range(10_000)]
    assert len(tried) - tried.count(None) <= 21  # of ten thousand in twenty seconds


def test_wrong_codes_elsewhere_hold_back_nobody_who_never_guessed():
    door = Door()
    for number in range(2 * LIMITS.guesses_in_all):
        door.guesses(1, f"10.1.{number // 250}.{number % 250}")

    assert door.try_code("guess", "10.1.0.0") is None  # In all there were enough.
    assert door.try_code("guess", ELSEWHERE) is False
    assert door.try_code("guess", ELSEWHERE) is None
    assert door.try_code(CODE) is True


def test_one_machine_guesses_no_more_from_all_its_addresses():
    door = Door()
    looked_at = [door.guesses(1, f"fd00::{number:x}")[0] for number in range(LIMITS.guesses + 5)]

    assert looked_at == [False] * LIMITS.guesses + [None] * 5


def test_an_address_that_cannot_be_read_is_one_source_too():
    door = Door()

    assert door.guesses(LIMITS.guesses + 1, "a-name")[-1] is None


def test_the_organiser_is_told_of_the_first_then_of_ten_times_as_many():
    door = Door()
    for second in range(1000):
        door.guesses(2, now=float(second))

    first, second = door.step.news
    assert first.startswith(f"{LIMITS.guesses} wrong join codes came from {CLASS}. Somebody may be")
    assert "another join_code" in first
    assert second.startswith("600 wrong join codes came from")


def test_the_organiser_is_told_of_many_sources_that_guess_a_little():
    door = Door()
    for number in range(LIMITS.guesses_in_all):
        door.guesses(1, f"10.1.{number // 250}.{number % 250}")

    (said,) = door.step.news
    assert said.startswith("600 wrong join codes came in all.")


def test_only_so_many_sources_are_remembered():
    door = Door(ManagerLimits(guessers_max=3, guesses=1))
    for number in range(4):
        assert door.guesses(1, f"10.1.0.{number}") == [False]

    assert door.try_code("guess", "10.1.0.1") is None
    assert door.try_code("guess", "10.1.0.0") is False  # The first one is forgotten.

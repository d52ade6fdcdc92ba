"""Our referee at a manager that gives no matches out: it asks for them."""

from agentleague.errors import MissingField, NoAnswer, NoConnection, PeerRefused
from agentleague.protocol.messages import (
    GameInvitation,
    LeagueQuery,
    LeagueQueryResponse,
    MatchResultAck,
    MatchResultReport,
    RoundMatch,
    StartMatch,
)
from agentleague.referee.manager_queries import POLLS, PollKey, PollSeconds
from agentleague.roles.stimuli import Answered, Woken
from referee.visit import ANN, BOB, NOW, START, Visit
from rules import rule
from tables import each_row

UNKNOWN = PeerRefused("no such method", number=-32601, code=None, data={})
PLAYERS = {"player_a": "P01", "player_b": "P02", "player_a_url": ANN, "player_b_url": BOB}
ROW = {"match_id": "R2M1", "round_id": 2, **PLAYERS}
SECONDS = PollSeconds()


def rings(visit):
    """Its timer rings: what it asks the manager then."""
    visit.do(Woken(PollKey()), visit.woken.pop(PollKey()))
    return [
        call.message.query_type for call in visit.calls if isinstance(call.message, LeagueQuery)
    ]


def answers(visit, data=None, error=None):
    """The manager answers, and says when it is asked again, if it is."""
    (call,) = visit.take(LeagueQuery)
    message = None if error else LeagueQueryResponse(data=data)
    visit.do(Answered(call.key, message, error, 0.1))
    return visit.woken.get(PollKey(), NOW) - NOW


def begun(visit):
    return {call.message.match_id for call in visit.take(GameInvitation)}


@rule("R-GUEST-07")
def test_matches_that_nobody_gives_out_are_asked_for_and_played():
    visit = Visit()
    assert visit.woken[PollKey()] == NOW + SECONDS.quiet
    assert rings(visit) == [POLLS[0]]

    assert answers(visit, {"matches": [ROW]}) == SECONDS.each

    (invitation, _) = visit.take(GameInvitation)
    assert (invitation.message.match_id, invitation.message.round_id) == ("R2M1", 2)
    assert visit.news()[-2:] == [
        "No match was given to it for 5 s: it asks the manager for matches, with "
        "GET_ASSIGNED_MATCHES, GET_NEXT_MATCH, GET_MATCHES.",
        "The manager answers GET_ASSIGNED_MATCHES, and is asked every 2 s.",
    ]


@rule("R-GUEST-07")
def test_it_asks_in_other_words_and_stays_with_those_that_are_answered():
    visit = Visit()
    rings(visit)
    answers(visit, error=UNKNOWN)
    assert answers(visit, {"match": None}) == SECONDS.each

    assert rings(visit) == ["GET_NEXT_MATCH"]
    assert answers(visit, error=UNKNOWN) == SECONDS.each  # It is only out of order.
    assert rings(visit) == ["GET_NEXT_MATCH"]


@rule("R-GUEST-07")
@each_row(
    "said",
    [UNKNOWN, NoConnection("?", status=500), MissingField("?"), {"status": "ok"}, {"players": []}],
)
def test_a_manager_that_is_not_asked_for_matches_is_asked_rarely(said):
    visit = Visit()
    for _ in range(2):
        rings(visit)
        for _ in POLLS:
            is_error = isinstance(said, Exception)
            again = answers(visit, None if is_error else said, said if is_error else None)
        assert again == SECONDS.again

    sentence = "The manager knows none of them; it may still give matches out."
    assert visit.news().count(sentence) == 1


@each_row("error", [NoAnswer("late"), NoConnection("nobody there")])
def test_a_manager_that_is_away_has_said_nothing(error):
    visit = Visit()
    rings(visit)

    assert answers(visit, error=error) == SECONDS.quiet
    assert rings(visit) == [POLLS[0]]


@rule("R-GUEST-07")
def test_a_manager_that_gives_matches_out_is_not_asked_for_them():
    visit = Visit()
    visit.ask(START)
    visit.play()

    assert rings(visit) == []
    assert PollKey() not in visit.woken


@rule("R-GUEST-07")
def test_nothing_is_asked_for_while_matches_run_and_none_is_begun_twice():
    visit = Visit()
    rings(visit)
    answers(visit, {"assigned": [ROW]})
    assert rings(visit) == []
    visit.play(report=False).answer(MatchResultReport, MatchResultAck())

    assert rings(visit) == [POLLS[0]]
    answers(visit, {"assigned": [ROW, {**ROW, "match_id": "R2M2"}]})
    assert begun(visit) == {"R2M2"}


@rule("R-GUEST-07")
def test_of_the_matches_of_all_referees_it_takes_its_own():
    visit = Visit()
    rings(visit)
    answers(visit, error=UNKNOWN)
    answers(visit, error=UNKNOWN)
    whose = {"A": "REF07", "B": "REF08", "C": None}
    rows = [{**ROW, "match_id": name, "referee_id": who} for name, who in whose.items()]

    answers(visit, {"matches": [*rows, {**rows[0], "match_id": "D", "status": "COMPLETED"}]})

    assert begun(visit) == {"A"}


def test_a_match_whose_players_nobody_knows_is_given_up_once():
    visit = Visit()
    row = {"match_id": "R2M1", "players": ["P01", "P02"]}
    rings(visit)
    answers(visit, {"matches": [row]})
    visit.nobody_says()
    said = len(visit.news())

    rings(visit)
    answers(visit, {"matches": [row]})

    assert len(visit.news()) == said
    assert visit.calls == []


def test_a_match_that_was_given_up_may_still_be_started():
    visit = Visit()
    visit.ask(StartMatch([RoundMatch("M1", "", "P01", "P02")]))
    visit.nobody_says()

    visit.ask(START)

    assert begun(visit) == {"M1"}

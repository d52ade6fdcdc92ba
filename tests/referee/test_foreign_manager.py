"""Our referee at a foreign manager, which locks nothing and starts matches in its own way."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import (
    InternalError,
    MatchMismatch,
    MissingField,
    NoConnection,
    RateLimited,
    TokenInvalid,
    UnexpectedMessage,
    UnsupportedGame,
)
from agentleague.games import even_odd
from agentleague.match.machine import Clock
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameInvitation,
    GameJoinAck,
    GameMoveCall,
    GameMoveResponse,
    GameOver,
    LeagueCompleted,
    LeagueCompletedAck,
    LeagueErrorMessage,
    LeagueQuery,
    LeagueQueryResponse,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    RefereeRegisterResponse,
    RoundAnnouncement,
    RoundMatch,
    StartMatch,
    StartMatchResponse,
)
from agentleague.referee.foreign_manager import OUR_FIELDS, RefereeLimits, StartReplyTimer
from agentleague.referee.role import NOT_NEEDED, OWN_DRAWS
from agentleague.roles.agent import RegisterKey
from agentleague.roles.stimuli import Answered, Caller, Woken
from games.throwaway import THREE_DRAWS
from referee.visit import ANN, BOB, MATCH, NOW, START, Visit, refused, status
from rules import rule
from tables import each_row


def query_answer(data):
    return LeagueQueryResponse(data=data)


@rule("R-GUEST-02")
def test_a_manager_that_gives_no_session_is_foreign():
    assert OWN_DRAWS in Visit().news()


@rule("R-GUEST-01", "R-GUEST-02")
def test_a_match_that_is_started_is_played_decided_told_answered_and_reported():
    visit = Visit()
    asked = visit.ask(START)
    invitations = [call.message for call in visit.calls]
    visit.play(report=False)
    (report,) = [call.message for call in visit.take(MatchResultReport)]

    assert [each.player_id for each in invitations] == ["P01", "P02"]
    assert {(each.league_id, each.round_id) for each in invitations} == {("league_there", 4)}
    assert all(each.auth_token.startswith("mtok_") for each in invitations)
    assert LockRequest not in visit.order
    assert visit.order[-4:] == [GameOver, GameOver, StartMatchResponse, MatchResultReport]
    answer = visit.replies[asked]
    assert (answer.status, answer.match_id, answer.result) == ("COMPLETED", "M1", report.result)
    assert report.result.score == {"P01": 1, "P02": 1}
    assert (report.auth_token, report.round_id) == ("tok_there", 4)
    assert {report.epoch, report.transcript, report.silences} == {UNSET}
    assert {"wrong_tokens", "dialects", "transcript_left_out"} < set(OUR_FIELDS)
    assert not {"match_id", "result", "auth_token", "sender"} & set(OUR_FIELDS)


def test_each_match_that_it_played_is_said():
    visit = Visit()
    visit.ask(START)

    visit.play()

    assert visit.news()[-1] == "M1: P01 against P02, nobody won."


@rule("R-GUEST-02")
def test_the_winner_gets_three_points_and_a_player_that_fails_none():
    visit = Visit()
    visit.ask(START)
    ann, bob = visit.take(GameInvitation)
    visit.do(Answered(ann.key, GameJoinAck(), None, 0.1))
    visit.do(Answered(bob.key, GameJoinAck(accept=False), None, 0.1))
    visit.answer(GameOver)

    result = visit.take(MatchResultReport)[0].message.result

    assert (result.winner, result.score) == ("P01", {"P01": 3, "P02": 0})
    assert result.details.status == "TECHNICAL_LOSS"


@rule("R-GUEST-02")
def test_numbers_follow_from_the_referees_own_chance():
    def drawn(secret, times):
        visit, found = Visit(secret), []
        for number in range(times):
            visit.ask(StartMatch([MATCH], round_id=number + 1))
            visit.play(report=False)
            report = visit.take(MatchResultReport)[0]
            found.append(report.message.result.details.drawn_number)
            visit.do(Answered(report.key, MatchResultAck(), None, 0.1))
        return found

    assert drawn(b"a", 9) == drawn(b"a", 9) != drawn(b"b", 9)
    assert len(set(drawn(b"a", 9))) > 1  # A match of the same name is drawn anew.


def test_a_game_that_draws_again_and_again_is_played_to_its_end():
    visit = Visit(load=lambda name: THREE_DRAWS)
    visit.ask(START)
    visit.answer(GameInvitation, GameJoinAck())

    for _ in range(3):
        visit.answer(GameMoveCall, GameMoveResponse(3))
    visit.answer(GameOver)

    (report,) = visit.take(MatchResultReport)
    assert report.message.result.details.status == "DRAW"
    assert 1 <= report.message.result.details.drawn_number <= 6


@rule("R-GUEST-01")
def test_a_manager_that_starts_a_match_that_takes_long_is_told_that_it_runs():
    visit = Visit()
    asked = visit.ask(START)
    assert visit.woken[StartReplyTimer("M1")] == NOW + RefereeLimits.start_reply_seconds

    visit.do(Woken(StartReplyTimer("M1")))

    assert visit.replies[asked].status == "ACCEPTED"
    visit.play()
    assert len(visit.replies) == 1


@rule("R-GUEST-01")
def test_a_manager_that_calls_run_match_waits_for_its_end():
    visit = Visit()

    visit.ask(START, Caller("127.0.0.1", rpc_method="run_match"))

    assert StartReplyTimer("M1") not in visit.woken


@rule("R-GUEST-01")
def test_a_match_is_begun_once_however_often_it_is_started():
    visit = Visit()
    first, second = visit.ask(START), visit.ask(START)
    assert len(visit.take(GameInvitation)) == 2

    visit = Visit()
    first, second = visit.ask(START), visit.ask(START)
    visit.play()
    third = visit.ask(START)

    answers = [visit.replies[number].result for number in (first, second, third)]
    assert answers[0] == answers[1] == answers[2] is not UNSET
    assert visit.order.count(MatchResultReport) == 1


@rule("R-GUEST-01")
def test_a_round_that_is_announced_starts_the_matches_of_this_referee():
    visit = Visit()
    whose = [
        {"referee_endpoint": "http://localhost:7/mcp"},
        {"referee_endpoint": "http://127.0.0.1:8/mcp"},
        {"referee_id": "REF07"},
        {"referee_id": "REF08"},
        {},
    ]
    rows = [replace(MATCH, match_id=f"M{n}", **each) for n, each in enumerate(whose)]
    rows.append(RoundMatch("M5", player_A_id="P01"))  # A bye.

    asked = visit.ask(RoundAnnouncement(round_id=2, matches=rows))

    begun = {call.message.match_id for call in visit.take(GameInvitation)}
    assert begun == {"M0", "M2", "M4"}
    assert visit.replies[asked].round_id == 2


def test_a_round_that_is_announced_again_begins_nothing_again():
    visit = Visit()
    round_two = RoundAnnouncement(round_id=2, matches=[MATCH])
    visit.ask(round_two)
    visit.play()

    visit.ask(round_two)

    assert visit.take(GameInvitation) == []


def test_several_matches_are_acknowledged_at_once():
    visit = Visit()
    other = RoundMatch("M2", "", "P03", "P04", player_A_endpoint=ANN, player_B_endpoint=BOB)

    asked = visit.ask(StartMatch([MATCH, other]))

    assert visit.replies[asked].status == "ACCEPTED"
    assert len(visit.take(GameInvitation)) == 4


@rule("R-GUEST-02")
def test_where_players_are_is_asked_for_if_nobody_said_it():
    visit = Visit()
    asked = visit.ask(StartMatch([RoundMatch("M1", "", "P01", "P02")]))
    ann, bob = visit.take(LeagueQuery)
    assert (ann.message.query_type, ann.message.auth_token) == ("GET_PLAYER_STATS", "tok_there")

    visit.do(Answered(ann.key, query_answer({"player": {"endpoint": ANN}}), None, 0.1))
    assert visit.calls == []
    visit.do(Answered(bob.key, None, refused(6003), 0.1))
    visit.answer(LeagueQuery, query_answer({"agents": [{"agent_id": "P02", "endpoint": BOB}]}))

    assert [call.to.url for call in visit.take(GameInvitation)] == [ANN, BOB]
    assert asked not in visit.replies


@rule("R-GUEST-02")
def test_a_match_whose_players_nobody_knows_is_refused_with_what_to_send():
    visit = Visit()
    asked = visit.ask(StartMatch([RoundMatch("M1", "", "P01", "P02")]))

    visit.nobody_says()

    assert isinstance(visit.replies[asked], MissingField)
    assert "player_A_endpoint" in str(visit.replies[asked])
    assert any("nobody says where to call P01 and P02;" in sentence for sentence in visit.news())
    assert "--player P01=URL --player P02=URL" in str(visit.replies[asked])
    visit.ask(START)  # With what was missing it is played.
    assert len(visit.take(GameInvitation)) == 2


@rule("R-GUEST-08")
@each_row(
    ("manager", "player_id", "url"),
    [
        ("http://127.0.0.1:8000/mcp", "P01", "http://127.0.0.1:8101/mcp"),
        ("http://10.0.0.7/mcp", "P12", "http://10.0.0.7:8112/mcp"),
        ("https://[::1]:8000/mcp", "player-3", "http://[::1]:8103/mcp"),
        ("http://127.0.0.1:8000/mcp", "P00", ""),
        ("http://127.0.0.1:8000/mcp", "P100", ""),
        ("http://127.0.0.1:8000/mcp", "Ann", ""),
        # Nor does an id lead to another host, another port or another path.
        ("http://127.0.0.1:8000/mcp", "P01@10.0.0.9", ""),
        ("http://127.0.0.1:8000/mcp", "P01:22/admin", ""),
        ("http://127.0.0.1:8000/mcp", "P-8078", ""),
        ("http:///mcp", "P01", ""),
    ],
)
def test_a_player_of_whom_nobody_says_where_it_is_may_be_where_the_documents_put_it(
    manager, player_id, url
):
    visit = Visit(manager_url=manager)
    visit.ask(StartMatch([RoundMatch("M1", "", player_id, "Bob")]), Caller("::1", "tok_there"))

    assert visit.nobody_says(is_there=True) == ([(player_id, url)] if url else [])
    assert any(f"listens at {url}, the port of" in each for each in visit.news()) == bool(url)
    assert any("M1 cannot be played: nobody says where" in each for each in visit.news())


@rule("R-GUEST-08")
def test_a_match_is_played_where_its_players_are_found():
    visit = Visit()
    asked = visit.ask(StartMatch([RoundMatch("M1", "", "P01", "P02")]))

    visit.nobody_says(is_there=True)

    urls = [call.to.url for call in visit.take(GameInvitation)]
    assert urls == ["http://127.0.0.1:8101/mcp", "http://127.0.0.1:8102/mcp"]
    assert asked not in visit.replies


@rule("R-GUEST-08")
def test_where_players_are_may_be_given_and_then_counts_first():
    visit = Visit(player_endpoints={"P01": BOB, "P02": ANN})

    visit.ask(StartMatch([RoundMatch("M1", "", "P01", "P02")]))
    visit.ask(START)

    assert [call.to.url for call in visit.take(GameInvitation)] == [BOB, ANN]
    assert f"As --player says, it calls P01 at {BOB}, P02 at {ANN}." in visit.news()


@rule("R-GUEST-08")
def test_a_manager_of_ours_says_itself_where_players_are():
    visit = Visit(registers=False, player_endpoints={"P01": ANN})
    ours = RefereeRegisterResponse("ACCEPTED", "REF01", session="ses_1", auth_token="tok")

    visit.do(Answered(RegisterKey(), ours, None, 0.1))

    assert visit.news()[-1] == NOT_NEEDED


def test_a_round_whose_players_nobody_knows_is_said_aloud():
    visit = Visit()
    visit.ask(RoundAnnouncement(round_id=1, matches=[RoundMatch("M1", "", "P01", "P02")]))

    visit.nobody_says()

    assert any("nobody says where" in sentence for sentence in visit.news())


@rule("R-GUEST-01")
@pytest.mark.parametrize(
    ("manager", "caller", "is_taken"),
    [
        ("http://127.0.0.1:8000/mcp", Caller("::1"), True),
        ("http://127.0.0.1:8000/mcp", Caller("10.0.0.9"), False),
        ("http://10.0.0.1:8000/mcp", Caller("10.0.0.1"), True),
        ("http://10.0.0.1:8000/mcp", Caller("10.0.0.9"), False),
        ("http://10.0.0.1:8000/mcp", Caller("10.0.0.9", "tok_there"), True),
        ("http://10.0.0.1:8000/mcp", Caller("10.0.0.9", "tok_other"), False),
        ("http://league.example:8000/mcp", Caller("10.0.0.9"), True),  # Who knows?
    ],
)
def test_nobody_but_the_manager_starts_matches(manager, caller, is_taken):
    visit = Visit(manager_url=manager)

    asked = visit.ask(START, caller)

    assert isinstance(visit.replies.get(asked), TokenInvalid) != is_taken
    assert bool(visit.take(GameInvitation)) == is_taken
    assert not any("refused" in sentence for sentence in visit.news())  # No stranger is told of.


def test_nobody_but_the_manager_ends_the_league():
    visit = Visit()

    assert visit.refused(LeagueCompleted(), Caller("10.0.0.9")) is TokenInvalid
    assert visit.refused(LeagueErrorMessage(), Caller("10.0.0.9")) is TokenInvalid
    assert isinstance(visit.replies[visit.ask(LeagueCompleted())], LeagueCompletedAck)


def test_what_cannot_be_run_is_refused_and_changes_nothing():
    visit = Visit(limits=RefereeLimits(waiting_matches=3))
    visit.ask(START)
    others = RoundMatch("M1", "", "P03", "P04", player_A_endpoint=ANN, player_B_endpoint=BOB)
    many = [RoundMatch(f"X{number}", "", "P05", "P06") for number in range(4)]

    assert visit.refused(StartMatch([others])) is MatchMismatch
    assert visit.refused(StartMatch([RoundMatch("M2", "", "P03")])) is MissingField
    assert visit.refused(StartMatch(many)) is RateLimited
    assert visit.news()[-3:] == [
        "A start of the manager was refused: M1 is played by P01 and P02.",
        "A start of the manager was refused: match 'M2' lacks the ids of its players.",
        "A start of the manager was refused: this referee has matches enough; give it some of them "
        "later.",
    ]
    assert len(visit.take(GameInvitation)) == 2
    assert visit.calls == []


def test_a_game_that_is_not_there_is_refused():
    def load(name):
        raise UnsupportedGame(f"no {name}")

    assert Visit(load=load).refused(START) is UnsupportedGame


def test_matches_that_are_too_many_at_once_wait_for_a_place():
    visit = Visit(max_concurrent_matches=1)
    second = RoundMatch("M2", "", "P03", "P04", player_A_endpoint=ANN, player_B_endpoint=BOB)
    visit.ask(StartMatch([MATCH, second]))
    visit.ask(StartMatch([MATCH, second]))
    assert {call.message.match_id for call in visit.calls} == {"M1"}

    visit.play()

    assert {call.message.match_id for call in visit.calls} == {"M2"}


def test_results_are_not_remembered_for_ever():
    visit = Visit(limits=RefereeLimits(ended_matches=1))
    for round_id in (1, 2, 1):
        visit.ask(StartMatch([MATCH], round_id=round_id))
        visit.play()

    assert visit.order.count(MatchResultReport) == 3


def test_a_report_may_be_answered_after_its_result_was_forgotten():
    visit = Visit(limits=RefereeLimits(ended_matches=0))
    visit.ask(START)

    visit.play()

    assert visit.role.matches == {}


def test_a_match_that_is_started_before_the_registration_is_answered_waits_for_that():
    visit = Visit(registers=False)
    visit.ask(START)
    announced = visit.ask(RoundAnnouncement(round_id=1, matches=[]))
    assert (visit.replies, visit.take(GameInvitation)) == ({}, [])

    visit.register()

    assert len(visit.take(GameInvitation)) == 2
    assert visit.replies[announced].round_id == 1


def test_a_referee_without_a_chance_of_its_own_draws_for_nobody():
    visit = Visit(secret=b"")

    assert visit.refused(START) is UnexpectedMessage
    assert visit.refused(RoundAnnouncement(matches=[MATCH])) is TokenInvalid


@rule("R-GUEST-03")
@pytest.mark.parametrize(
    "error",
    [
        refused(-32601),
        status(404),
    ],
)
def test_a_report_that_is_understood_in_no_form_is_said_aloud_unless_the_answer_said_it(error):
    visit = Visit()
    visit.ask(START)
    visit.do(Woken(StartReplyTimer("M1")))
    visit.play(report=False).answer(MatchResultReport, None, error)

    assert any("M1: its report was not taken" in sentence for sentence in visit.news())
    assert visit.role.matches == {}

    visit = Visit()
    visit.ask(START)
    visit.play(report=False).answer(MatchResultReport, None, error)
    assert not any("its report" in sentence for sentence in visit.news())
    assert visit.role.matches == {}


def test_what_was_tried_for_a_report_is_said():
    visit = Visit()
    visit.ask(RoundAnnouncement(matches=[MATCH]))
    error = refused(-32601)
    error.context["tried"] = "tried tool (error -32601)"

    visit.play(report=False).answer(MatchResultReport, None, error)

    assert any("tried tool (error -32601)" in sentence for sentence in visit.news())


@pytest.mark.parametrize("status", ["REJECTED", "Refused", "INVALID"])
def test_a_report_that_was_answered_with_a_refusal_is_said_aloud(status):
    visit = Visit()
    visit.ask(START)

    visit.play(report=False)
    for _ in range(3):  # It is a draw, which can be told in three ways.
        visit.answer(MatchResultReport, MatchResultAck(status))

    said = f"answered its report: {status.upper()}."
    assert any(said in sentence for sentence in visit.news())


def test_a_manager_that_is_away_is_asked_again():
    visit = Visit()
    visit.ask(START)
    visit.play(report=False).answer(MatchResultReport, None, NoConnection("nobody there"))

    assert list(visit.role.matches) == ["M1"]
    visit.do(Woken(Clock("M1")), visit.woken[Clock("M1")])
    assert len(visit.take(MatchResultReport)) == 1


def test_a_bug_in_a_game_is_answered_as_one():
    class Broken:
        name, seats, start = even_odd.name, even_odd.seats, even_odd.start
        to_move, legal_moves, check = even_odd.to_move, even_odd.legal_moves, even_odd.check
        chance, outcome = even_odd.chance, even_odd.outcome

        @staticmethod
        def play(state, moves, number):
            raise RuntimeError("oops")

    visit = Visit(load=lambda name: Broken)
    asked = visit.ask(START)

    visit.play(report=False)

    assert isinstance(visit.replies[asked], InternalError)
    assert "oops" in str(visit.replies[asked])


def test_a_game_that_cannot_begin_is_answered_as_a_bug():
    class Broken:
        name = "even_odd"

        @staticmethod
        def start(options):
            raise RuntimeError("oops")

    visit = Visit(load=lambda name: Broken)

    assert visit.refused(START) is InternalError


@rule("R-GUEST-02")
def test_a_pushed_answer_counts_by_its_address_since_nobody_told_any_tokens():
    visit = Visit()
    visit.ask(START)
    visit.answer(GameInvitation, None, MissingField("nothing in it"))

    for player_id in ("P01", "P02"):
        visit.ask(GameJoinAck("M1", player_id, auth_token=f"tok_of_{player_id}"))

    assert len(visit.take(ChooseParityCall)) == 2

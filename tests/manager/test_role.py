"""The manager as a role: what it answers, records and sends."""

from functools import partial

import msgspec
import pytest
from msgspec.structs import replace

from agentleague.errors import (
    AlreadyComplete,
    InternalError,
    MatchMismatch,
    NoAnswer,
    TokenInvalid,
    TokenMissing,
    UnknownLeague,
    UnsupportedGame,
)
from agentleague.games import even_odd
from agentleague.league.events import Disputed
from agentleague.manager.keys import OutboxCall, StartCall
from agentleague.manager.role import Manager
from agentleague.manager.step import ManagerLimits
from agentleague.protocol import tokens
from agentleague.protocol.messages import (
    GameOver,
    LeagueCompleted,
    LeagueQuery,
    LeagueRegisterRequest,
    LeagueStandingsUpdate,
    LockRequest,
    MatchResultReport,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeStatus,
    ReportedResult,
    RoundAnnouncement,
    RoundCompleted,
)
from agentleague.records.match_story import in_words
from agentleague.roles.effects import Address, Call, Record, Reply
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from memory_league import BEGAN, SECRETS, MemoryLeague
from rules import rule


def a_manager(**settings):
    terms = {"league_id": "league_test", "players": 2, **settings}
    manager = Manager(ManagerSettings(**terms), SECRETS, even_odd)
    manager.handle(Started(0.0), BEGAN)
    return manager


def ask(manager, message, token=None, missing=()):
    caller = Caller("127.0.0.1", token, "jsonrpc", missing)
    effects = manager.handle(Asked(message, caller, 1), BEGAN)
    answer = next(effect.answer for effect in effects if isinstance(effect, Reply))
    return answer, effects


def player(name="Ann", **meta):
    return LeagueRegisterRequest(
        PlayerMeta(name, f"http://127.0.0.1/{name}", "1.0.0", **meta), conversation_id="conv-1"
    )


def referee(name="Ref", **meta):
    return RefereeRegisterRequest(RefereeMeta(name, "http://127.0.0.1/ref", locks=True, **meta))


def test_a_player_is_given_an_id_a_token_and_the_league():
    answer, effects = ask(a_manager(), player())

    assert (answer.status, answer.player_id, answer.league_id) == ("ACCEPTED", "P01", "league_test")
    assert answer.auth_token.startswith("tok_P01_")
    assert answer.sender == "league_manager"
    assert answer.timestamp == "2023-11-14T22:13:20Z"
    assert answer.conversation_id == "conv-1"
    assert [type(effect) for effect in effects] == [Record, Reply]


def test_what_a_registration_lacked_is_named_in_the_answer():
    answer, _ = ask(a_manager(), player(), missing=("sender", "timestamp"))

    assert answer.warnings == ["sender was missing", "timestamp was missing"]


def test_a_refused_registration_records_nothing():
    answer, effects = ask(a_manager(), player(game_types=["chess"]))

    assert (answer.status, answer.player_id, answer.error_code) == ("REJECTED", None, "E042")
    assert answer.reason == UnsupportedGame.reason
    assert [type(effect) for effect in effects] == [Reply]


def test_a_refused_referee_is_told_why():
    answer, effects = ask(a_manager(referees_max=0), referee())

    assert (answer.status, answer.error_code, answer.code) == ("REJECTED", "E020", 1001)
    assert [type(effect) for effect in effects] == [Reply]


def test_the_league_starts_with_the_last_player_and_not_without_a_referee():
    manager = a_manager()
    ask(manager, player("Ann"))
    ask(manager, player("Bob"))
    assert manager.league.round_id == 0

    _, effects = ask(manager, referee())

    assert manager.league.round_id == 1
    told = [effect.to.agent_id for effect in effects if isinstance(effect, Call)]
    assert told == ["P01", "P02"]


def test_the_league_waits_for_as_many_referees_as_are_set():
    manager = a_manager(referees=2)
    for message in (player("Ann"), player("Bob"), referee()):
        ask(manager, message)
    assert manager.league.round_id == 0

    ask(manager, referee("Another"))

    assert manager.league.round_id == 1


def test_a_late_player_is_refused_and_a_late_referee_is_welcome():
    manager = a_manager()
    for message in (player("Ann"), player("Bob"), referee()):
        ask(manager, message)

    assert ask(manager, player("Late"))[0].error_code == "E019"
    assert ask(manager, referee("Late"))[0].status == "ACCEPTED"


@rule("R-ERR-12")
def test_an_agent_to_which_nothing_can_be_answered_is_told_by_a_message_of_its_own():
    manager = a_manager(players=0)
    answer, _ = ask(manager, player("Ann", proofs=True))
    unread = Caller("127.0.0.1", answer.auth_token, is_notification=True)
    query = LeagueQuery("GET_WEATHER", conversation_id="conv-7")

    def send(caller):
        effects = manager.handle(Asked(query, caller, 1), BEGAN)
        return [effect for effect in effects if isinstance(effect, Call)]

    (call,) = send(unread)
    waiting = send(unread)  # One at a time, so that nobody is called for each of many.
    strange = send(replace(unread, token="tok_P01_guessed"))
    manager.handle(Answered(call.key, None, NoAnswer("late"), 10.0), BEGAN)
    (again,) = send(unread)

    error = call.message
    assert (call.to.agent_id, call.until) == ("P01", BEGAN + 10.0)
    assert call.to.proof_keys  # By which the player knows its manager.
    assert (error.error_code, error.original_message_type) == ("E046", "LEAGUE_QUERY")
    assert (error.sender, error.conversation_id) == ("league_manager", "conv-7")
    assert "GET_STATUS" in error.context["known"]
    assert (waiting, strange) == ([], [])
    assert again.message == error
    assert send(replace(unread, is_notification=False)) == []


LOCK = LockRequest("R1M1", 1, 0, [(0, "P01", "even"), (0, "P02", "odd")])
REPORT = MatchResultReport("R1M1", ReportedResult(None))


@pytest.mark.parametrize("message", [LOCK, REPORT, RefereeStatus("ses_1")])
def test_locks_reports_and_status_need_the_referees_own_token(message):
    manager = a_manager()
    tokens = {
        name: ask(manager, made)[0].auth_token
        for name, made in {"ann": player("Ann"), "bob": player("Bob"), "ref": referee()}.items()
    }

    assert isinstance(ask(manager, message)[0], TokenMissing)
    assert isinstance(ask(manager, message, "tok_REF01_guessed")[0], TokenInvalid)
    assert isinstance(ask(manager, message, tokens["ann"])[0], TokenInvalid)
    assert isinstance(ask(manager, message, "mtok_" + "0" * 64)[0], TokenInvalid)
    assert not isinstance(ask(manager, message, tokens["ref"])[0], TokenInvalid)


def test_a_lock_of_a_match_that_does_not_exist_is_refused():
    manager = a_manager()
    token = ask(manager, referee())[0].auth_token

    answer, effects = ask(manager, LockRequest("R9M9", 1, 0, []), token)

    assert isinstance(answer, MatchMismatch)
    assert len(effects) == 1


def test_queries_for_all_need_no_token_and_others_do():
    manager = a_manager()
    token = ask(manager, player("Ann"))[0].auth_token

    assert ask(manager, LeagueQuery("GET_STATUS"))[0].you is None
    assert ask(manager, LeagueQuery("GET_STATUS"), token)[0].data["you"] == "P01"
    assert isinstance(ask(manager, LeagueQuery("GET_PLAYER_STATS"))[0], TokenMissing)
    assert isinstance(ask(manager, LeagueQuery("GET_STATUS"), "tok_wrong")[0], TokenInvalid)
    other = LeagueQuery("GET_STATUS", league_id="league_other")
    assert isinstance(ask(manager, other)[0], UnknownLeague)


def test_a_query_without_an_answer_says_why():
    answer, _ = ask(a_manager(), LeagueQuery("GET_STANDINGS"))

    assert (answer.success, answer.error.error_code) == (False, "E030")


def test_known_tokens_are_those_that_were_issued():
    manager = a_manager()
    token = ask(manager, player())[0].auth_token

    assert manager.is_known(token)
    assert not manager.is_known(None)
    assert not manager.is_known(token + "x")


def test_secrets_do_not_print():
    assert repr(SECRETS) == str(SECRETS) == "Secrets(…)"


def test_a_player_that_never_answers_loses_every_match_technically_and_holds_nobody_up():
    league = MemoryLeague(players=4, referees=1, join_seconds=5.0, reply_seconds=10.0)
    league.add_referee()
    for number in range(3):
        league.add_player(name=f"Good {number}")
    silent = league.network.join("http://silent/mcp", "player")
    silent.listen(lambda message, caller, reply: None)
    register_by_hand(league, "http://silent/mcp")
    league.play()

    row = league.league.table.row("P04")
    assert (row.played, row.losses, row.technical_losses) == (3, 3, 3)
    assert league.events().count("match_decided") == 6
    assert all(host.ended for host in league.hosts)


def test_a_player_that_let_an_announcement_run_out_is_not_waited_for_again():
    times = {"join_seconds": 1.0, "join_retries": 0, "reply_seconds": 10.0}
    league = MemoryLeague(players=3, referees=1, **times)
    league.add_referee()
    league.add_player(name="Good 1")
    league.add_player(name="Good 2")
    league.network.join("http://silent/mcp", "player").listen(lambda message, caller, reply: None)
    register_by_hand(league, "http://silent/mcp")
    league.play()

    # One announcement of 10 s, two joins of 1 s, and 10 s at most for the last message.
    assert league.events().count("match_decided") == 3
    assert league.manager.rounds.seconds == 10.0 + 2 * 1.0 + 10.0


def test_a_referee_that_does_not_hear_its_assignment_is_sent_it_again():
    league = MemoryLeague(players=2, referees=1)
    host = league.add_referee()
    url = next(url for url in league.network.agents if "referee" in url)
    transport = league.network.agents.pop(url)
    league.add_player(name="Ann")
    league.add_player(name="Bob")
    league.clock.run(until=lambda: league.clock.now() > BEGAN + 5.0)
    assert league.events().count("match_decided") == 0

    league.network.agents[url] = transport
    league.play()

    assert league.events().count("match_decided") == 1
    assert host.ended


def test_the_table_is_sent_at_most_once_a_second_while_a_round_runs_and_once_at_its_end():
    league = MemoryLeague(players=10, referees=1, standings_seconds=1.0).fill().play()

    tables = [m for to, m in league.messages if isinstance(m, LeagueStandingsUpdate)]
    rounds = [m for to, m in league.messages if isinstance(m, RoundCompleted)]
    assert len(rounds) == 9 * 11
    # No virtual time passes, so only the ends of rounds are followed by tables.
    assert len(tables) == 9 * 10


def results_at_each_table(often_shown_players_max):
    """In a league of ten whose referee has one match at a time: five results a round."""
    limits = ManagerLimits(often_shown_players_max=often_shown_players_max)
    league = MemoryLeague(players=10, referees=1, standings_seconds=0.0, limits=limits)
    league.add_referee(max_concurrent_matches=1)
    for _ in range(10):
        league.add_player()
    league.run_until(lambda: league.league.decided_total == 13)
    messages = [message for to, message in league.messages if to == "player2"]
    tables = [each.standings for each in messages if isinstance(each, LeagueStandingsUpdate)]
    results = [sum(row["played"] for row in msgspec.json.decode(each)) // 2 for each in tables]
    return [each for each in results if each <= 10]


def test_in_a_large_league_a_table_waits_for_a_quarter_as_many_results():
    # Else after each result.
    assert results_at_each_table(10) == [*range(1, 11)]
    assert results_at_each_table(9) == [3, 5, 8, 10]


def feed_all_but_the_end(feed, stimulus):
    """An agent that never answers when it is told that the league is over."""
    if not isinstance(getattr(stimulus, "message", None), LeagueCompleted):
        feed(stimulus)


def test_a_league_ends_as_soon_as_all_have_answered():
    league = MemoryLeague(players=2, referees=1, reply_seconds=1_000.0).fill().play()

    assert league.hosts[0].ended
    assert league.manager.rounds.seconds < 1_000.0


def test_a_league_ends_only_when_all_were_called_however_many_there_are():
    limits = ManagerLimits(called_max=2)
    league = MemoryLeague(players=6, referees=1, limits=limits, reply_seconds=10.0).fill()
    for host in league.hosts[1:]:
        host.feed = partial(feed_all_but_the_end, host.feed)
    league.run_until(lambda: league.hosts[0].ended)

    told = {to for to, m in league.messages if isinstance(m, LeagueCompleted)}
    assert len(told) == 7


def test_a_referee_never_has_more_matches_than_it_can_take():
    league = MemoryLeague(players=12, referees=1)
    host = league.add_referee(max_concurrent_matches=2)
    most = 0
    for number in range(12):
        league.add_player(name=f"Player {number}")

    def watch():
        nonlocal most
        most = max(most, len(host.role.matches))
        return False

    league.clock.run(until=watch)

    assert most == 2
    assert league.events().count("match_closed") == 66


def test_a_refused_report_after_the_end_ends_nothing_again():
    league = MemoryLeague(players=2, referees=2).fill().play()
    before, said = league.events(), len(league.said)
    secret, names = SECRETS.token_secret, ("league_test", "REF02", 1)
    other = tokens.league_token(secret, *names)

    answer, effects = ask(league.manager, MatchResultReport("R1M1", ReportedResult("P01")), other)

    assert isinstance(answer, AlreadyComplete)
    assert [type(effect) for effect in effects] == [Record, Reply]  # That it tried is kept.
    assert isinstance(effects[0].event, Disputed)
    assert (league.events(), len(league.said)) == (before, said)


@rule("R-REG-15")
def test_a_referee_that_comes_back_when_the_league_is_over_is_told_so():
    league = MemoryLeague(players=2, referees=1).fill().play()
    token = tokens.league_token(SECRETS.token_secret, "league_test", "REF01", 1)

    answer, effects = ask(league.manager, referee(), token)

    told = [type(each.message) for each in effects if isinstance(each, Call)]
    assert (answer.status, told) == ("ACCEPTED", [LeagueCompleted])


def test_a_lost_answer_to_a_registration_does_not_make_two_players_of_one():
    manager = a_manager(players=3)
    first, _ = ask(manager, player("Ann"))

    again, _ = ask(manager, player("Ann"))

    assert (first.player_id, again.player_id) == ("P01", "P01")
    assert len(manager.league.roster.players) == 1
    stats = LeagueQuery("GET_STATUS")
    assert ask(manager, stats, again.auth_token)[0].data["you"] == "P01"


def test_what_was_played_while_an_acknowledgement_was_lost_is_not_assigned_again():
    league = MemoryLeague(players=2, referees=1)
    host = league.add_referee()
    on_ask = host.ask

    def deaf_to_assignments(message, caller, reply):
        lost = isinstance(message, RoundAnnouncement)
        on_ask(message, caller, (lambda answer: None) if lost else reply)

    url = next(url for url in league.network.agents if "referee" in url)
    league.network.agents[url].listen(deaf_to_assignments)
    league.add_player(name="Ann")
    league.add_player(name="Bob")
    league.play()

    invited = [name for name, _ in league.said].count("GAME_INVITATION")
    assert invited == 2
    assert league.events().count("match_decided") == 1


def test_a_next_match_whose_acknowledgement_was_lost_is_handed_out_again():
    league = MemoryLeague(players=6, referees=1)
    league.add_referee(max_concurrent_matches=1)
    on_ask, lost = league.hosts[0].ask, []

    def lose_each_first_acknowledgement(message, caller, reply):
        is_first = isinstance(message, MatchResultReport) and message.match_id not in lost
        if is_first:
            lost.append(message.match_id)
        on_ask(message, caller, (lambda answer: None) if is_first else reply)

    league.network.agents["http://manager/mcp"].listen(lose_each_first_acknowledgement)
    for number in range(6):
        league.add_player(name=f"Player {number}")
    league.play()

    assert len(lost) == 15
    assert league.events().count("match_closed") == 15
    assert all(host.ended for host in league.hosts)


def test_a_referee_that_refuses_its_assignment_is_asked_again_until_it_takes_it():
    league = MemoryLeague(players=2, referees=1)
    host = league.add_referee()
    game, host.role._load_game = host.role._load_game, refuse
    league.add_player(name="Ann")
    league.add_player(name="Bob")
    league.clock.run(until=lambda: league.clock.now() > BEGAN + 3.0)
    assert league.events().count("match_decided") == 0

    host.role._load_game = game
    league.play()

    assert league.events().count("match_decided") == 1


def refuse(name):
    raise UnsupportedGame(f"no game {name!r} is installed")


def test_a_foreign_referee_gets_one_match_a_message():
    manager = a_manager(players=12)
    foreign = RefereeRegisterRequest(
        RefereeMeta("Foreign", "http://127.0.0.1/ref", max_concurrent_matches=5)
    )
    ask(manager, foreign)
    for number in range(12):
        _, effects = ask(manager, player(f"Player {number}"))
    for player_id in manager.league.roster.players:
        effects = manager.handle(Answered(OutboxCall(player_id), None, None, 0.1), BEGAN)

    calls = [effect for effect in effects if isinstance(effect, Call)]
    assert [call.to.agent_id for call in calls] == ["REF01"] * 5  # As many as it takes at once.
    assert {len(call.message.matches) for call in calls} == {1}
    assert max(len(msgspec.json.encode(call.message)) for call in calls) < 10_240

    token = tokens.league_token(SECRETS.token_secret, "league_test", "REF01", 1)
    call = calls[0]
    report = MatchResultReport(call.message.matches[0].match_id, ReportedResult(None))
    answer, effects = ask(manager, report, token)

    assert not answer.matches  # It would not look there.
    assert [call.key for call in effects if isinstance(call, Call)] == [StartCall("R1M6")]
    assert manager.league.decided_total == 1


def test_match_tokens_and_end_points_reach_the_referee_and_never_another_player():
    league = MemoryLeague(players=2, referees=1).fill().play()

    for to, message in league.messages:
        if isinstance(message, RoundAnnouncement):
            text = msgspec.json.encode(message).decode()
            is_assignment = to.startswith("referee")
            assert ("mtok_" in text) == ("http://player" in text) == is_assignment
    over = next(message for _, message in league.messages if isinstance(message, GameOver))
    assert over.auth_token.startswith("mtok_")


def asked(league, query_type, **params):
    """What the manager answers to a question of anybody."""
    answers = []
    query = LeagueQuery(query_type, query_params=params)
    league.hosts[0].ask(query, Caller("127.0.0.1"), answers.append)
    return answers[0].data


def register_by_hand(league, url):
    """As a foreign agent would: a request, and whatever comes back is ignored."""
    transport = league.network.join("http://elsewhere/mcp", "player")
    request = LeagueRegisterRequest(PlayerMeta("Silent", url))
    answers = []
    manager = Address("manager", "http://manager/mcp")
    transport.call(manager, request, league.clock.now() + 5.0, answers.append)
    league.clock.run(until=lambda: bool(answers))
    assert answers[0].message.status == "ACCEPTED"


def test_a_round_begins_some_time_after_its_announcement_if_the_settings_say_so():
    league = MemoryLeague(players=2, referees=1, round_notice_seconds=60.0).fill()

    league.run_until(lambda: league.league.decided_total == 1)

    assert 60.0 <= league.clock.now() - BEGAN < 61.0


def test_a_match_of_an_announced_round_is_not_said_to_be_played():
    league = MemoryLeague(players=2, referees=1, round_notice_seconds=60.0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    announced, match = asked(league, "GET_STATUS"), asked(league, "GET_MATCH", match_id="R1M1")
    league.run_until(lambda: league.manager.rounds.has_begun)

    assert "Round 1 begins in 1 min." in league.manager.news
    assert in_words(match["match"])[-1] == "There is no result yet. It begins in 1 min."
    assert announced["round_begins_at"] == "2023-11-14T22:14:20Z"
    assert "round_begins_at" not in asked(league, "GET_STATUS")
    assert "awaited" not in asked(league, "GET_MATCH", match_id="R1M1")["match"]


def test_a_measurement_ends_the_league_after_some_rounds():
    league = MemoryLeague(players=4, referees=1)
    league.manager.rounds.rounds_max = 2

    league.fill().play()

    assert (league.league.rounds_ended, league.league.aborted) == (2, True)
    assert "league_ended" in league.events()


def test_who_plays_a_league_may_say_after_each_round_that_it_is_enough():
    league = MemoryLeague(players=4, referees=1, cycles=3)
    asked = []
    league.manager.rounds.is_enough = lambda it: asked.append(it.rounds_ended) or len(asked) == 4

    league.fill().play()

    assert asked == [1, 2, 3, 4]
    assert (league.league.rounds_ended, league.league.aborted) == (4, True)


def test_a_key_that_no_table_has_is_an_error():
    manager = a_manager()

    for stimulus in (Woken("leases"), Answered(("tell", "P01"), None, None, 0.1)):
        with pytest.raises(KeyError):
            manager.handle(stimulus, BEGAN)


def test_a_bug_before_any_decision_costs_the_request_alone():
    bugs, answers = [ZeroDivisionError("a bug")], []

    def check_endpoint(url, source):
        if bugs:
            raise bugs.pop()

    league = MemoryLeague(2, 1, check_endpoint=check_endpoint)
    for _ in range(2):
        league.hosts[0].ask(player(), Caller("127.0.0.1"), answers.append)

    assert isinstance(answers[0], InternalError)
    assert answers[1].player_id == "P01"

"""What unknown agents, greedy referees and slow players cannot do to a league."""

from agentleague.errors import AlreadyComplete, RateLimited
from agentleague.games import even_odd
from agentleague.league.events import EndpointProved, MatchAssigned, MatchDecided, TokenRenewed
from agentleague.protocol.messages import (
    GameInvitation,
    GameOver,
    LeagueRegisterRequest,
    LockRequest,
    MatchResultReport,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeStatus,
    ReportedResult,
)
from agentleague.records.verify import verify
from agentleague.roles.stimuli import Caller
from manager.test_assignments import (
    assert_complete,
    events_of,
    no_referees_left,
    waits_for_a_referee,
)
from memory_league import MemoryLeague


def ask(league, message, token=None, source="66.6.6.6"):
    answers = []
    league.hosts[0].ask(message, Caller(source, token), answers.append)
    return answers[0]


def a_referee(league, endpoint="http://nowhere/mcp", capacity=2, **meta):
    message = RefereeRegisterRequest(
        RefereeMeta("R", endpoint, "1", ["even_odd"], capacity, **meta)
    )
    return ask(league, message).auth_token


def with_players(league):
    for number in range(league.players):
        league.add_player(name=f"Player {number}")
    return league


def test_a_report_cannot_change_a_league_that_was_aborted():
    league = MemoryLeague(2, 1)
    token = a_referee(league)
    with_players(league).run_until(lambda: league.league.round_id == 1)
    league.wait(1.0)
    league.command("abort")

    answer = ask(league, MatchResultReport("R1M1", ReportedResult("P01")), token)

    assert isinstance(answer, AlreadyComplete)
    assert not events_of(league, MatchDecided)
    assert (
        verify(list(league.journal.read("league_test")), lambda name: even_odd).difference is None
    )


def test_a_referee_may_ask_for_the_result_of_a_decided_match_again_after_an_abort():
    league = MemoryLeague(4, 1).fill()
    league.run_until(lambda: league.league.decided_total == 1)
    asked = next(each for _, each in league.messages if isinstance(each, LockRequest))
    first = ask(league, asked, league.hosts[1].role.state.token)
    league.command("abort")

    again = ask(league, asked, league.hosts[1].role.state.token)

    assert again == first
    assert again.result.game_result == league.league.matches[asked.match_id].result


def test_nobody_takes_the_matches_of_a_referee_by_naming_its_end_point():
    league = MemoryLeague(4, 1, standings_seconds=1000.0)
    host = league.add_referee("Good", url="http://good/mcp")
    with_players(league)
    league.run_until(lambda: host.role.matches)

    for _ in range(12):
        a_referee(league, "http://good/mcp", locks=True)
        league.wait(0.5)
    league.play()

    assert_complete(league)
    assert not any(event.result.no_contest is True for event in events_of(league, MatchDecided))


def test_after_an_abort_nothing_new_is_handed_out():
    league = MemoryLeague(4, 1)
    league.add_referee("Small", max_concurrent_matches=1)
    with_players(league)
    league.run_until(lambda: league.league.decided_total == 1)
    said = len(league.messages)

    league.command("abort")
    league.play()

    assert not any(isinstance(message, GameInvitation) for _, message in league.messages[said:])
    told = {m.player_id for _, m in league.messages if isinstance(m, GameOver)}
    assert told == {*league.league.matches["R1M1"].players}


def test_what_is_decided_is_told_though_the_manager_dies_right_after_an_abort():
    league = MemoryLeague(4, 1).fill()
    league.run_until(lambda: league.league.decided_total == 2)
    no_referees_left(league)
    league.command("abort")

    league.restart_manager()
    league.play()

    told = {m.player_id for _, m in league.messages if isinstance(m, GameOver)}
    assert told == {"P01", "P02", "P03", "P04"}
    assert not league.league.open_matches


def test_a_player_that_registers_again_and_again_is_held_back():
    league = MemoryLeague(3, 1)
    league.add_referee()
    token = league.add_player().role.state.token
    league.league.apply(EndpointProved("P01"))
    answers = [
        ask(
            league,
            LeagueRegisterRequest(PlayerMeta("P", f"http://127.0.0.1:{n}/mcp", "1", ["even_odd"])),
            token,
        )
        for n in range(1, 101)
    ]

    refused = [answer for answer in answers if isinstance(answer, RateLimited)]
    assert len(refused) == 99
    assert len(events_of(league, TokenRenewed)) == 1


def test_a_player_slow_to_acknowledge_holds_nobody_up_for_longer_than_a_reply_may_take():
    league = MemoryLeague(4, 1)
    league.add_referee()
    for number in range(3):
        league.add_player(name=f"Player {number}")
    join = league.network.join

    def slow(url, receiver):
        transport = join(url, receiver)
        receive = transport.receive

        def later(body, source, respond, head=b""):
            is_notice = b'"ROUND_' in body or b"STANDINGS" in body
            seconds = 9.9 if is_notice else 0.0

            def after(answer):
                league.clock.call_at(league.clock.now() + seconds, lambda: respond(answer))

            receive(body, source, after, head)

        transport.receive = later
        return transport

    league.network.join = slow
    league.add_player(name="Slow")
    began = league.clock.now()
    league.run_until(lambda: league.league.phase == "LEAGUE_COMPLETED")

    assert league.clock.now() - began <= 10.0 * 3  # three rounds


def test_a_talkative_referee_that_may_not_have_a_match_does_not_keep_it_waiting_for_ever():
    league = MemoryLeague(2, 1, referee_wait_seconds=600.0)
    token = a_referee(league)
    with_players(league)

    for _ in range(8):
        league.wait(300.0)
        ask(league, RefereeStatus("x", []), token)

    assert league.league.phase == "LEAGUE_COMPLETED"
    (decided,) = events_of(league, MatchDecided)
    assert decided.result.no_contest is True


def test_a_referee_that_promises_much_and_brings_nothing_to_an_end_gets_little():
    league = MemoryLeague(8, 2, move_seconds=1.0, join_seconds=1.0, retries=0, join_retries=0)
    greedy = league.add_referee("Greedy", max_concurrent_matches=1000)
    league.add_referee("Good")
    greedy.role._begin = lambda matches, now: []  # It takes matches and plays none.
    with_players(league).play()

    assert_complete(league)
    first_round = [f for f in league.league.matches.values() if f.round_id == 1]
    assert sum(file.referees[0] == "REF01" for file in first_round) == 2
    later = [f for f in league.league.matches.values() if f.round_id > 1]
    assert not any("REF01" in file.referees for file in later)


def test_players_removed_all_at_once_end_a_league_of_many_rounds():
    league = MemoryLeague(130, 1)
    league.settings = type(league.settings)(league_id="league_test", players=130)
    league.restart_manager()
    league.fill()
    league.run_until(lambda: league.league.round_id == 1)
    for player_id in list(league.league.roster.players):
        league.command("remove", player_id=player_id)

    league.play()

    assert league.league.phase == "LEAGUE_COMPLETED"
    decided = events_of(league, MatchDecided)
    assert len(decided) == league.league.total_matches


def test_no_match_of_a_removed_player_is_handed_out_before_its_round_is_announced():
    league = MemoryLeague(3, 1).fill()
    league.run_until(lambda: league.league.round_id == 1)
    for player_id in ("P01", "P02"):
        league.command("remove", player_id=player_id)
    said = len(league.messages)

    league.play()

    assert league.league.phase == "LEAGUE_COMPLETED"
    later = [m for _, m in league.messages[said:] if isinstance(m, GameInvitation)]
    assert {m.round_id for m in later} <= {1}


def test_a_restart_does_not_change_what_becomes_of_a_match_in_play():
    def play(restarts):
        league = MemoryLeague(2, 1).fill()
        league.run_until(lambda: any(host.role.matches for host in league.hosts[1:2]))
        league.command("remove", player_id="P01")
        if restarts:
            league.restart_manager()
        league.play()
        return events_of(league, MatchDecided)[0].result.status

    assert play(False) == play(True)
    assert play(True) != "TECHNICAL_LOSS"


def test_a_referee_that_comes_back_to_a_match_nobody_took_goes_on_with_it():
    league = MemoryLeague(2, 1).fill()
    host = league.hosts[1]
    league.run_until(lambda: host.role.matches)
    token = host.role.state.token
    no_referees_left(league)
    league.run_until(lambda: waits_for_a_referee(league))

    moves = [(0, "P01", "even"), (0, "P02", "odd")]
    answer = ask(league, LockRequest("R1M1", 1, 0, moves), token)

    assert answer.result.winner in ("P01", "P02")
    assert not events_of(league, MatchAssigned)
    league.play()
    assert_complete(league)


def test_a_long_name_that_had_to_be_cut_is_known_again():
    league = MemoryLeague(9, 1)
    request = LeagueRegisterRequest(PlayerMeta("A" * 50, "http://10.0.0.2:1/mcp"))
    ask(league, LeagueRegisterRequest(PlayerMeta("A" * 50, "http://10.0.0.1:1/mcp")))

    ids = [ask(league, request, source="10.0.0.2").player_id for _ in range(4)]

    assert ids == ["P02"] * 4

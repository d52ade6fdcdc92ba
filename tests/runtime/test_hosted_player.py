"""What a host of a player is shown and may do, whoever it is and however it calls."""

import pytest

from agentleague.errors import IllegalMove, LeagueError, UnexpectedMessage
from agentleague.player.role import HookCall
from agentleague.roles.effects import Turn
from agentleague.runtime.hosted_players import HostedPlayer
from agentleague.simulation.clock import VirtualClock


def hosted():
    clock = VirtualClock(1000.0)
    names = {"P02": "Bob"}
    player = HostedPlayer("P01", clock, names.__getitem__, lambda: player.league)
    player.league = ""  # what it waits for
    return player, clock


def ask(player, match_id="R1M1", number=0, legal=("even", "odd"), seconds=30.0):
    moves = []
    turn = Turn(
        **dict.fromkeys(("game_type", "league_id", "seed"), "x"),
        **{"match_id": match_id, "round_id": 1, "player_id": "P01", "opponent_id": "P02"},
        **{"record": {}, "history": (), "standings": (), "position": {"board": []}},
        **{"legal_moves": legal, "seconds_left": seconds, "number": number},
    )
    player.run(turn, lambda move, error: moves.append(move))
    return moves


def wait(player, clock=None, seconds=25.0, seen=None):
    shown = []
    player.wait(seconds, seen, shown.append)
    while clock and not shown and clock.step():
        pass
    return shown[0] if shown else None


def end(player, match_id="R1M1", won=True, reason="7 is odd."):
    result = {"status": "WIN", "reason": reason}
    facts = {"match_id": match_id, "round_id": 1, "opponent_id": "P02"}
    player.hooks.append(HookCall("result", {**facts, "won": won, "result": result}))
    player.hear(f"{match_id}: won. {reason}")


def test_a_turn_is_shown_until_it_is_answered_and_then_no_more():
    player, clock = hosted()
    moves = ask(player)

    first, again = wait(player), wait(player)

    assert first == again
    assert (first["status"], first["turn_id"], first["seconds_left"]) == (
        "your_turn",
        "R1M1.0",
        30.0,
    )
    assert first["opponent"] == {"player_id": "P02", "name": "Bob"}
    assert player.submit("odd", "R1M1.0")["accepted"]
    assert moves == ["odd"]
    assert wait(player, clock)["status"] == "waiting"


def test_it_says_which_attempt_it_is_and_an_unusable_move_costs_none():
    player, clock = hosted()
    ask(player)
    first = wait(player)["attempt"]
    player.submit("odd")
    clock.call_at(1010.0, lambda: ask(player, seconds=20.0))  # The referee could not use it.
    clock.run()
    unusable = wait(player)["attempt"]
    clock.call_at(1032.0, lambda: ask(player))
    clock.run()
    late = wait(player)["attempt"]
    ask(player, number=1)

    assert (first, unusable, late) == (1, 1, 2)
    player.submit("odd", "R1M1.0")
    assert wait(player)["attempt"] == 1


def test_a_wait_ends_when_the_turn_comes_and_after_its_seconds_otherwise():
    player, clock = hosted()
    clock.call_at(1010.0, lambda: ask(player))

    assert (wait(player, clock)["status"], clock.now()) == ("your_turn", 1010.0)
    player.submit("even")
    assert (wait(player, clock)["status"], clock.now()) == ("waiting", 1035.0)
    clock.call_at(1040.0, lambda: end(player))
    assert (wait(player, clock)["status"], clock.now()) == ("match_over", 1040.0)


def test_what_has_happened_during_a_wait_is_told_at_its_end():
    player, clock = hosted()
    said = HookCall("round", {"round_id": 1, "match_id": "R1M1", "opponent_id": "P02"})
    clock.call_at(1010.0, lambda: player.hooks.append(said))

    (news,) = wait(player, clock)["news"]

    assert (news["round"], clock.now()) == (1, 1025.0)


def test_hosts_that_share_a_seat_wait_each_for_its_time_and_the_oldest_of_too_many_is_let_go():
    player, clock = hosted()
    shown = [[] for _ in range(6)]

    player.wait(25.0, None, shown[0].append)
    player.wait(10.0, None, shown[1].append)
    player.wait(0, None, shown[2].append)
    clock.call_at(1015.0, lambda: None)
    while clock.now() < 1015.0:
        clock.step()
    told = [len(each) for each in shown]
    for each in (*shown[3:], [], []):
        player.wait(25.0, None, each.append)
    full = [len(each) for each in shown]
    ask(player)
    clock.run()

    assert (told, full) == ([0, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0])
    assert [each[0]["status"] for each in shown] == ["waiting"] * 4 + ["your_turn"] * 2
    assert {len(each) for each in shown} == {1}


@pytest.mark.parametrize(
    ("legal", "move", "chosen"),
    [
        (("even", "odd"), "odd", "odd"),
        ((0, 1, 4), 4, 4),
        ((0, 1, 4), " 4 ", 4),  # Some hosts send every argument as text.
        (({"x": 1}, {"x": 2}), {"x": 2}, {"x": 2}),
        ((), {"any": ["thing"]}, {"any": ["thing"]}),  # The game lists none, and judges itself.
        ((None, 1), None, None),
    ],
)
def test_a_legal_move_is_made(legal, move, chosen):
    player, _ = hosted()
    moves = ask(player, legal=legal)

    assert player.submit(move)["move"] == chosen
    assert moves == [chosen]


@pytest.mark.parametrize("move", ["Even", "", None, 0, True, 1.0, [], {"even": 1}, "e" * 5_000])
def test_an_illegal_move_is_refused_with_the_legal_ones_and_the_turn_stays_open(move):
    player, _ = hosted()
    moves = ask(player, legal=("even", 1))

    with pytest.raises(IllegalMove, match=r'move: .* send one of "even", 1$') as refused:
        player.submit(move)

    assert len(str(refused.value)) < 500
    assert player.submit("even")["accepted"]
    assert moves == ["even"]


def test_a_move_whose_answer_was_lost_may_be_sent_again_but_not_changed():
    player, _ = hosted()
    moves = ask(player)
    first = player.submit("odd", "R1M1.0")

    assert player.submit("odd", "R1M1.0") == first
    with pytest.raises(UnexpectedMessage, match='you played "odd" in that turn'):
        player.submit("even", "R1M1.0")
    assert moves == ["odd"]


@pytest.mark.parametrize(
    ("prepare", "turn_id", "why"),
    [
        (lambda player, clock: None, "", "No match of yours has begun since the manager was"),
        (lambda player, clock: None, "R1M1.0", "the manager was started again, and will ask"),
        (lambda player, clock: setattr(player, "league", "Wait."), "R1M1.0", "it is not your turn"),
        (lambda player, clock: ask(player), "R9M9.0", "that turn is not open, but R1M1.0 is"),
        (lambda player, clock: late(player, clock), "", "too late"),
        (lambda player, clock: late(player, clock), "R1M1.0", "too late"),
        (lambda player, clock: (ask(player), end(player)), "R1M1.0", "too late"),
    ],
)
def test_a_move_that_nobody_waits_for_is_refused_in_words(prepare, turn_id, why):
    player, clock = hosted()
    prepare(player, clock)

    with pytest.raises(LeagueError, match=f"{why}.*all wait_for_turn"):
        player.submit("odd", turn_id)


def late(player, clock):
    ask(player, seconds=5.0)
    clock.call_at(1006.0, lambda: None)
    clock.run()


def test_a_turn_that_is_asked_again_has_new_time_and_one_answer_for_all_attempts():
    player, clock = hosted()
    attempts = [ask(player, seconds=5.0), ask(player)]
    clock.run()

    assert attempts == [[], []]  # An answer without a move is an illegal move.
    assert wait(player)["seconds_left"] == 30.0
    player.submit("odd")
    assert attempts == [["odd"], ["odd"]]


def test_the_end_of_a_match_ends_its_turn_and_so_does_another_turn_of_it():
    player, clock = hosted()
    turns = [ask(player), ask(player, number=1)]
    clock.run()

    assert turns == [[None], []]
    end(player)
    clock.run()
    assert turns == [[None], [None]]


def test_who_left_moves_no_more_and_lets_nobody_wait():
    player, clock = hosted()
    first = ask(player)

    player.leave()
    second = ask(player, number=1)
    while not second and clock.step():
        pass

    assert (first, second, clock.now()) == ([None], [None], 1000.0)


def test_of_two_turns_the_one_that_ends_first_is_shown():
    player, _ = hosted()
    ask(player, "R1M1", seconds=30.0)
    ask(player, "R2M1", seconds=20.0)

    assert wait(player)["turn_id"] == "R2M1.0"
    assert player.submit("odd", "R1M1.0")["match_id"] == "R1M1"


def test_the_result_of_a_match_is_told_with_its_reason_until_it_was_seen():
    player, clock = hosted()
    end(player)

    first = wait(player, seen=0)
    lost = wait(player, seen=0)
    after = wait(player, clock, seen=first["seen"])

    assert first == lost
    assert first["status"] == "match_over"
    (news,) = first["news"]
    assert (news["result"], news["match_id"], news["reason"]) == ("won", "R1M1", "7 is odd.")
    assert (after["status"], after["news"]) == ("waiting", [])


def test_who_does_not_say_what_it_has_seen_is_told_twice_and_does_not_spin():
    player, clock = hosted()
    end(player)

    answers = [wait(player, clock) for _ in range(3)]

    assert [len(each["news"]) for each in answers] == [1, 1, 0]
    assert clock.now() == 1050.0  # The second and the third have waited.


def test_a_number_of_an_earlier_process_hides_no_news():
    player, _ = hosted()
    end(player)

    assert len(wait(player, seen=17)["news"]) == 1


def test_the_news_of_a_host_that_is_silent_for_long_are_limited():
    player, _ = hosted()
    for number in range(200):
        end(player, f"R{number}M1")
    for _ in range(200):
        player.hooks.append(HookCall("standings", []))
    kept = len(player.hooks)
    for number in range(20):
        ask(player, number=number)
        player.submit("odd")

    shown = wait(player, seen=0)

    assert (kept, len(shown["news"]), shown["seen"]) == (16, 50, 200)
    with pytest.raises(UnexpectedMessage):
        player.submit("odd", "R1M1.0")
    assert player.submit("odd", "R1M1.19")["accepted"]


def test_what_is_waited_for_is_said_in_words():
    player, clock = hosted()
    said = [wait(player, seconds=0)["waiting_for"]]
    player.league = "Two players are missing."
    said.append(wait(player, seconds=0)["waiting_for"])
    player.league = ""
    facts = {"round_id": 1, "match_id": "R1M1", "opponent_id": "P02"}
    player.hooks.append(HookCall("round", facts))
    said.append(wait(player)["waiting_for"])
    ask(player)
    player.submit("odd")
    said.append(wait(player, clock)["waiting_for"])
    end(player)
    said.append(wait(player)["waiting_for"])
    player.hooks.append(HookCall("standings", [{"player_id": "P01", "rank": 2, "points": 3}]))
    player.hooks.append(HookCall("round", {**facts, "round_id": 2, "match_id": None}))
    last = wait(player)

    assert said == [
        "No match of yours has begun since the manager was started.",
        "Two players are missing.",
        'Round 1: you meet P02 "Bob" in R1M1; it begins.',
        'Round 1: you meet P02 "Bob" in R1M1; you played "odd".',
        "R1M1 is over for you; the others of round 1 still play.",
    ]
    assert last["news"][-1]["text"] == (
        "You have no match in round 2; the others play. You are number 2, with 3 points."
    )


def test_the_end_of_the_league_is_told_at_once_with_the_final_place_whenever_it_is_asked():
    player, clock = hosted()
    rows = [{"player_id": "P02", "rank": 1}, {"player_id": "P01", "rank": 2}]
    data = {"champion": {"player_id": "P02"}, "final_standings": rows}
    player.hooks.append(HookCall("league_end", data))
    player.hear("The league is over. P01 is number 2, with 0 points.")

    shown = [wait(player, seen=seen) for seen in (0, 1)]

    assert {each["status"] for each in shown} == {"league_over"}
    assert shown[1]["final"] == {"champion": {"player_id": "P02"}, "you": rows[1], "players": 2}
    assert clock.now() == 1000.0

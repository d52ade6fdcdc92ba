"""Where an author's function runs: whatever it does, the player answers."""

import sys
import threading

import pytest

from agentleague.services.minds import InlineMind, ThreadMind


class Turn:
    match_id, legal_moves = "R1M1", ("even", "odd")


def thought(strategy):
    heard = []
    InlineMind(strategy, lambda call: call()).think(Turn(), lambda *said: heard.append(said))
    return heard[0]


def test_a_move_is_handed_back():
    assert thought(lambda turn: turn.legal_moves[1]) == ("odd", None)


@pytest.mark.parametrize("failing", [lambda turn: 1 / 0, lambda turn: sys.exit(3)])
def test_a_function_that_raises_is_shown_to_its_author(failing, caplog):
    move, error = thought(failing)

    assert move is None
    assert error
    assert "R1M1" in caplog.text
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("move", [object(), {1, 2j}, "\ud800"])
def test_what_json_cannot_carry_is_said_at_once_with_what_is_legal(move, caplog):
    handed, error = thought(lambda turn: move)

    assert handed is None
    assert "which is no JSON" in error
    assert "['even', 'odd']" in caplog.text


def test_a_slow_function_runs_beside_the_loop():
    heard, done, here = [], threading.Event(), threading.current_thread()

    def deliver(call):
        call()
        done.set()

    mind = ThreadMind(lambda turn: threading.current_thread() is here, deliver)
    mind.think(Turn(), lambda *said: heard.append(said))

    assert done.wait(20)
    assert heard == [(False, None)]
    mind.close()

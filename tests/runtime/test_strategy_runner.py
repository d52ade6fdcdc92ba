"""Where an author's function runs: whatever it does, the player answers."""

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from agentleague.player.strategies import random
from agentleague.runtime import strategy_runner
from agentleague.runtime.author_functions import LoopThread
from agentleague.runtime.strategy_runner import ThreadRunner


class Turn:
    match_id, legal_moves = "R1M1", ("even", "odd")


def outcome_of(strategy):
    return strategy_runner.outcome_of(strategy, Turn())


def test_a_move_is_handed_back():
    assert outcome_of(lambda turn: turn.legal_moves[1]) == ("odd", None)


@pytest.mark.parametrize("failing", [lambda turn: 1 / 0, lambda turn: sys.exit(3)])
def test_a_function_that_raises_is_shown_to_its_author(failing, caplog):
    move, error = outcome_of(failing)

    assert move is None
    assert error
    assert "R1M1" in caplog.text
    assert "Traceback" in caplog.text


def test_the_traceback_begins_with_the_authors_function(caplog):
    outcome_of(lambda turn: int("x"))

    first = caplog.text.split("Traceback (most recent call last):\n")[1].splitlines()[0]
    assert "test_strategy_runner.py" in first


def test_a_strategy_of_ours_is_shown_whole(caplog):
    outcome_of(random)  # This turn has no `rng`.

    assert "in random" in caplog.text
    assert "AttributeError" in caplog.text


@pytest.mark.parametrize("move", [object(), {1, 2j}, "\ud800"])
def test_what_json_cannot_carry_is_said_at_once_with_what_is_legal(move, caplog):
    handed, error = outcome_of(lambda turn: move)

    assert handed is None
    assert "which is no JSON" in error
    assert "['even', 'odd']" in caplog.text


def test_a_slow_function_runs_beside_the_loop():
    heard, done, here = [], threading.Event(), threading.current_thread()

    def deliver(call):
        call()
        done.set()

    runner = ThreadRunner(lambda turn: threading.current_thread() is here, deliver)
    runner.run(Turn(), lambda *said: heard.append(said))

    assert done.wait(20)
    assert heard == [(False, None)]
    runner.close()


def thought_beside(strategy):
    """What comes of a function that runs in a thread."""
    heard, done = [], threading.Event()

    def deliver(call):
        call()
        done.set()

    runner = ThreadRunner(strategy, deliver)
    runner.run(Turn(), lambda *said: heard.append(said))
    assert done.wait(20)
    runner.close()
    return heard[0]


def test_an_async_function_runs_on_a_loop_of_its_own():
    async def choose(turn):
        await asyncio.sleep(0)
        return turn.legal_moves[0]

    assert thought_beside(choose) == ("even", None)


def test_an_async_function_that_raises_is_shown_to_its_author(caplog):
    async def choose(turn):
        return await asyncio.sleep(0, 1 / 0)

    move, error = thought_beside(choose)

    assert (move, error) == (None, "ZeroDivisionError: division by zero")
    assert "R1M1" in caplog.text
    assert "in choose" in caplog.text
    assert "in finish" not in caplog.text
    assert "in result" not in caplog.text


def test_async_functions_share_a_loop_which_no_exit_of_one_of_them_ends():
    async def leave():
        sys.exit(3)

    async def where():
        return asyncio.get_running_loop()

    loop = LoopThread()
    first = loop.finish(where())
    with pytest.raises(RuntimeError, match=r"sys.exit\(3\)"):
        loop.finish(leave())

    assert loop.finish(where()) is first
    assert loop.finish("plain") == "plain"
    loop.close()
    assert loop.finish(where()) is not first  # It begins again.
    loop.close()


def test_a_loop_that_is_closed_cancels_what_still_runs():
    begun, cancelled = threading.Event(), threading.Event()

    async def endless():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def wait():
        with pytest.raises(CancelledError):
            loop.finish(endless())

    loop = LoopThread()
    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(20)
    loop.close()
    thread.join(20)

    assert cancelled.is_set()
    assert not thread.is_alive()


def test_a_function_that_never_returns_does_not_keep_the_program_alive():
    code = (
        "import threading\n"
        "from agentleague.runtime.strategy_runner import ThreadRunner\n"
        "class Turn: match_id = 'R1M1'\n"
        "runner = ThreadRunner(lambda turn: threading.Event().wait(), lambda call: call())\n"
        "runner.run(Turn(), print); runner.close()"
    )

    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0


def test_a_move_that_comes_when_the_player_is_gone_is_nobodys():
    delivered = threading.Event()

    def deliver(call):
        delivered.set()
        raise RuntimeError("Event loop is closed")

    ThreadRunner(lambda turn: "even", deliver).run(Turn(), lambda *said: None)

    assert delivered.wait(20)

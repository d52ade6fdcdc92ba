"""Hooks take their time in a thread of their own."""

import threading

from agentleague.runtime.author_functions import Background


def test_jobs_are_done_in_order_before_it_is_closed():
    done, worker = [], Background(print)
    for number in range(10):
        worker.do("count", lambda number=number: done.append(number))

    worker.close(20)

    assert done == list(range(10))


def test_a_job_that_fails_is_shown_and_the_next_is_done():
    said, done = [], []
    worker = Background(said.append)
    worker.do("on_round", lambda: 1 / 0)
    worker.do("on_result", exit)
    worker.do("on_standings", lambda: done.append(True))

    worker.close(20)

    assert [text.split(":")[0] for text in said] == ["on_round failed", "on_result failed"]
    assert "ZeroDivisionError" in said[0]
    assert "Traceback" in said[0]
    assert done == [True]


def test_a_job_that_hangs_delays_nothing_and_is_left_alone():
    said, free, begun = [], threading.Event(), threading.Event()

    def hang():
        begun.set()
        free.wait()

    worker = Background(said.append, jobs_max=1)
    worker.do("on_round", hang)
    assert begun.wait(20)
    worker.do("on_result", lambda: None)
    worker.do("on_standings", lambda: None)
    worker.close(0.01)
    assert said == ["on_standings was skipped: 1 others wait already."]

    worker = Background(said.append)
    worker.do("on_round", free.wait)
    worker.close(0.01)
    assert said[1:] == ["A hook still runs after 0.01 seconds, and is left alone."]
    free.set()

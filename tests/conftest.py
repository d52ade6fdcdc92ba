"""What every test may count on: no process outlives the test that started it."""

import pytest

import commands


@pytest.fixture(autouse=True)
def _no_process_is_left_behind():
    yield
    while commands.RUNNING:
        process = commands.RUNNING.pop()
        if process.poll() is None:
            process.kill()
        process.communicate()

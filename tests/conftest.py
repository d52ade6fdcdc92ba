"""What every test may count on: no process outlives the test that started it.

Properties are tried on new examples each time, but in CI on the same ones: whether a change lands
must not depend on chance. Nor may it depend on how busy the machine is, so no example is timed.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

import commands

settings.register_profile(
    "ours",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("ours")


@pytest.fixture(autouse=True, scope="session")
def _no_token_in_the_home_of_whoever_tests(tmp_path_factory):
    os.environ["LEAGUE_STATE"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def _no_process_is_left_behind():
    yield
    while commands.RUNNING:
        process = commands.RUNNING.pop()
        if process.poll() is None:
            process.kill()
        process.communicate()

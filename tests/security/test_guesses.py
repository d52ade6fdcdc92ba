"""Guessing a token by how long a refusal takes: whatever is shown, the same work is done."""

import json
import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from agentleague.manager import organiser
from agentleague.runtime.processes import Place
from agentleague.transport.http import HttpTransport
from security.spies import message
from security.test_inbound import HOSTS, manager, registration, run

OURS = "agentleague"  # The collector of garbage calls others at any time.
CLOCK = "timestamps"  # Each second is written once.
ASKED = HttpTransport._on_request.__code__


@contextmanager
def work():
    """How often each function was called to answer a request, from its bytes to the answer's."""
    calls, depth = Counter(), 0

    def count(frame, what, function):
        nonlocal depth
        if what == "call":
            depth += depth > 0 or frame.f_code is ASKED
        code = frame.f_code
        is_counted = OURS in code.co_filename and CLOCK not in code.co_filename
        if depth and what in ("call", "c_call") and is_counted:
            calls[code.co_filename, getattr(function, "__qualname__", code.co_qualname)] += 1
        if what == "return":
            depth -= depth > 0

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def guesses(token):
    """Nothing right, the form right, all but the last character right, and one too long."""
    name = token[: token.rindex("_") + 1]
    wrong = "0" if token[-1] != "0" else "1"
    return ["tok_X_" + "0" * 64, name + "0" * 64, token[:-1] + wrong, token + wrong]


SAID = {
    "a private question": message("LEAGUE_QUERY", query_type="GET_PLAYER_STATS"),
    "a report": message("MATCH_RESULT_REPORT", match_id="R1M1", result={"winner": "P01"}),
    "a command": message("LEAGUE_COMMAND", command="abort", params={}),
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_a_guess_that_is_nearly_right_costs_the_manager_what_any_other_does(said, tmp_path):
    async def scenario():
        async with manager(tmp_path, Place(0, hosts=HOSTS)) as connect:
            line = await connect()
            _, _, body = await line.ask(registration("Ann"))
            shown = guesses(json.loads(body)["result"]["auth_token"])
            shown += guesses((tmp_path / "admin.token").read_text().strip())
            await line.ask({**said, "auth_token": shown[0]})  # What is learnt once is learnt.
            seen = []
            for token in shown:
                with work() as calls:
                    _, _, body = await line.ask({**said, "auth_token": token})
                seen.append((calls, json.loads(body)))
            return seen

    (first, refused), *others = run(scenario())

    assert sum(first.values()) > 50
    assert refused["error"]["data"]["error_code"] in ("E005", "E012")
    for calls, body in others:
        assert calls == first
        assert body["error"]["data"]["error_code"] == refused["error"]["data"]["error_code"]


def test_the_organisers_token_is_compared_whole(tmp_path, monkeypatch):
    """Not by `==`, which is done at the first character that differs."""
    compared, compare = [], organiser.hmac.compare_digest

    def noting(*texts):
        compared.append(texts)
        return compare(*texts)

    async def scenario():
        async with manager(tmp_path, Place(0, hosts=HOSTS)) as connect:
            token = (tmp_path / "admin.token").read_text().strip()
            monkeypatch.setattr(organiser.hmac, "compare_digest", noting)
            line = await connect()
            for shown in guesses(token):
                await line.ask({**SAID["a command"], "auth_token": shown})
            return [(shown.encode(), token.encode()) for shown in guesses(token)]

    expected = run(scenario())

    assert set(expected) <= set(compared)


CODE = "tipuf-sajil-gikop"


def knock(code, name="Eve"):
    asked = registration(name)
    return {**asked, "player_meta": {**asked["player_meta"], "join_code": code}}


def test_wrong_join_codes_are_slowed_down_and_who_knows_it_gets_in_from_that_address(tmp_path):
    async def scenario():
        async with manager(tmp_path, Place(0, hosts=HOSTS), join_code=CODE) as connect:
            line = await connect()
            guessed = [await line.ask(knock(f"tipuf-sajil-{guess}")) for guess in range(300)]
            return guessed, await line.ask(knock("TIPUF sajil gikop", "Ann"))

    guessed, (status, _, body) = run(scenario())

    codes = Counter(json.loads(body)["error"]["data"]["error_code"] for _, _, body in guessed)
    assert codes["E012"] < 150  # sixty at once, and one a second
    assert all("Retry-After" in head for status, head, _ in guessed if status == 429)
    assert guessed[-1][0] == 429
    assert status == 200
    assert json.loads(body)["result"]["status"] == "ACCEPTED"

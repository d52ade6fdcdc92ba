"""A model that plays, against an end point that keeps the rules and against one that does not."""

import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from agentleague.errors import LeagueError
from agentleague.player import strategies
from agentleague.player.memory import Memory
from agentleague.protocol.messages import ChooseParityCall, GameMoveCall
from agentleague.runtime import plugins
from agentleague.sdk import llm as llm_module
from agentleague.sdk.llm import Llm, LlmSettings, Spent, llm
from agentleague.sdk.llm_client import ANSWER_BYTES_MAX
from sdk.llm_stub import (
    broken_off,
    completion,
    endless,
    http,
    says,
    sends,
    silent,
    slams_the_door,
    stub,
    trickling,
)

KEY = "sk-very-secret-0123456789"
PARITY = ChooseParityCall(game_type="even_odd", match_id="R1M1")
GOOD = http(completion("odd"))


def turn_of(call=PARITY, seconds_left=30.0):
    return Memory("1").turn(call, "P01", seconds_left)


def model_at(there, **more):
    """A model whose fallback would say even, and what it says aloud."""
    heard = []
    more = {"url": there and there.base, "model": "small", "key": KEY, **more}
    return Llm(LlmSettings(**more), fallback=strategies.fixed, say=heard.append), heard


def test_the_model_is_asked_and_its_move_is_played():
    with stub(says('{"move": "odd"}')) as there:
        model, heard = model_at(there)
        move = model.choose(turn_of())

    assert move == "odd"
    assert heard == ["R1M1: the model plays 'odd' (13 tokens, 13 so far)."]
    (request,) = there.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.body["model"] == "small"
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert '["even", "odd"]' in request.body["messages"][1]["content"]


def test_without_a_key_none_is_sent():
    with stub(says("odd")) as there:
        model, _ = model_at(there, key="")

        assert model.choose(turn_of()) == "odd"

    assert "authorization" not in there.requests[0].headers


def test_the_full_address_may_be_given_too():
    with stub(says("odd")) as there:
        model, _ = model_at(there, url=f"{there.base}/chat/completions/")
        model.choose(turn_of())

    assert there.requests[0].line == "POST /v1/chat/completions HTTP/1.1"


def answered(body, status="200 OK", kind="application/json", *more):
    return sends(http(body, status, kind, *more))


# what the end point does -> what is said of it
MISBEHAVIOUR = {
    "is silent": (silent, "did not answer within 0.3 s"),
    "trickles": (trickling, "did not answer within 0.3 s"),
    "closes at once": (slams_the_door, "gave no whole HTTP answer (RemoteDisconnected)"),
    "breaks off": (broken_off, "broke off in the middle of its answer"),
    "speaks no HTTP": (sends(b"SSH-2.0-OpenSSH\r\n"), "gave no whole HTTP answer (BadStatusLine)"),
    "has too many headers": (
        sends(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n"),
        "gave no whole HTTP answer (HTTPException)",
    ),
    "fails": (answered("{}", "500 Oh"), "answered with status 500"),
    "fails with a move": (answered(completion("odd"), "500 Oh"), "answered with status 500"),
    "wants another key": (answered(KEY, f"401 {KEY}"), "answered with status 401; check the key"),
    "knows no such model": (
        answered("{}", "404 No"),
        "answered with status 404; check the url and the model",
    ),
    "redirects": (
        answered(completion("odd"), "307 There", "application/json", "Location: /v2"),
        "answered with status 307; redirects are not followed",
    ),
    "is busy for long": (
        answered("{}", "429 Busy", "application/json", "Retry-After: 3600"),
        "answered with status 429 and asks to wait 3600 s",
    ),
    "is busy until a date": (
        answered(
            "{}", "429 Busy", "application/json", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT"
        ),
        "answered with status 429",
    ),
    "is always busy": (
        answered("{}", "503 Busy", "application/json", "Retry-After: 0"),
        "answered with status 503 and asks to wait 0 s",
    ),
    "shows a page": (
        answered("<html>Log in</html>", "200 OK", "text/html; charset=utf-8"),
        "answered 'text/html', not 'application/json'",
    ),
    "says the wrong type": (
        answered(completion("odd"), "200 OK", "text/plain"),
        "answered 'text/plain', not 'application/json'",
    ),
    "sends broken JSON": (answered('{"choices": [{'), "answered something that is not JSON"),
    "sends an empty body": (answered(""), "answered something that is not JSON"),
    "sends no UTF-8": (answered(b'{"usage": "\xff\xfe"}'), "answered something that is not JSON"),
    "nests deeply": (answered('{"usage":' + "[" * 100_000), "answered something that is not JSON"),
    "sends a list": (answered("[1, 2]"), "answered JSON that is not a chat completion"),
    "sends strange choices": (
        answered('{"choices": {"move": "odd"}}'),
        "answered JSON that is not a chat completion",
    ),
    "has no choices": (answered('{"choices": []}'), "answered without choices"),
    "has an error inside": (answered('{"error": {"message": "no"}}'), "answered without choices"),
    "says nothing": (says(None), "answered without a text"),
    "plays what is illegal": (says("banana"), "answered 'banana', which is no legal move"),
    "talks": (
        says("I would never play even, so odd."),
        "answered 'I would never play even, so odd.', which is no legal move",
    ),
    "never ends": (endless, f"answered more than {ANSWER_BYTES_MAX} bytes"),
    "is huge": (
        answered(completion("odd", padding="-" * ANSWER_BYTES_MAX)),
        f"answered more than {ANSWER_BYTES_MAX} bytes",
    ),
}


@pytest.mark.parametrize(("script", "told"), MISBEHAVIOUR.values(), ids=MISBEHAVIOUR)
def test_whatever_the_end_point_does_the_fallback_moves_and_it_is_said_why(script, told):
    seconds = 0.3 if "0.3 s" in told else 20.0
    with stub(script) as there:
        model, heard = model_at(there, seconds=seconds)
        move = model.choose(turn_of())

    assert move == "even"
    assert len(heard) == 1
    assert heard[0].startswith("R1M1: the model ")
    assert told in heard[0]
    assert heard[0].endswith("; the fallback plays 'even'.")
    assert KEY not in heard[0]
    assert model.spent.failures == 1


def test_where_nobody_listens_the_fallback_moves():
    with stub(silent) as there:
        pass
    model, heard = model_at(there)

    assert model.choose(turn_of()) == "even"
    assert heard == [
        "R1M1: the model could not be asked (Connection refused); the fallback plays 'even'."
    ]


@pytest.mark.parametrize("script", [silent, trickling])
def test_a_question_that_was_given_up_is_ended_and_leaves_no_thread(script):
    with stub(script) as there:
        model, _ = model_at(there, seconds=0.3)
        model.choose(turn_of())

        assert there.left.wait(20)
    asking = [thread for thread in threading.enumerate() if thread.name == "llm"]
    for thread in asking:
        thread.join(20)
    assert not any(thread.is_alive() for thread in asking)


def test_a_connection_that_comes_too_late_is_closed_without_a_question():
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        full.settimeout(20)
        waiting = [socket.socket() for _ in range(4)]
        for line in waiting:  # They fill the queue, so that nobody else gets a connection.
            line.setblocking(False)
            line.connect_ex(full.getsockname())
        known = {line.getsockname() for line in waiting}
        model, heard = model_at(None, url=f"http://127.0.0.1:{full.getsockname()[1]}/v1")
        model.choose(turn_of(seconds_left=0.5))

        late, address = full.accept()
        while address in known:
            late.close()
            late, address = full.accept()
        late.settimeout(20)
        assert late.recv(1) == b""
        for line in [late, *waiting]:
            line.close()

    assert "did not answer within 0.4 s" in heard[0]


def test_an_end_point_that_says_when_to_come_again_is_asked_once_more():
    busy = http("{}", "429 Busy", "application/json", "Retry-After: 0")

    def first_busy(line, request, there):
        line.sendall(busy if len(there.requests) == 1 else GOOD)

    with stub(first_busy) as there:
        model, _ = model_at(there)

        assert model.choose(turn_of()) == "odd"

    assert len(there.requests) == 2


def test_an_end_point_that_is_always_busy_is_asked_twice_and_no_more():
    with stub(answered("{}", "429 Busy", "application/json", "Retry-After: 0")) as there:
        model, _ = model_at(there)
        model.choose(turn_of())

    assert len(there.requests) == 2


@pytest.mark.parametrize(
    ("seconds_left", "told"),
    [
        (1.0, "did not answer within 0.8 s"),  # a fifth is left for the way back
        (0.1, "is not asked, because no time is left"),
        (-3.0, "is not asked, because no time is left"),
    ],
)
def test_the_deadline_of_the_turn_is_kept_with_a_margin(seconds_left, told):
    with stub(silent) as there:
        model, heard = model_at(there)
        move = model.choose(turn_of(seconds_left=seconds_left))

    assert move == "even"
    assert told in heard[0]
    assert "not asked" not in told or not there.requests


def test_at_most_two_seconds_are_kept_for_the_way_back():
    model, _ = model_at(type("There", (), {"base": "http://127.0.0.1:9/v1"}), seconds=600.0)

    assert model._seconds(turn_of(seconds_left=30.0)) == 28.0
    assert model._seconds(turn_of(seconds_left=5.0)) == 4.0


def test_where_a_game_lists_no_moves_nobody_is_asked_and_the_fallback_decides():
    dice = GameMoveCall(game_type="dice", match_id="R1M1", legal_moves=None)
    heard = []
    with stub(says("7")) as there:
        settings = LlmSettings(url=there.base, model="small")
        model = Llm(settings, fallback=lambda turn: 6, say=heard.append)

        assert model.choose(turn_of(dice)) == 6

    assert there.requests == []
    assert "is not asked, because the game lists no legal moves" in heard[0]


def test_the_key_is_said_no_further_even_where_the_end_point_repeats_it():
    def parrot(line, request, there):
        line.sendall(http(completion("x" * 40 + request.headers["authorization"])))

    with stub(parrot) as there:
        model, heard = model_at(there)
        model.choose(turn_of())

    assert "which is no legal move" in heard[0]
    assert KEY[:6] not in heard[0]
    assert KEY not in repr(model.settings) + str(vars(model))


def test_what_others_say_is_made_harmless_to_print():
    with stub(says("\x1b[2Jodd\r\n\u202eeven")) as there:
        model, heard = model_at(there)
        model.choose(turn_of())
    with stub(sends(b"HTTP/1.1 403 \x1b[2JNo\r\n\r\n")) as proxy:
        settings = {"proxy": f"http://127.0.0.1:{proxy.port}"}
        behind, heard_too = model_at(proxy, url="https://models.invalid/v1", **settings)
        behind.choose(turn_of())

    assert heard[0].isprintable()
    assert heard_too[0].isprintable()


def test_tokens_are_counted_as_the_end_point_reports_them_for_bad_answers_too():
    answers = iter(
        [
            completion("odd", usage=(100, 5)),
            completion("banana", usage=(10, 1)),
            completion("odd", usage=None),
            completion("odd", usage=None, usage_={}) + " ",
            completion("odd", usage=(-5, 1)),
        ]
    )
    with stub(lambda line, request, there: line.sendall(http(next(answers)))) as there:
        model, heard = model_at(there)
        for _ in range(5):
            model.choose(turn_of())

    assert model.spent == Spent(questions=5, failures=1, prompt_tokens=110, completion_tokens=6)
    assert "(105 tokens, 105 so far)" in heard[0]
    assert all("(tokens not reported)" in said for said in heard[2:])


def test_proxies_of_the_environment_are_not_heeded(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with stub(says("odd")) as there:
        model, _ = model_at(there)

        assert model.choose(turn_of()) == "odd"


def test_a_proxy_that_is_meant_is_used():
    with stub(says("odd")) as proxy:
        settings = {"proxy": f"http://127.0.0.1:{proxy.port}"}
        model, _ = model_at(proxy, url="http://models.invalid/v1", **settings)

        assert model.choose(turn_of()) == "odd"

    assert proxy.requests[0].line == "POST http://models.invalid/v1/chat/completions HTTP/1.1"


def test_https_goes_through_a_proxy_that_never_sees_the_key():
    with stub(sends(b"HTTP/1.1 403 No\r\n\r\n")) as proxy:
        settings = {"proxy": f"http://127.0.0.1:{proxy.port}"}
        model, heard = model_at(proxy, url="https://models.invalid/v1", **settings)
        model.choose(turn_of())

    assert proxy.requests[0].line.startswith("CONNECT models.invalid:443 ")
    assert "authorization" not in proxy.requests[0].headers
    assert "could not be asked (Tunnel connection failed: 403 No)" in heard[0]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate and key for 127.0.0.1."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    about = ["-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run([openssl, *command.split(), *about, *files], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("trusted", [True, False])
def test_the_key_goes_only_to_an_end_point_whose_certificate_is_trusted(
    certificate, monkeypatch, trusted
):
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    with stub(says("odd"), serving) as there:
        model, heard = model_at(there, url=f"https://127.0.0.1:{there.port}/v1")
        move = model.choose(turn_of())

    assert move == ("odd" if trusted else "even")
    assert len(there.requests) == trusted
    assert trusted or "CERTIFICATE_VERIFY_FAILED" in heard[0]


def test_an_error_nobody_thought_of_ends_in_the_fallback_too(monkeypatch):
    def stumble(*_):
        raise ZeroDivisionError(KEY)

    monkeypatch.setattr("agentleague.sdk.llm_client._check_head", stumble)
    with stub(says("odd")) as there:
        model, heard = model_at(there)

        assert model.choose(turn_of()) == "even"

    assert "could not be asked (ZeroDivisionError)" in heard[0]


def test_the_fallback_goes_by_name_and_sentences_go_to_stderr(capsys):
    with stub(says("banana")) as there:
        model = Llm(LlmSettings(url=there.base, model="small", fallback="fixed"))

        assert model.choose(turn_of()) == "even"

    assert "the fallback plays 'even'" in capsys.readouterr().err


@pytest.fixture
def environment(monkeypatch):
    """The environment of a player that is started anew."""
    llm_module.from_environment.cache_clear()
    yield monkeypatch.setenv
    llm_module.from_environment.cache_clear()


def test_the_strategy_by_name_asks_the_model_of_the_environment(environment, capsys):
    with stub(says("odd")) as there:
        environment("LEAGUE_LLM_URL", there.base)
        environment("LEAGUE_LLM_MODEL", "tiny")
        environment("LEAGUE_LLM_KEY", KEY)

        assert plugins.load_strategy("llm") is llm
        assert llm(turn_of()) == "odd"

    assert there.requests[0].body["model"] == "tiny"
    assert "the model plays 'odd'" in capsys.readouterr().err


@pytest.mark.usefixtures("environment")
def test_without_a_model_the_strategy_by_name_is_not_ready_and_says_what_it_needs():
    with pytest.raises(LeagueError, match="needs LEAGUE_LLM_URL and LEAGUE_LLM_MODEL; for exam"):
        plugins.load_strategy("llm")

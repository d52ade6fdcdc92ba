"""Ctrl-C, SIGTERM, SIGHUP at any time: a word, the right exit code, nothing lost."""

import json
import os
import signal
import socket
import subprocess

import pytest

from commands import BIN, SECONDS, environment, first_line, free_port, league, read_until, started

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows cannot signal one process")


@pytest.fixture
def silence():
    """A port where somebody listens and says nothing; the first caller can be waited for."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(SECONDS)
        yield listener


def stopped(process, number):
    process.send_signal(number)
    out, said = process.communicate(timeout=SECONDS)
    assert "Traceback" not in said
    assert "Aborted" not in said
    return process.returncode, out, said


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_question_that_is_not_answered_can_be_given_up(number, code, silence):
    process = started(BIN / "league", "standings", "--manager", silence.getsockname()[1])
    caller, _ = silence.accept()

    assert stopped(process, number) == (code, "", "Stopped.\n")
    caller.close()


@pytest.mark.parametrize(("number", "code"), SIGNALS[:2])
@pytest.mark.parametrize("players", [20, 40])  # in one process, and in several
def test_a_demo_that_is_stopped_keeps_what_was_played(number, code, players, tmp_path):
    cup = tmp_path / "cup"
    process = started(BIN / "league", "demo", "--players", players, "--dir", cup)
    first_line(process)

    returned, out, said = stopped(process, number)

    if returned == 0:  # It was over before the signal came.
        return
    assert (returned, out) == (code, "")
    assert "Stopped. What was played is kept; see it with: " in said
    assert f"league status --dir {cup}\n" in said
    status = json.loads(league("status", "--dir", cup, "--json").stdout)
    assert status["matches_completed"] > 0
    assert "true so far" in league("verify", cup).stdout


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize(
    "words",
    [
        ("play", "mine.py", "random"),
        ("demo", "--player", "mine.py"),
        ("play", "loading.py", "random"),  # before anybody has registered
    ],
)
def test_a_match_that_is_stopped_leaves_nothing_behind(number, code, words, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "mine.py").write_text(
        "import sys, time\n"
        "def choose(turn):\n"
        "    print('thinking', file=sys.stderr, flush=True)\n"
        "    time.sleep(600)\n"
    )
    (tmp_path / "loading.py").write_text("import mine\nmine.choose(None)\n")
    process = started(BIN / "league", *words, "--move-seconds", 600, cwd=tmp_path)
    read_until(process, "thinking\n")

    returned, out, said = stopped(process, number)

    assert (returned, out, said) == (code, "", "Stopped.\n")
    assert list(tmp_path.glob("league-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("role", ["manager", "referee", "player"])
def test_a_command_that_serves_until_it_is_stopped_has_done_its_work_then(role, number, tmp_path):
    where = ("--dir", tmp_path / "cup") if role == "manager" else ("--manager", free_port())
    process = started(BIN / "league", role, *where, "--port", free_port(), cwd=tmp_path)
    first_line(process)

    returned, _, _ = stopped(process, number)

    assert returned == 0


def ignoring(number, silence):
    """A command that asks and gets no answer, begun by a program that ignores this signal."""
    return subprocess.Popen(
        [BIN / "league", "standings", "--manager", str(silence.getsockname()[1])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )


def test_sigterm_ends_a_command_in_the_background_of_a_script_too(silence):
    """There SIGINT is ignored, and so would be a SIGTERM that is turned into one."""
    process = ignoring(signal.SIGINT, silence)
    caller, _ = silence.accept()

    assert stopped(process, signal.SIGTERM) == (143, "", "Stopped.\n")
    caller.close()


def test_a_command_under_nohup_outlives_its_terminal(silence):
    process = ignoring(signal.SIGHUP, silence)
    caller, _ = silence.accept()

    process.send_signal(signal.SIGHUP)

    assert stopped(process, signal.SIGTERM) == (143, "", "Stopped.\n")
    caller.close()


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("", 2)])
def test_nothing_is_done_unless_somebody_says_yes(answer, code, tmp_path):
    cup = tmp_path / "cup"
    first_line(started(BIN / "league", "manager", "--port", free_port(), "--dir", cup))

    done = subprocess.run(
        [BIN / "league", "abort", "--dir", cup],
        input=answer,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
    )

    assert done.returncode == code
    assert "nothing was done" in done.stderr
    assert "Aborted" not in done.stderr

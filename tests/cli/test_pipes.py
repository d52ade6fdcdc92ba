"""Output in a pipe, and on terminals that want none of our colours."""

import json
import os
import pty
import re
import subprocess

import pytest

from cli import snapshot
from cli.two_sources import keep
from commands import BIN, SECONDS, environment, league
from league.decisions import Decisions

ESCAPE = "\x1b"
TABLES = {  # name: what is typed; CUP is a league that was played
    "standings": "standings --dir CUP",
    "schedule": "schedule --dir CUP",
    "ratings": "ratings CUP",
    "statistics": "standings --dir CUP --statistics",
    "agents": "agents --dir CUP",
    "agent": "agent P01 --dir CUP",
    "match": "match R1M1 --dir CUP",
    "status": "status --dir CUP --metrics",
    "verify": "verify CUP",
    "games": "games",
    "strategies": "strategies",
    "play": "play random fixed --matches 3 --seed 7",
}


@pytest.fixture(scope="module")
def cup(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipes") / "cup"
    league("demo", "--dir", folder, "--seed", "7", "--referees", "1")
    return folder


def typed(words, cup):
    return [str(cup) if word == "CUP" else word for word in words.split()]


def lasting(text, cup):
    """Without times, hashes and places: they differ from run to run."""
    text = text.replace(str(cup), "CUP")
    text = re.sub(r"league_(\d{4}_)?even_odd_\w+", "LEAGUE", text)
    text = re.sub(r" *\d+\.\d{3} s|after \d+ ms|\b\d+ ms", "TIME", text)
    text = re.sub(r"\d+:[0-9a-f]{64}\b", "SEQ:HASH", text)
    text = re.sub(r"\d+ rows", "SEQ rows", text)
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)


@pytest.mark.parametrize("name", TABLES)
def test_what_a_pipe_gets_is_as_it_was_read_last(name, cup):
    done = league(*typed(TABLES[name], cup))

    assert ESCAPE not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert all(line == line.rstrip() for line in done.stdout.splitlines())
    if name != "status":  # How fast this machine is today stands there.
        snapshot.check(f"pipes/{name}", lasting(done.stdout, cup))


@pytest.mark.parametrize("name", TABLES)
def test_wherever_there_is_a_table_there_is_json_too(name, cup):
    done = league(*typed(TABLES[name], cup), "--json", "--quiet")

    assert json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_a_demo_in_a_pipe_has_its_table_on_stdout_and_its_talk_on_stderr(tmp_path):
    done = league("demo", "--seed", "7", "--dir", tmp_path / "cup")

    assert ESCAPE not in done.stdout + done.stderr
    assert "\r" not in done.stderr
    snapshot.check("pipes/demo", lasting(done.stdout, tmp_path / "cup"))
    assert "champion" not in done.stdout
    assert "champion" in done.stderr


@pytest.mark.parametrize("name", ["standings", "schedule", "strategies", "verify"])
def test_a_reader_who_takes_one_line_is_no_error(name, cup):
    words = " ".join([f"'{BIN / 'league'}'", *typed(TABLES[name], cup)])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} | head -1"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
    )

    assert done.returncode == 0
    assert not done.stderr or done.stderr.count("is the champion") == done.stderr.count("\n") == 1
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("name", ["standings", "schedule", "strategies"])
def test_a_reader_who_has_gone_already_is_no_error(name, cup):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [BIN / "league", *typed(TABLES[name], cup)],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=SECONDS,
        env=environment(),
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_result_that_cannot_be_written_is_an_error(cup):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [BIN / "league", "standings", "--dir", cup],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
            env=environment(),
        )

    assert done.returncode == 1
    assert done.stderr == ("Error: No space left on device; make room, then type the same again\n")


def on_a_terminal(*arguments, **variables):
    """What a terminal is sent, from stdout and stderr together."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in environment().items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [BIN / "league", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm-256color", "COLUMNS": "100", **variables},
    )
    os.close(theirs)
    sent = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed.
            break
        if not piece:
            break
        sent += piece
    os.close(ours)
    assert process.wait(SECONDS) == 0, sent.decode()
    return sent.decode()


@pytest.mark.parametrize(
    ("variables", "is_plain"),
    [
        ({}, False),
        ({"NO_COLOR": ""}, False),  # As no-color.org has it: empty is as if it were not there.
        ({"NO_COLOR": "1"}, True),
        ({"NO_COLOR": "0"}, True),
        ({"TERM": "dumb"}, True),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, True),
    ],
)
def test_a_terminal_gets_colours_and_a_bar_unless_it_wants_none(variables, is_plain, tmp_path):
    sent = on_a_terminal("demo", "--dir", tmp_path / "cup", **variables)

    assert (ESCAPE not in sent) == is_plain
    assert ("Round 3 of 3 is over" in sent) == is_plain
    assert "is the champion" in sent


def test_what_a_player_prints_stands_in_lines_of_its_own_beside_the_bar(tmp_path):
    (tmp_path / "talks.py").write_text(
        "import time\n"
        "def choose(turn):\n"
        "    time.sleep(0.3)  # The bar is drawn by then.\n"
        "    print('I choose in', turn.match_id)\n"
        "    return 'even'\n"
    )

    sent = on_a_terminal("play", tmp_path / "talks.py", "random", "--matches", 2)

    plain = re.sub(r"\x1b\[2K|\r(?!\n)", "\n", sent)  # What begins or empties a line.
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", plain).split("\n")
    assert [line.strip() for line in lines if "choose" in line] == [
        "I choose in R1M1",
        "I choose in R2M1",
    ]


def test_what_is_long_is_cut_on_a_terminal_with_the_command_that_shows_all(tmp_path):
    where = ("--dir", keep(Decisions(50).start(), tmp_path))

    table, schedule = on_a_terminal("standings", *where), on_a_terminal("schedule", *where)

    assert f"… 10 more players; see all with: league standings --dir {tmp_path} --all" in table
    assert f"… 47 more rounds; see all with: league schedule --dir {tmp_path} --all" in schedule
    assert "P40" in table
    assert ("R2M25" in schedule, "R3M1 " in schedule) == (True, False)
    assert "R49M25" in on_a_terminal("schedule", "--all", *where)
    assert "P50" in league("standings", *where).stdout  # A pipe gets all.


def test_a_pipe_gets_no_colours_even_if_they_are_forced(cup):
    done = subprocess.run(
        [BIN / "league", "standings", "--dir", cup],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**environment(), "FORCE_COLOR": "1", "NO_COLOR": ""},
    )

    assert ESCAPE not in done.stdout


def test_in_one_file_the_result_comes_before_what_is_said_of_it(cup):
    done = subprocess.run(
        [BIN / "league", "status", "--dir", cup],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        env={**environment(), "PYTHONUNBUFFERED": ""},
        text=True,
        check=True,
    )

    assert done.stdout.index("Champion") < done.stdout.index("The last row was written")

"""The likeliest mistakes: what is said of each, word by word, and the code it exits with."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import pytest

import commands
from cli import snapshot
from cli.in_process import league
from commands import BIN, SECONDS, environment, first_line, free_port, started

MISTAKES = {  # name: what is typed; CUP is a league that was played, BUSY and FREE are ports
    "nothing": "",
    "a-command-misspelt": "standing",
    "a-command-by-another-name": "table",
    "a-command-unlike-any": "qqqq",
    "a-command-as-an-option": "--standings",
    "a-sub-command-that-is-not": "new agent mine",
    "an-option-misspelt": "demo --payers 4",
    "an-option-without-its-value": "demo --player",
    "a-flag-with-a-value": "games --json=yes",
    "a-number-for-a-player": "demo --player 3",
    "players-too-few": "demo --players 1",
    "players-no-number": "demo --players two",
    "seconds-no-number": "bench --seconds long",
    "players-without-the-option": "demo 12",
    "a-player-without-the-option": "demo ./broken.py",
    "a-directory-without-the-option": "remove P01 CUP",
    "a-directory-named-twice": "standings CUP --dir CUP",
    "a-directory-of-other-things": "demo --dir ./full",
    "a-game-that-is-not": "demo --game chess",
    "a-game-misspelt": "demo --game even-odd",
    "a-game-file-that-is-not": "demo --game ./chess.py",
    "a-game-file-that-is-none": "demo --game ./broken.py",
    "a-directory-played-in": "demo --dir CUP",
    "a-directory-that-is-a-file": "demo --dir ./broken.py",
    "one-agent-alone": "play random",
    "an-agent-too-many": "play random fixed pattern",
    "an-agent-too-many-until-it-is-clear": "play random fixed pattern --until 95%",
    "more-than-certain": "play random fixed --until 101%",
    "a-confidence-that-is-no-number": "play random fixed --until sure",
    "no-margin-at-all": "play random fixed --until 95% --margin 0",
    "a-margin-of-nothing": "play random fixed --margin 10",
    "until-it-is-clear-after-one": "play random fixed --until 95% --matches 1",
    "a-player-file-that-is-not": "player nofile.py",
    "a-strategy-that-is-not": "player --strategy minmax",
    "a-strategy-misspelt": "play randon fixed",
    "a-strategy-without-the-option": "player random",
    "a-strategy-and-a-file": "player ./broken.py --strategy random",
    "an-address-that-is-none": "referee --manager banana",
    "a-player-without-its-address": "referee --player P01",
    "a-player-where-nobody-calls": "referee --player P01=http://10.0.0.7:8101/mcp",
    "an-address-that-is-ftp": "standings --manager ftp://127.0.0.1/mcp",
    "a-port-that-is-busy": "manager --port BUSY --players 2 --dir ./new",
    "a-bind-that-is-elsewhere": "manager --port FREE --bind 192.0.2.1 --players 2 --dir ./new",
    "no-manager-there": "standings --manager FREE",
    "two-places-to-read-from": "standings --dir CUP --manager FREE",
    "no-league-in-a-directory": "status --dir ./empty",
    "no-directory": "schedule --dir ./nowhere",
    "a-journal-that-is-none": "standings --dir ./garbled",
    "a-round-that-is-not": "schedule --dir CUP --round 9",
    "a-match-that-is-not": "match R9M9 --dir CUP",
    "an-agent-that-is-not": "agent P99 --dir CUP",
    "a-kind-that-is-not": "agents --dir CUP --kind manager",
    "verify-nowhere": "verify nowhere",
    "a-receipt-that-is-none": "verify CUP --receipt 41",
    "a-receipt-of-another-league": "verify CUP --receipt 3:" + "0" * 64,
    "export-to-nowhere": "export CUP",
    "export-over-other-files": "export CUP --out ./full",
    "start-without-a-key": "start --dir ./empty",
    "pause-without-a-manager": "pause --dir CUP",
    "abort-after-the-end": "abort --dir CUP",
    "remove-without-a-player": "remove",
    "new-over-a-folder": "new player full",
    "new-with-a-bad-name": "new player my-player",
    "new-with-a-digit-first": "new player 3ada",
    "new-without-a-name": "new player",
    "a-message-that-is-not": "schema GAME_INVITE",
    "a-shell-that-is-not": "completion tcsh",
}
IN_FILES = {  # likewise, but they start a process for the file
    "a-player-file-that-is-broken": "play ./broken.py random",
    "a-game-misspelt-in-a-player": "play ./typo.py random",
    "a-decorator-without-brackets": "play ./bare.py random",
}
PLAYER = """from agentleague import Player

player = Player("Mine")

@player.plays{}
def choose(turn):
    return "even"
"""


@pytest.fixture(scope="module")
def cup(tmp_path_factory):
    """A league that was played; no command of these changes it."""
    folder = tmp_path_factory.mktemp("mistakes") / "cup"
    league("demo", "--dir", folder, "--seed", "7")
    (folder / "manager.lock").unlink(missing_ok=True)
    return folder


@pytest.fixture
def room(cup, tmp_path):
    """A directory with what people have lying about."""
    shutil.copytree(cup, tmp_path / "cup")
    (tmp_path / "cup" / "admin.token").write_text("adm_1")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("Dear\n")
    (tmp_path / "garbled").mkdir()
    (tmp_path / "garbled" / "journal.sqlite").write_text("no database\n" * 100)
    (tmp_path / "typo.py").write_text(PLAYER.format('("even_od")'))
    (tmp_path / "bare.py").write_text(PLAYER.format(""))
    (tmp_path / "broken.py").write_text("def choose(turn)\n    return 1\n")
    return tmp_path


def typed(words, room, ports, run=league):
    """Run it; its code, and what it said with what differs from day to day left out."""
    places = {"CUP": "./cup", **{name: str(port) for name, port in ports.items()}}
    arguments = [places.get(word, word) for word in words.split()]
    done = run(*arguments, cwd=room, check=False)
    return done.returncode, *(lasting(text, room, ports) for text in (done.stderr, done.stdout))


def lasting(text, room, ports):
    text = text.replace(str(room), "ROOM")
    text = re.sub(r"looked up \(.*?\)", "looked up (WHY)", text)  # Each system says it otherwise.
    for name, port in ports.items():
        text = text.replace(str(port), name)
    text = re.sub(r"league_(\d{4}_)?even_odd_\w+", "LEAGUE", text)
    return re.sub(r"\b(?!0{64})[0-9a-f]{64}\b", "HASH", text)


def test_each_mistake_is_answered_as_it_was_read_last(room):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        ports = {"BUSY": other.getsockname()[1], "FREE": free_port()}
        for name, words in MISTAKES.items():
            check_mistake(name, words, room, ports)


def test_each_mistake_in_a_file_is_answered_as_it_was_read_last(room):
    for name, words in IN_FILES.items():
        check_mistake(name, words, room, {}, commands.league)


def check_mistake(name, words, room, *how):
    code, said, out = typed(words, room, *how)
    assert "Traceback" not in said, name
    assert "Errno" not in said, name
    assert code in (1, 2, 3), name
    assert out == "" or code == 3, name
    snapshot.check(f"mistakes/{name}", f"$ league {words}\n{said}{out}exit {code}\n")


def test_two_managers_do_not_write_to_one_directory(room):
    ports = {"FIRST": free_port(), "SECOND": free_port()}
    options = ("--players", "2", "--dir", room / "new")
    first_line(started(BIN / "league", "manager", *options, "--port", ports["FIRST"], cwd=room))

    code, said, _ = typed("manager --players 2 --dir ./new --port SECOND", room, ports)

    snapshot.check("mistakes/a-directory-of-another-manager", f"{said}exit {code}\n")
    assert code == 1


def test_an_agent_whose_manager_does_not_answer_says_that_it_goes_on_trying(room):
    ports = {"OWN": free_port(), "FREE": free_port()}
    options = ("--manager", ports["FREE"], "--port", ports["OWN"], "--state", room / "state")
    referee = started(BIN / "league", "referee", *options, cwd=room)
    said = first_line(referee) + first_line(referee)

    referee.send_signal(signal.SIGINT)
    referee.communicate(timeout=SECONDS)

    snapshot.check("mistakes/a-manager-that-does-not-answer", lasting(said, room, ports))
    assert referee.returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_is_not_ones_own_is_said_with_what_to_do(room):
    (room / "empty").chmod(0o500)

    code, said, _ = typed("export CUP --out ./empty/out", room, {})

    assert code == 1
    assert "Permission denied; you have no right to it" in said


def test_there_is_no_snapshot_of_a_mistake_that_is_gone():
    others = {"a-directory-of-another-manager", "a-manager-that-does-not-answer"}
    assert snapshot.names("mistakes") == {*MISTAKES, *IN_FILES, *others}


def test_a_directory_is_understood_however_it_is_named(cup):
    for command in ("standings", "status", "verify", "agent P01", "match R1M1"):
        first, *others = (
            league(*command.split(), *named.format(cup).split()).stdout
            for named in ("--dir {}", "{}", "{}/journal.sqlite")
        )

        assert first
        assert others == [first, first], command


def test_help_is_given_before_or_after_the_command():
    assert league("help", "play").stdout == league("play", "--help").stdout
    assert league("help").stdout == league("--help").stdout


def test_the_package_is_the_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "agentleague", "--version"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
        check=True,
    )

    assert done.stdout == league("--version").stdout

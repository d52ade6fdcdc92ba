"""A disk that is full or fails: nobody is told what is not on it, and the league goes on."""

import json
import resource
import shutil
import signal
import urllib.error
import urllib.request

import pytest

from agentleague.records.reading import read_rows
from commands import league
from crash.cup import SECONDS, Cup, Disk, until
from crash.small_disk import SmallDisk

LONG = {"cycles": 8}


def asked(cup):
    """The status and Retry-After of the manager's answer to a query, if it answers soon."""
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": "player:P01",
        "timestamp": "2026-01-01T00:00:00Z",
        "conversation_id": "conv-1",
        "query_type": "GET_STATUS",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "league_query", "params": params}
    request = urllib.request.Request(
        cup.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=1) as answer:
            return answer.status, answer.headers["Retry-After"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Retry-After"]
    except TimeoutError:  # Asked while something was on its way to disk: the answer waits for it.
        return None


def playing(home, disk=None, **more):
    cup = Cup(home, rules=LONG, run=0.02, disk=disk, **more).open()
    until(cup.is_playing, "the first result is told")
    return cup


def filled(cup):
    """The disk is full, and the manager says so; whatever anybody was told is on it."""
    cup.disk.fill()
    until(lambda: asked(cup) == (503, "1"), "requests are answered with 503")
    with pytest.raises(urllib.error.HTTPError, match="503") as full:
        urllib.request.urlopen(cup.url.replace("/mcp", "/health"), timeout=10)
    with full.value as answer:
        assert json.load(answer)["status"] == "full"
    told = cup.receipts()
    written = {f"{row.seq}:{row.hash.hex()}" for row in read_rows(cup.disk.directory)}
    assert told
    assert told <= written


@pytest.mark.parametrize("kind", [Disk, SmallDisk])
def test_a_full_disk_is_waited_out_by_the_whole_league(kind, tmp_path):
    cup = playing(tmp_path, kind(tmp_path))

    filled(cup)
    cup.disk.free()

    cup.ends().check()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Disk, SmallDisk])
def test_a_manager_killed_on_a_full_disk_goes_on_when_there_is_room(kind, tmp_path):
    cup = playing(tmp_path, kind(tmp_path))
    filled(cup)

    cup.kill("manager")
    cup.disk.free()
    cup.start("manager")

    cup.ends().check()


def test_a_manager_started_again_on_a_full_disk_goes_on_when_there_is_room(tmp_path):
    cup = playing(tmp_path, SmallDisk(tmp_path))
    filled(cup)

    cup.kill("manager")
    cup.start("manager")
    until(lambda: cup.said("manager").count(cup.url) == 2, "the manager listens again")
    cup.disk.free()

    cup.ends().check()


def test_a_league_is_not_begun_on_a_full_disk_and_the_sentence_says_so(tmp_path):
    disk = SmallDisk(tmp_path)
    disk.fill()
    cup = Cup(tmp_path, disk=disk)

    cup.start("manager")

    assert cup.processes["manager"].wait(SECONDS) == 1
    assert "No space left on device" in cup.said("manager")
    assert "--port" not in cup.said("manager")
    assert "Traceback" not in cup.said("manager")


@pytest.mark.slow
def test_ctrl_c_on_a_full_disk_shows_the_table_that_is_on_it_and_loses_nothing(tmp_path):
    cup = playing(tmp_path, SmallDisk(tmp_path))
    filled(cup)

    cup.processes["manager"].send_signal(signal.SIGINT)
    assert cup.processes["manager"].wait(SECONDS) == 0
    table = league("standings", "--dir", cup.disk.directory).stdout
    assert table.split(":")[1] in cup.said("manager")
    cup.disk.free()
    cup.start("manager")

    cup.ends().check()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others are set on Linux")
def test_a_disk_that_fails_ends_the_manager_with_a_sentence_and_a_restart_resumes(tmp_path):
    cup = playing(tmp_path)

    size = (cup.disk.directory / "journal.sqlite-wal").stat().st_size
    resource.prlimit(cup.processes["manager"].pid, resource.RLIMIT_FSIZE, (size, size))
    assert cup.processes["manager"].wait(SECONDS) == 1
    assert "Error: cannot write the journal in" in cup.said("manager")
    assert "Traceback" not in cup.said("manager")
    cup.start("manager")

    cup.ends().check()


class BrokenDisk(Disk):
    """From some sync on, every sync fails; strace tells the manager so."""

    def __init__(self, home):
        super().__init__(home)
        fault = "inject=fdatasync:error=EIO:when=25+"
        self.prefix = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", fault)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_sync_that_fails_ends_the_manager_and_a_restart_resumes(tmp_path):
    cup = playing(tmp_path, BrokenDisk(tmp_path))

    assert cup.processes["manager"].wait(SECONDS) == 1
    assert "Error: cannot write the journal in" in cup.said("manager")
    cup.disk.prefix = ()
    cup.start("manager")

    cup.ends().check()

"""`league demo --human`: a league on this machine that keeps a seat for a person."""

import re
import signal
from urllib.error import URLError

import pytest
from click.testing import CliRunner

from agentleague.cli.commands.demo import command as demo_command
from agentleague.dashboard import process
from agentleague.errors import LeagueError
from commands import BIN, SECONDS, read_until, started
from dashboard.person import Person


def demo(*options, cwd):
    """A demo that waits for its person, and the link that it printed."""
    running = started(BIN / "league", "demo", "--human", *options, cwd=cwd)
    said = read_until(running, "/play/")
    link = re.search(r"(http://[^/]+)(/play/(seat_\w+)\?name=(\S+))", said)
    return running, Person(link[1]), link


def test_the_league_begins_when_the_person_sits_down_and_its_pages_stay_after_it(tmp_path):
    options = ("Ann Lee", "--players", 3, "--game", "tic_tac_toe", "--dir", "cup")
    running, ann, link = demo(*options, cwd=tmp_path)

    form = ann.open(link[2])
    ann.open("/play/join", {"name": "Ann Lee"})
    ann.play()
    said = read_until(running, "The pages stay")
    end = ann.open("/play")
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=SECONDS)

    assert 'value="Ann Lee"' in form
    assert "until you press Ctrl-C" in said
    assert re.search(
        r"Ann Lee, you are number . of 3\. .+ is the champion with", end
    )  # from the journal: the manager has ended
    assert running.returncode == 0, err
    assert "final table" in out
    assert link[3] not in out + err + said
    with pytest.raises(URLError):
        ann.open("/play")


def test_who_does_not_sit_down_ends_it_with_ctrl_c(tmp_path):
    running, _, _ = demo(cwd=tmp_path)

    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=SECONDS)

    assert running.returncode == 130
    assert out == ""
    assert "Stopped. Come back whenever you like: " in err


def test_without_the_packages_for_pages_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(process, "has_extra", lambda: False)

    result = CliRunner().invoke(demo_command, ["--human"])

    assert isinstance(result.exception, LeagueError)
    assert "python -m pip install jinja2 starlette uvicorn" in str(result.exception)

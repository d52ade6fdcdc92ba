"""Settings as a person meets them: `league init`, a file, the environment, options."""

import json
import sys
import tomllib

import pytest

from agentleague.cli.commands import manager
from agentleague.league.events import LeagueOpened
from agentleague.protocol.join_codes import is_guessable
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.settings import describe
from agentleague.runtime.state_files import write_secrets
from cli import in_process
from commands import BIN, SECONDS, first_line, free_port, league, read_until, started
from records.journals import changed, played, written

ROLES = {"manager": ManagerSettings, "referee": RefereeSettings, "player": PlayerSettings}


@pytest.mark.parametrize("role", ROLES)
def test_init_writes_every_setting_of_a_role_and_takes_them_back(role, tmp_path):
    league("init", "cup.toml", "--for", role, cwd=tmp_path)

    text = (tmp_path / "cup.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == {}  # All is commented out.
    names = [row.name for row in describe(ROLES[role])]
    switched_on = "\n".join(
        line.removeprefix("# ")
        for line in text.splitlines()
        if any(line.startswith((f"# {name} = ", f"# [{name}]")) for name in names)
    )
    values = tomllib.loads(switched_on)
    assert sorted(values) == sorted(names)
    if role == "manager":  # They are made for this file.
        made = {values.pop("join_code"), values.pop("referee_code")}
        assert [is_guessable(each) for each in made] == [False, False]
    for row in describe(ROLES[role]):
        if row.value is not None and row.name in values:
            value = list(row.value) if isinstance(row.value, tuple) else row.value
            assert values[row.name] == value, row.name


def test_init_says_what_to_do_next_and_changes_no_file_that_is_there(tmp_path):
    done = league("init", "my cup.toml", cwd=tmp_path)
    (tmp_path / "my cup.toml").write_text("cycles = 2\n")
    again = league("init", "my cup.toml", cwd=tmp_path, check=False)

    assert "league manager 'my cup.toml'" in done.stderr
    assert again.returncode == 1
    assert "my cup.toml exists already and is not changed" in again.stderr
    assert (tmp_path / "my cup.toml").read_text() == "cycles = 2\n"


def test_init_wants_a_name_by_which_the_file_is_known(tmp_path):
    done = league("init", "cup", cwd=tmp_path, check=False)

    assert done.returncode == 2
    assert "cup does not end with .toml; say: league init cup.toml" in done.stderr


def test_a_league_is_played_by_its_file_the_environment_and_options(tmp_path, monkeypatch):
    port = free_port()
    (tmp_path / "cup.toml").write_text(
        f'game_type = "rock_paper_scissors"\nplayers = 2\ncycles = 3\nport = {port}\n'
        'win_points = 1\nleague_id = "cup_a"\njoin_code = "tipuf-sajil-gikop"\n'
        "[game_options]\nbest_of = 5\n"
    )
    monkeypatch.setenv("LEAGUE_WIN_POINTS", "5")
    monkeypatch.setenv("LEAGUE_MOVE_SECONDS", "7.5")
    manager = started(BIN / "league", "manager", "cup.toml", "--cycles", 2, "--exit", cwd=tmp_path)
    assert first_line(manager).startswith("cup_a: the manager is at")
    monkeypatch.setenv("LEAGUE_MANAGER", str(port))
    (tmp_path / "agent.toml").write_text('join_code = "tipuf-sajil-gikop"\nport = 0\n')
    agents = [
        started(BIN / "league", role, "--config", "agent.toml", *more, cwd=tmp_path)
        for role, *more in (["referee"], ["player", "--name", "Ann"], ["player", "--name", "Bob"])
    ]

    _, err = manager.communicate(timeout=SECONDS)
    for agent in agents:
        agent.communicate(timeout=SECONDS)

    assert manager.returncode == 0, err
    status = json.loads(league("status", "--dir", "cup", "--json", cwd=tmp_path).stdout)
    assert (status["league_id"], status["game_type"]) == ("cup_a", "rock_paper_scissors")
    assert status["total_matches"] == 2
    rows = json.loads(league("standings", "--dir", "cup", "--json", cwd=tmp_path).stdout)
    assert {row["display_name"] for row in rows} == {"Ann", "Bob"}
    assert sum(row["points"] for row in rows) == sum(5 * row["wins"] + row["draws"] for row in rows)
    assert league("verify", "cup", cwd=tmp_path).returncode == 0


WRONG = [
    (
        "move_second = 3",
        (),
        "cup.toml, line 1: there is no setting 'move_second'; did you mean",
    ),
    (
        "",
        ("--players", "one"),
        "--players must be a whole number from 2 to 1,000,000, not 'one'",
    ),
    ("", ("--port", "99999"), "--port must be a whole number from 0 to 65,535, not '99999'"),
    (
        "players = 5\nplayers_max = 4",
        (),
        "cup.toml, line 1: players is 5, and players_max is 4; raise the latter",
    ),
    (
        "referees = 101",
        (),
        "line 1: referees is 101, and referees_max is 100; raise the latter",
    ),
    ("draw_points = 4", (), "line 1: draw_points is 4, and win_points is 3; raise the latter"),
    ("", ("--loss-points", 2), "--loss-points is 2, and draw_points is 1; raise the latter"),
    ("\ntie_breaks = ['wins', 'wins']", (), "line 2: tie_breaks names one twice; leave it out"),
    ("format = 'swiss'\ncycles = 2", (), "line 2: cycles is for round robins, and no stage is one"),
    (
        "format = 'knockout'\nbest_of = 3",
        (),
        "line 2: there is no setting 'best_of'; put it into format_options: [format_options] bes",
    ),
    (
        "start_at = '2126-12-01T18:00:00Z'",
        ("--start-after-seconds", 9),
        "line 1: start_at and --start-after are both given; leave one out",
    ),
    ("late = 'next_stage'", (), 'line 1: late is "next_stage", and there is one stage only; writ'),
    (
        "late = 'play_remaining'\nformat = 'knockout'",
        (),
        'late is "play_remaining", and a knockout takes nobody in who comes late; write "refuse"',
    ),
    (
        "late = 'play_remaining'",
        (),
        "and a round robin of one cycle takes nobody in who comes late",
    ),
    (
        "format = 'swiss'\n[format_options]\nadvance = 4",
        (),
        "line 2: format_options has advance in the last stage, after which nobody goes on",
    ),
    (
        "lan = ['192.168.1.7/24']",
        (),
        "line 1: lan cannot be: '192.168.1.7/24' is no network; did you mean 192.168.1.0/24?",
    ),
    (
        "network = 'lan'\nreferee_access = 'local'",
        (),
        'cup.toml, line 2: referee_access is "local", which holds on one machine only: write "code',
    ),
    ("endpoint = 'here'", (), "cup.toml, line 1: endpoint cannot be: The URL 'here' does not"),
    ("bind = '0'", (), "cup.toml, line 1: bind cannot be: '0' is no address; write one of"),
    ("game_type = 'even_od'", (), "cup.toml, line 1: game_type cannot be: "),
    (
        "[game_options]\nplayers = 3",
        (),
        "line 1: game_options holds 'players', a setting of the league; move it above [game_",
    ),
    (
        "[game_options]\nlow = 2",
        (),
        "cup.toml, line 1: game_options cannot be: even_odd has no option 'low'",
    ),
]


def test_a_manager_with_a_setting_that_cannot_be_does_not_begin(tmp_path):
    for text, arguments, sentence in WRONG:
        (tmp_path / "cup.toml").write_text(text)

        done = in_process.league("manager", "cup.toml", *arguments, cwd=tmp_path, check=False)

        assert done.returncode == 2
        assert sentence in done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "cup").exists()


def test_a_league_that_goes_on_keeps_the_rules_it_was_begun_with(tmp_path):
    port = free_port()
    (tmp_path / "cup.toml").write_text(f"port = {port}\nmove_seconds = 7\n")
    manager = started(BIN / "league", "manager", "cup.toml", cwd=tmp_path)
    first_line(manager)
    manager.terminate()
    manager.communicate(timeout=SECONDS)

    done = league("manager", "cup.toml", "--move-seconds", 8, cwd=tmp_path, check=False)

    assert done.returncode == 1
    assert "was begun with move_seconds = 7.0, and now it is 8.0" in done.stderr
    assert "remove it with: rm -r cup and then type the same again" in done.stderr


@pytest.mark.parametrize(
    "place", ["cup.toml, line 1: join_code", "LEAGUE_JOIN_CODE", "--join-code"]
)
def test_no_league_begins_with_a_join_code_that_can_be_guessed(tmp_path, place):
    (tmp_path / "cup.toml").write_text('join_code = "4711"\n' if "toml" in place else "")
    option = ["--join-code", "4711"] if place == "--join-code" else []
    variable = {place: "4711"} if place.isupper() and not option else {}

    done = in_process.league("manager", "cup.toml", *option, cwd=tmp_path, check=False, **variable)

    assert done.returncode == 2
    said, _, code = done.stderr.splitlines()[0].rpartition(": ")
    assert said.startswith(f"Error: {place} can be guessed; take three words that chance put ")
    assert not is_guessable(code)
    assert "4711" not in done.stderr
    assert not (tmp_path / "cup").exists()


def test_nor_with_a_referee_code_that_can(tmp_path):
    (tmp_path / "cup.toml").write_text('referee_code = "4711"\n')

    done = in_process.league("manager", "cup.toml", cwd=tmp_path, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("Error: cup.toml, line 1: referee_code can be guessed; take thr")


def test_a_league_that_is_there_goes_on_with_a_join_code_that_can_be_guessed(tmp_path, monkeypatch):
    written(tmp_path / "league", changed(played(), LeagueOpened, has_join_code=True)[:5])
    write_secrets(tmp_path / "league", None)
    monkeypatch.setenv("LEAGUE_JOIN_CODE", "4711")

    manager = started(BIN / "league", "manager", "--port", free_port(), cwd=tmp_path)

    assert first_line(manager).startswith("The join code can be guessed; take three words")
    read_until(manager, "the manager is at")


def test_a_league_begun_with_a_join_code_does_not_go_on_without_it(tmp_path, monkeypatch):
    port = free_port()
    command = ("manager", "--port", port, "--join-code", "tipuf-sajil-gikop")
    manager = started(BIN / "league", *command, cwd=tmp_path)
    first_line(manager)
    assert "The join code is the one of the documentation" in first_line(manager)
    manager.terminate()
    _, err = manager.communicate(timeout=SECONDS)

    assert "tipuf-sajil-gikop" not in err
    assert err.endswith("Continue with: league manager --dir league\n")
    (tmp_path / "league" / "manager.settings").unlink()  # as an older agentleague left it
    refused = league("manager", "--port", port, cwd=tmp_path, check=False)
    assert refused.returncode == 1
    assert (
        "was begun with a join code, and now there is none; give it with LEAGUE_J" in refused.stderr
    )
    monkeypatch.setenv("LEAGUE_JOIN_CODE", "tipuf-sajil-gikop")
    first_line(started(BIN / "league", "manager", "--port", port, cwd=tmp_path))
    assert json.loads(league("status", "--manager", port, "--json").stdout)["players"] == 0


def test_a_manager_that_stopped_is_started_as_it_was_begun(tmp_path):
    (tmp_path / "cup.toml").write_text(f"port = {free_port()}\nmove_seconds = 7\n")
    manager = started(BIN / "league", "manager", "cup.toml", cwd=tmp_path)
    first_line(manager)
    manager.kill()
    manager.communicate()

    done = league("pause", "--dir", "cup", cwd=tmp_path, check=False)

    assert done.returncode == 1
    assert "no manager runs in cup; start it with: league manager --dir cup\n" in done.stderr


def test_the_command_for_another_league_has_a_place_for_each_code_and_not_the_code(monkeypatch):
    typed = "league manager --dir a --join-code secret --referee-code=secret --players 2"
    monkeypatch.setattr(sys, "argv", typed.split())

    assert manager._this_command() == (
        "league manager --join-code CODE --referee-code=CODE --players 2"
    )
    assert is_guessable("CODE")  # Whoever leaves it there is told so.


@pytest.mark.parametrize("start", ["--start-at 2026-12-01T18:00Z", "--start-at=2026-12-01T18:00Z"])
def test_the_command_for_another_league_names_no_time_that_is_past(monkeypatch, start):
    monkeypatch.setattr(sys, "argv", f"league manager --players 2 {start} --late no".split())

    assert manager._this_command() == "league manager --players 2 --late no"


def test_an_agent_with_an_end_point_of_its_own_says_where_it_listens_and_where_it_is_called():
    port, url = free_port(), "http://127.0.0.1:9/mcp"
    player = started(BIN / "league", "player", "--port", port, "--endpoint", url)

    assert f" listens on port {port}, is called at {url} and registers at " in first_line(player)

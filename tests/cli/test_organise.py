"""The organiser's commands, against a manager that runs."""

import json

from commands import BIN, SECONDS, first_line, free_port, league, started


def a_manager(cup, *options):
    port = free_port()
    manager = started(BIN / "league", "manager", "--port", port, "--dir", cup, *options)
    first_line(manager)
    return manager, f"http://127.0.0.1:{port}/mcp"


def agents(url, players=2):
    """A referee and players, once they are registered."""
    found = [started(BIN / "league", "referee", "--manager", url, "--port", "24001")]
    found += [
        started(
            BIN / "league", "player", "--manager", url, "--name", f"Player {n}", "--port", 24101
        )
        for n in range(players)
    ]
    for agent in found:
        first_line(agent)
        assert "Registered as" in agent.stderr.readline()
    return found


def test_a_league_waits_for_its_organiser_to_start_it(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--exit")
    early = league("start", "--dir", cup, check=False)
    found = agents(url)

    said = league("start", "--dir", cup).stdout
    out, err = manager.communicate(timeout=SECONDS)

    assert early.returncode == 1
    assert "a league needs two players, and none is registered" in early.stderr
    assert said == "The league has begun: 1 rounds.\n"
    assert manager.returncode == 0, err
    assert "final table" in out
    for agent in found:
        agent.communicate(timeout=SECONDS)


def test_a_league_is_aborted_only_if_that_is_meant(tmp_path):
    cup = tmp_path / "cup"
    manager, _ = a_manager(cup, "--exit")

    asked = league("abort", "--dir", cup, check=False)
    said = league("abort", "--yes", "--dir", cup).stdout
    manager.communicate(timeout=SECONDS)

    assert asked.returncode == 1
    assert "for good?" in asked.stderr
    assert "is aborted" in said
    assert manager.returncode == 0
    assert json.loads(league("status", "--dir", cup, "--json").stdout)["aborted"] is True


def test_a_player_that_is_not_there_cannot_be_removed(tmp_path):
    cup = tmp_path / "cup"
    a_manager(cup)

    refused = league("remove", "P03", "--dir", cup, check=False)
    paused = league("pause", "--dir", cup, check=False)

    assert "no player 'P03' is registered; see: league agents" in refused.stderr
    assert "only a league that runs can be paused" in paused.stderr


def test_without_a_manager_a_command_says_what_to_type(tmp_path):
    nothing = league("start", "--dir", tmp_path / "nowhere", check=False)
    assert nothing.returncode == 1
    assert "name the manager's directory with --dir" in nothing.stderr

    cup = tmp_path / "cup"
    manager, _ = a_manager(cup)
    manager.kill()
    manager.communicate()
    dead = league("start", "--dir", cup, check=False)
    assert dead.returncode == 1
    assert "is it running?" in dead.stderr


def test_the_documents_files_are_kept_current_while_the_league_runs(tmp_path):
    cup, shared = tmp_path / "cup", tmp_path / "shared"
    manager, url = a_manager(cup, "--players", "2", "--exit", "--shared-dir", shared)
    found = agents(url)
    manager.communicate(timeout=SECONDS)
    for agent in found:
        agent.communicate(timeout=SECONDS)

    (table,) = shared.rglob("standings.json")
    rows = json.loads(table.read_text())["standings"]
    assert [row["player_id"] for row in rows] == [
        row["player_id"] for row in json.loads(league("standings", "--dir", cup, "--json").stdout)
    ]
    assert (shared / "config/agents/agents_config.json").exists()


def test_the_log_has_no_token_and_every_line_is_json(tmp_path):
    cup = tmp_path / "cup"
    manager, url = a_manager(cup, "--players", "2", "--exit")
    found = agents(url)
    manager.communicate(timeout=SECONDS)
    for agent in found:
        agent.communicate(timeout=SECONDS)

    text = (cup / "log" / "manager.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert {"player_registered", "match_decided", "league_ended"} <= {x["event"] for x in lines}
    assert all(secret not in text for secret in ("tok_", "ses_", "adm_"))

"""`league player` and `league referee` come back as themselves, and know the join code."""

import json

from commands import BIN, first_line, free_port, league, started


def a_manager(tmp_path, *more):
    port = free_port()
    process = started(
        BIN / "league", "manager", "--port", port, "--dir", tmp_path / "league", *more
    )
    first_line(process)
    return f"http://127.0.0.1:{port}/mcp"


def where(url, tmp_path):
    return ("--manager", url, "--port", 0, "--state", tmp_path / "state")


def registered(process):
    """Under which id a command was taken in."""
    for sentence in process.stderr:
        if "Registered as " in sentence:
            return sentence.split("Registered as ")[1].split()[0]
    raise AssertionError("it never registered")


def killed(process):
    process.kill()
    process.wait()


def test_a_command_that_was_killed_is_the_same_agent_when_it_is_given_again(tmp_path):
    url = a_manager(tmp_path)
    ids = []
    for kind in ("player", "referee"):
        command = (BIN / "league", kind, *where(url, tmp_path))
        for _ in range(2):
            process = started(*command)
            ids.append(registered(process))
            killed(process)
        ids.append(registered(started(*command, "--name", "Another")))

    assert ids == ["P01", "P01", "P02", "REF01", "REF01", "REF02"]


def test_the_same_command_twice_is_two_agents(tmp_path):
    url = a_manager(tmp_path)
    command = (BIN / "league", "player", *where(url, tmp_path))

    assert [registered(started(*command)) for _ in range(2)] == ["P01", "P02"]


def test_a_state_directory_that_cannot_be_used_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")

    done = league("player", "--state", tmp_path / "file", check=False)

    assert done.returncode == 1
    assert str(tmp_path / "file") in done.stderr
    assert "--state" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_token_is_said_by_a_command(tmp_path):
    url = a_manager(tmp_path)
    process = started(BIN / "league", "player", *where(url, tmp_path))
    registered(process)
    process.terminate()
    output = process.communicate(timeout=20)

    (kept,) = (tmp_path / "state").glob("*.json")
    assert json.loads(kept.read_text())["token"].startswith("tok_P01_")
    assert "tok_" not in "".join(output)

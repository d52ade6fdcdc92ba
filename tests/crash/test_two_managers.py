"""Two managers in one directory: only the later one writes, and nobody is told anything twice."""

from commands import free_port
from crash.cup import SECONDS, Cup, until


def test_without_its_lock_file_the_first_manager_stops_and_the_league_goes_on(tmp_path):
    cup = Cup(tmp_path, rules={"cycles": 6}, run=0.02).open()
    until(cup.is_playing, "the first result is told")
    where = ("--port", free_port(), "--dir", cup.disk.inside)
    cup.commands["rival"] = ("manager", *where, "--players", 4, "--exit")

    (cup.disk.inside / "manager.lock").unlink()
    cup.start("rival")

    assert cup.processes["manager"].wait(SECONDS) == 1
    assert f"Error: another manager has taken over {cup.disk.inside}" in cup.said("manager")
    assert "Traceback" not in cup.said("manager")
    assert cup.kill("rival"), cup.said("rival")
    del cup.processes["rival"]
    cup.start("manager")
    cup.ends().check()

"""A bit of the write-ahead log flips while the manager is down: nothing is decided twice."""

import shutil

from agentleague.storage.wal import first_bad, read_log
from commands import league
from crash.cup import SECONDS, Cup, until
from storage.crashed import FRAME, flip


def test_the_manager_refuses_and_the_repaired_league_goes_on_as_if_nothing_had_been(tmp_path):
    cup = Cup(tmp_path, rules={"cycles": 6}, run=0.02).open()
    until(cup.is_playing, "the first result is told")
    assert cup.kill("manager")
    directory = cup.disk.directory
    # In a page of the first quarter, which was written again since: so nothing is lost.
    flip(directory, first_bad(read_log(directory)) // 4, FRAME + 100)

    cup.start("manager")

    assert cup.processes["manager"].wait(SECONDS) == 1
    assert "committed and" in cup.said("manager")
    assert "league repair" in cup.said("manager")
    assert "Traceback" not in cup.said("manager")
    done = league("repair", directory, "--to", tmp_path / "repaired")
    assert "Nothing is lost." in done.stdout
    shutil.rmtree(directory)
    shutil.move(tmp_path / "repaired", directory)
    cup.start("manager")
    cup.ends().check()

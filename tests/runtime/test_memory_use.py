"""How much memory a process holds."""

import os
import sys

import pytest

from agentleague.runtime import local_league
from agentleague.runtime.local_league import peak_bytes, resident_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes")
def test_a_process_holds_something_and_never_held_less():
    now = resident_bytes(os.getpid())

    assert now is not None
    assert 5e6 < now <= peak_bytes()


def test_of_a_process_that_is_gone_nothing_is_known():
    assert resident_bytes(2**30) is None


def test_where_the_system_has_no_files_of_processes_it_is_asked(monkeypatch):
    told = peak_bytes()
    monkeypatch.setattr(local_league, "_status", lambda process: {})

    assert peak_bytes() == pytest.approx(told, rel=0.5)

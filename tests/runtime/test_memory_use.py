"""How much memory a process held."""

import pytest

from agentleague.runtime import local_league
from agentleague.runtime.local_league import peak_bytes


def test_where_the_system_has_no_files_of_processes_it_is_asked(monkeypatch, tmp_path):
    told = peak_bytes()
    monkeypatch.setattr(local_league, "STATUS", tmp_path / "none")

    assert told > 5e6
    assert peak_bytes() == pytest.approx(told, rel=0.5)

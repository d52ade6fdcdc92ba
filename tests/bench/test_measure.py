"""How long measured leagues are, and on which machine and file system."""

from pathlib import Path

import pytest

from agentleague.bench import measure
from agentleague.bench.measure import file_system_of, plan_for, temporary_folder, this_machine

MOUNTS = """\
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /tmp tmpfs rw,nosuid 0 0
/dev/sdb1 /srv/with\\040space xfs rw 0 0
/dev/sdc1 /tmp/disk ext4 rw 0 0
/dev/sdd1 /srv/twice ext4 rw 0 0
tmpfs /srv/twice tmpfs rw 0 0
"""


@pytest.fixture
def mounts(tmp_path):
    path = tmp_path / "mounts"
    path.write_text(MOUNTS)
    return path


def test_a_folder_is_on_the_nearest_file_system_above_it(mounts):
    for folder, kind in [
        ("/nowhere/at/all", "ext4"),
        ("/tmp/league-bench-7", "tmpfs"),
        ("/tmp/disk/league-bench-7", "ext4"),
        ("/srv/with space", "xfs"),
        ("/srv/twice", "tmpfs"),  # what was mounted last
    ]:
        assert file_system_of(Path(folder), mounts) == kind


def test_where_the_system_does_not_tell_the_file_system_has_no_name(tmp_path):
    assert file_system_of(tmp_path, tmp_path / "missing") == ""


@pytest.mark.parametrize(
    ("in_memory", "chosen"),
    [((), "/usual"), (("/usual",), "/other"), (("/usual", "/other"), "/usual")],
)
def test_temporary_files_lie_on_a_disk_if_there_is_one(in_memory, chosen, monkeypatch):
    monkeypatch.setattr(measure.tempfile, "gettempdir", lambda: "/usual")
    monkeypatch.setattr(measure, "OTHER_FOLDERS", ("/locked", "/other"))
    monkeypatch.setattr(measure.os, "access", lambda folder, _: folder != Path("/locked"))
    kind = {Path(folder): "tmpfs" for folder in in_memory}
    monkeypatch.setattr(measure, "file_system_of", lambda folder: kind.get(folder, "ext4"))

    assert temporary_folder() == Path(chosen)


def test_a_machine_is_told_with_the_file_system_of_the_journal(monkeypatch, mounts):
    monkeypatch.setattr(measure, "file_system_of", lambda folder: f"that of {folder}")

    assert this_machine(Path("/srv")).file_system == "that of /srv"


def test_short_measurements_play_short_leagues():
    assert plan_for(100, 2, 60.0, 2).matches == 5_000
    assert plan_for(100, 2, 4.0, 2).matches == 1_000
    assert plan_for(100, 2, 0.0, 2).matches == 50

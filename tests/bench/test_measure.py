"""How long measured leagues are, on which machine and file system, and who else was busy there."""

from pathlib import Path

import pytest

from agentleague.bench import measure
from agentleague.bench.measure import (
    Bench,
    Machine,
    OtherProcesses,
    built_with_pgo,
    file_system_of,
    plan_for,
    temporary_folder,
    this_machine,
)
from agentleague.cli import bench_text

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
    assert plan_for(100, 2, 60.0, 2, None).matches == 5_000
    assert plan_for(100, 2, 4.0, 2, None).matches == 1_000
    assert plan_for(100, 2, 0.0, 2, None).matches == 50


@pytest.mark.parametrize(
    ("variables", "is_pgo"),
    [
        ({"CONFIG_ARGS": "'--enable-shared' '--enable-optimizations'"}, True),
        ({"CONFIG_ARGS": "", "PY_CORE_CFLAGS": "-O3 -fprofile-use"}, True),
        ({"CONFIG_ARGS": "'--prefix=/opt'", "PGO_PROF_USE_FLAG": "-fprofile-use"}, False),
        ({"CONFIG_ARGS": "'--prefix=/usr'", "PGO_PROF_USE_FLAG": ""}, None),  # Debian
        ({}, None),  # Windows
    ],
)
def test_an_interpreter_tells_whether_it_was_built_with_profiles(variables, is_pgo):
    assert built_with_pgo(variables) is is_pgo


def test_what_others_took_is_what_the_processors_did_without_our_own_processes(
    tmp_path, monkeypatch
):
    stat, own = tmp_path / "stat", [2.0, 0.5, 1.0, 0.5, 99.0]
    monkeypatch.setattr(measure.os, "sysconf", lambda name: 100)
    monkeypatch.setattr(measure.os, "times", lambda: own)
    stat.write_text("cpu  1000 100 500 9000 700 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    others = OtherProcesses(stat)

    own[2] += 3.0  # of processes that were awaited
    stat.write_text("cpu  1400 100 700 9300 800 0 0 0 0 0\n")
    assert others.share() == pytest.approx((6.0 - 3.0) / 10.0)
    own[0] += 9.0  # Ticks are coarse: nobody takes less than nothing.
    assert others.share() == 0.0


def test_where_no_processor_times_are_told_the_load_before_speaks_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "cores", lambda: 4)
    for load, share in [(1.0, 0.25), (9.0, 1.0), (None, None)]:
        monkeypatch.setattr(measure, "_load", lambda load=load: load)

        assert OtherProcesses(tmp_path / "missing").share() == share


def bench(others_share):
    cpus = {"cpu_us": 300.0, "cpu_us_manager": 100.0}
    sample = {**dict.fromkeys(bench_text.FIGURES, 1.0), "matches": 50, **cpus}
    return Bench(plan_for(100, 2, 1.0, 2, None), (0.001,), (sample,), others_share)


def test_a_disturbed_measurement_says_how_much_others_took():
    disturbed = bench(0.314)

    assert bench_text.warning(disturbed).startswith("Other processes took 31 % of this machine's")
    assert bench_text.summary(disturbed)["warning"] == bench_text.warning(disturbed)
    assert bench_text.summary(disturbed)["others_share"] == 0.314
    for quiet in (bench(0.04), bench(None)):
        assert bench_text.warning(quiet) == ""


def test_the_table_has_the_cpu_of_a_match_in_all_and_of_the_manager_and_the_kind_of_interpreter():
    rows = {row["what"]: row["median"] for row in bench_text.bench_rows(bench(None))}

    assert rows["CPU us a match, in all"] == "300"
    assert rows["CPU us a match, manager"] == "100"
    for is_pgo, words in [(True, "(built with PGO)"), (False, "(built without PGO)")]:
        machine = Machine(2, "Linux", "CPython 3.11.7", is_pgo, 0.1, "ext4")
        assert words in bench_text.bench_title(bench(None), machine)

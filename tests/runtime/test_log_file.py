"""The log as a file: whole lines, bounded, and nobody waits for it."""

import json
import logging
import os
import resource
import shutil

import pytest

from agentleague.runtime.log import Entry, LogFile, LogHandler, LogLimits

AT = 1_700_000_000.25
NEVER = 1_000.0  # only closing flushes


def note(text="", level=logging.INFO):
    return Entry(level=level, event="noted", text=text)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cup" / "log" / "manager.jsonl"


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def opened(path, **limits):
    return LogFile(path, lambda: AT, LogLimits(flush_seconds=NEVER, **limits))


def wait_for_line(path):
    while not path.exists() or not path.read_bytes().endswith(b"\n"):
        pass


def test_a_line_is_json_with_time_and_level(path):
    log = opened(path)
    log.write(note("Grüße 🦊"))
    log.close()

    assert read(path) == [
        {
            "timestamp": "2023-11-14T22:13:20.250Z",
            "level": "INFO",
            "event": "noted",
            "text": "Grüße 🦊",
        }
    ]
    assert path.stat().st_mode & 0o077 == 0


def test_it_is_written_while_the_manager_runs(path):
    log = LogFile(path, lambda: AT, LogLimits(flush_seconds=0.001))
    log.write(note("first"))
    wait_for_line(path)
    log.write(note("second"))
    log.close()

    assert [line["text"] for line in read(path)] == ["first", "second"]


def test_a_second_run_goes_on_in_the_same_file(path):
    for text in ("first", "second"):
        log = opened(path)
        log.write(note(text))
        log.close()

    assert [line["text"] for line in read(path)] == ["first", "second"]


def test_a_long_log_is_moved_aside_and_the_oldest_file_is_removed(path):
    for number in range(9):
        log = opened(path, size_bytes=400, former=2)
        log.write(note(f"{number} " + "x" * 100))
        log.close()

    names = ["manager.jsonl", "manager.jsonl.1", "manager.jsonl.2"]
    assert sorted(file.name for file in path.parent.iterdir()) == names
    files = [path.with_name(name) for name in names]
    assert [[line["text"][0] for line in read(file)] for file in files] == [
        ["8"],
        ["6", "7"],
        ["4", "5"],
    ]
    assert all(file.stat().st_size <= 400 for file in files)


def test_a_log_may_be_moved_or_cut_while_it_is_written(path):
    log = LogFile(path, lambda: AT, LogLimits(flush_seconds=0.001))
    moved, copied = path.with_suffix(".moved"), path.with_suffix(".copied")
    log.write(note("moved"))
    wait_for_line(path)
    path.rename(moved)  # as logrotate does
    log.write(note("copied"))
    wait_for_line(path)
    shutil.copy(path, copied)
    os.truncate(path, 0)  # as its copytruncate does
    log.write(note("last"))
    log.close()

    assert [[line["text"] for line in read(file)] for file in (moved, copied, path)] == [
        ["moved"],
        ["copied"],
        ["last"],
    ]


def test_what_a_full_disk_did_not_take_is_written_when_there_is_room(path):
    log = LogFile(path, lambda: AT, LogLimits(flush_seconds=0.001, lines=30))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))  # The write stops in a line.
    try:
        for number in range(20):
            log.write(note(str(number)))
        while not path.exists() or path.stat().st_size < 1_000:
            pass
        for number in range(20, 60):
            log.write(note(str(number)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    log.close()

    *lines, last = [line["text"] for line in read(path)]
    assert lines == [str(number) for number in range(len(lines))]
    assert last == f"{60 - len(lines)} lines were left out"
    assert 40 <= len(lines) < 60


def test_unknown_callers_cannot_fill_it_with_warnings(path):
    log = opened(path, warnings=5)
    for _ in range(5 + 7):
        log.write(note("no", logging.WARNING))
    log.write(note("decided"))
    log.close()

    lines = read(path)
    assert len(lines) == 5 + 2
    assert [line["text"] for line in lines[-2:]] == ["decided", "7 lines were left out"]


def test_what_there_is_no_room_for_is_counted(path):
    log = opened(path, lines=20)
    for number in range(20 + 3):
        log.write(note(str(number)))
    log.close()

    lines = read(path)
    assert len(lines) == 20 + 1
    assert lines[-1]["text"] == "3 lines were left out"


def test_a_disk_that_fails_costs_lines_and_nothing_else(path):
    path.parent.parent.mkdir()
    path.parent.write_text("a file where the directory should be")

    log = opened(path)
    log.write(note("lost"))
    log.close()

    assert path.parent.read_text() == "a file where the directory should be"


def test_complaints_of_the_program_reach_the_file_without_values(path):
    log = opened(path)
    logger = logging.Logger("agentleague.runtime.host")
    logger.addHandler(LogHandler(log.write))

    try:
        raise ValueError("tok_P01_secret")
    except ValueError:
        logger.exception("a %s could not be handled", "Asked")
    logger.warning("there is room again")
    logger.info("not worth it")
    log.close()

    bug, warning = read(path)
    assert (bug["level"], bug["agent"]) == ("ERROR", "agentleague.runtime.host")
    assert bug["text"].startswith("a Asked could not be handled: ValueError at test_log_file.py:")
    assert "tok_" not in path.read_text()
    assert (warning["level"], warning["text"]) == ("WARNING", "there is room again")

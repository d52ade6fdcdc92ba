"""A league as files: what is in them, what never is, and how they come to be there."""

import csv
import json
import os
import shutil
from pathlib import Path
from threading import Event as Flag

import pytest

from agentleague.errors import LeagueError
from agentleague.league.events import (
    Disputed,
    LeagueOpened,
    LeagueStarted,
    MatchAssigned,
    MatchClosed,
    MatchRuled,
    PlayerRegistered,
    PlayerRemoved,
    RoundEnded,
    TokenMisused,
    TokenRenewed,
)
from agentleague.protocol.tokens import digest
from agentleague.records.export import MARK, write_tree
from agentleague.records.export_files import cell, path_part
from agentleague.records.reading import folded
from agentleague.records.shared_files import FilesThread, SharedFiles
from agentleague.storage.sqlite import SqliteJournal
from league.decisions import DRAW_SECRET, LEAGUE_ID, TOKEN_SECRET, Decisions, token
from league.staged import Staged
from records.journals import changed, place, played, rows_of

LEAGUE = played()
HOME = f"data/leagues/{LEAGUE_ID}"


def exported(events, out):
    rows = rows_of(events)
    return write_tree(folded(rows), rows, out)


def texts(root):
    """Every file under a folder, by its path."""
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(Path(root).rglob("*"))
        if path.is_file()
    }


def test_the_files_lie_where_document_001_has_them(tmp_path):
    count = exported(LEAGUE, tmp_path / "out")

    found = texts(tmp_path / "out")
    assert len(found) == count
    assert set(found) == {
        MARK,
        "README.txt",
        "config/agents/agents_config.json",
        *(f"{HOME}/{name}" for name in ("standings.json", "ratings.json", "rounds.json")),
        *(f"{HOME}/{name}" for name in ("standings.csv", "ratings.csv", "matches.csv")),
        *(f"data/matches/{LEAGUE_ID}/R{r}M{m}.json" for r in (1, 2, 3) for m in (1, 2)),
        *(f"data/players/P0{n}/history.json" for n in (1, 2, 3, 4)),
        f"logs/league/{LEAGUE_ID}/league.log.jsonl",
    }


def test_the_table_is_the_table_of_the_league(tmp_path):
    exported(LEAGUE, tmp_path / "out")
    league = folded(rows_of(LEAGUE))

    standings = json.loads(texts(tmp_path / "out")[f"{HOME}/standings.json"])

    assert [row["player_id"] for row in standings["standings"]] == [
        row.player_id for row in league.table.rows()
    ]
    assert (standings["status"], standings["champion"]) == ("LEAGUE_COMPLETED", "P02")
    assert standings["standings"][0]["why"] == league.table.why("P02")


def test_rounds_matches_and_histories_tell_the_same_results(tmp_path):
    exported(LEAGUE, tmp_path / "out")
    found = texts(tmp_path / "out")

    rounds = json.loads(found[f"{HOME}/rounds.json"])["rounds"]
    match = json.loads(found[f"data/matches/{LEAGUE_ID}/R1M1.json"])
    history = json.loads(found["data/players/P01/history.json"])

    row = rounds[0]["matches"][0]
    assert (rounds[0]["round_id"], rounds[0]["status"]) == (1, "COMPLETED")
    assert row["winner_player_id"] == match["result"]["winner_player_id"]
    assert history["matches"][0]["match_id"] == "R1M1"
    won = row["winner_player_id"] == "P01"
    assert history["matches"][0]["outcome"] == ("WIN" if won else "LOSS")
    assert history["matches"][0]["opponent_id"] == "P02"
    assert history["record"]["played"] == 3
    assert match["draw"]["moves"] == [[0, "P01", "even"], [0, "P02", "odd"]]
    assert match["decided_at"] == "2026-11-15T10:00:00.000Z"


def test_draws_and_matches_without_a_contest_are_in_the_history(tmp_path):
    decisions = Decisions(4, referees=2).start()
    decisions.lock([(0, "P01", "even"), (0, "P02", "even")])
    decisions.record(decisions.adjudicator.no_contest("R1M2", "no referee was there"))
    exported(decisions.events, tmp_path / "out")
    found = texts(tmp_path / "out")

    outcomes = [
        json.loads(found[f"data/players/{player_id}/history.json"])["matches"][0]["outcome"]
        for player_id in ("P01", "P03")
    ]

    assert outcomes == ["DRAW", "NO_CONTEST"]
    assert json.loads(found[f"{HOME}/rounds.json"])["rounds"][0]["status"] == "RUNNING"


def test_a_league_that_has_not_begun_has_agents_and_empty_tables(tmp_path):
    exported(Decisions(2).events, tmp_path / "out")
    found = texts(tmp_path / "out")

    agents = json.loads(found["config/agents/agents_config.json"])
    assert [each["player_id"] for each in agents["players"]] == ["P01", "P02"]
    assert agents["referees"][0]["max_concurrent_matches"] == 64
    assert json.loads(found["data/players/P01/history.json"])["record"] is None
    assert found[f"{HOME}/matches.csv"].startswith("match_id,round_id,")


def test_a_player_removed_before_the_start_has_a_history_without_a_record(tmp_path):
    decisions = Decisions(3)
    decisions.record(PlayerRemoved("P03"), LeagueStarted(["P01", "P02"]))
    exported(decisions.events, tmp_path / "out")

    found = texts(tmp_path / "out")

    assert json.loads(found["data/players/P03/history.json"])["record"] is None
    assert json.loads(found["config/agents/agents_config.json"])["players"][2]["removed"] is True


def test_the_log_has_a_line_for_each_row_in_words_and_as_json(tmp_path):
    exported(LEAGUE, tmp_path / "out")
    log = texts(tmp_path / "out")[f"logs/league/{LEAGUE_ID}/league.log.jsonl"]

    lines = [json.loads(line) for line in log.splitlines()]

    assert [line["seq"] for line in lines] == list(range(1, len(LEAGUE) + 1))
    assert lines[1]["words"] == "Agent 1 registered as player P01"
    assert lines[-1]["words"] == "The league is over; P02 won it"
    assert lines[-1]["data"] == {"champion": "P02", "aborted": False}


def test_no_token_no_digest_and_no_secret_is_in_any_file(tmp_path):
    events = list(LEAGUE)
    at = place(events, PlayerRegistered)
    endpoint = "http://key:pass@127.0.0.1:81/mcp?api_key=hunter2"
    events.insert(at + 1, TokenRenewed("P01", digest("renewed"), 2, endpoint))
    exported(events, tmp_path / "out")
    secrets = [
        DRAW_SECRET.decode(),
        TOKEN_SECRET.decode(),
        digest("renewed"),
        "hunter2",
        "key:pass",
        *(token(agent_id) for agent_id in ("P01", "P02", "REF01")),
        *(digest(token(agent_id)) for agent_id in ("P01", "P02", "REF01")),
    ]

    everything = "\n".join(texts(tmp_path / "out").values())

    assert [secret for secret in secrets if secret in everything] == []
    assert "token_digest" not in everything
    assert "http://127.0.0.1:81/mcp" in everything


def test_no_cell_is_taken_for_a_formula():
    for value, shown in [
        ("=SUM(A1)", "'=SUM(A1)"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@cmd", "'@cmd"),
        ("\tx", "?x"),
        ("plain", "plain"),
        (-3, -3),
        (None, None),
    ]:
        assert cell(value) == shown


def test_the_csv_files_have_harmless_names(tmp_path):
    exported(played(name=lambda n: f"=cmd|{n}"), tmp_path / "out")

    with (tmp_path / "out" / HOME / "standings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "out" / HOME / "matches.csv").open(newline="") as file:
        matches = list(csv.DictReader(file))

    assert rows[0]["display_name"] == "'=cmd|2"
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    assert matches[0]["player_A_name"] == "'=cmd|1"


def test_the_table_of_a_format_says_what_ranks_before_points(tmp_path):
    exported(Staged(4, {"format": "knockout"}).begin().play_on().events, tmp_path / "out")

    with (tmp_path / "out" / HOME / "standings.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert [row["reached"] for row in rows] == ["Winner", "Final", "Semi-finals", "Semi-finals"]
    assert "elo" not in rows[0]


def test_an_id_that_could_lead_elsewhere_becomes_no_path(tmp_path):
    for name in [
        *("..", ".hidden", "a/b", "a\\b", "", "a\n", "ä", "x" * 65),
        *("CON", "nul.txt", "Com1", "LPT9", "a."),  # reserved by Windows
    ]:
        with pytest.raises(LeagueError, match="cannot be part of a file's name"):
            path_part(name)
        with pytest.raises(LeagueError):
            exported(changed(LEAGUE, LeagueOpened, league_id=name), tmp_path / "out")

        assert list(tmp_path.iterdir()) == []


def test_an_earlier_export_of_the_league_is_replaced(tmp_path):
    out = tmp_path / "out"
    exported(LEAGUE[: place(LEAGUE, RoundEnded)], out)
    before = set(texts(out))

    exported(LEAGUE, out)

    assert set(texts(out)) > before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_empty_folder_is_filled_and_parents_are_made(tmp_path):
    (tmp_path / "empty").mkdir()

    exported(LEAGUE, tmp_path / "empty")
    exported(LEAGUE, tmp_path / "some" / "where" / "out")

    assert (tmp_path / "empty" / MARK).is_file()
    assert (tmp_path / "some" / "where" / "out" / MARK).is_file()


def test_what_is_no_export_is_left_alone(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    shutil.copytree(tmp_path / "notes", tmp_path / "broken")
    (tmp_path / "broken" / MARK).write_text("[]")
    before = texts(tmp_path)

    for out, why in (
        ("notes", "is not empty and no export"),
        ("file", "is a file"),
        ("broken", "is not empty and no export"),
    ):
        with pytest.raises(LeagueError, match=why):
            exported(LEAGUE, tmp_path / out)

    assert texts(tmp_path) == before


def test_an_export_of_another_league_or_with_files_added_is_left_alone(tmp_path):
    out = tmp_path / "out"
    exported(LEAGUE, out)
    (out / "data" / "mine.txt").write_text("mine")
    before = texts(out)

    with pytest.raises(LeagueError, match=r"holds data/mine\.txt, which no export wrote"):
        exported(LEAGUE, out)
    (out / MARK).write_text(json.dumps({"league_id": "other", "files": []}))
    with pytest.raises(LeagueError, match="is an export of another league"):
        exported(LEAGUE, out)

    assert {k: v for k, v in texts(out).items() if k != MARK} == {
        k: v for k, v in before.items() if k != MARK
    }


def test_an_export_that_fails_leaves_the_earlier_one_and_nothing_beside_it(tmp_path, monkeypatch):
    out = tmp_path / "out"
    exported(LEAGUE[: place(LEAGUE, RoundEnded)], out)
    before = texts(out)
    rename = Path.rename

    def fails(self, target):
        if self.name.startswith(".out") and not self.name.endswith(".old"):
            raise OSError("no room")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(OSError, match="no room"):
        exported(LEAGUE, out)

    assert texts(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# Kept current while the league runs.


@pytest.fixture
def journal(tmp_path):
    journal = SqliteJournal(tmp_path / "cup", lambda: 1_763_200_800.0, lambda call: call())
    journal.claim(LEAGUE_ID)
    yield journal
    journal.close()


def append(journal, after, events):
    """Write, and wait until it is on disk."""
    written = Flag()
    journal.append(LEAGUE_ID, after, events, lambda heads: written.set())
    assert written.wait(timeout=60)


def shared_files(tmp_path):
    return SharedFiles(tmp_path / "cup", LEAGUE_ID, tmp_path / "shared")


AFTER = [
    Disputed("R1M1", "REF01", "another result"),
    MatchRuled("R1M1", "draw", None, "so"),
    TokenMisused("P01", "LOCK_REQUEST", "match"),
]
LISTS = (  # of an export alone
    *("README.txt", MARK, "rounds.json", "matches.csv", "league.log.jsonl"),
    *("ratings.json", "ratings.csv"),
)


def as_exported(journal, tmp_path):
    """The same files as an export of what the journal holds has them."""
    rows = list(journal.read(LEAGUE_ID))
    write_tree(folded(rows), rows, tmp_path / "out")
    found = texts(tmp_path / "out")
    return {name: text for name, text in found.items() if not name.endswith(LISTS)}


def test_files_that_follow_row_by_row_end_like_an_export(journal, tmp_path, monkeypatch):
    monkeypatch.setattr(SharedFiles, "at_hand", 0)  # It forgets what it can, and looks it up.
    files = shared_files(tmp_path)
    for seq, event in enumerate([*LEAGUE, *AFTER]):
        append(journal, seq, [event])
        files.update()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "shared").rglob("*.json")}
    files.update()

    assert texts(tmp_path / "shared") == as_exported(journal, tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in before}  # Nothing new, no work.


def test_what_a_crash_or_somebody_else_left_is_repaired_at_the_next_start(journal, tmp_path):
    at = place(LEAGUE, MatchClosed)
    append(journal, 0, LEAGUE[:at])
    shared_files(tmp_path).update()
    append(journal, at, [*LEAGUE[at:], *AFTER])
    players = tmp_path / "shared" / "data" / "players"
    (players / "P01" / "history.json").write_text("{")
    lost = {"league_id": LEAGUE_ID, "matches": [{"match_id": "R9M9"}]}  # The journal lost it.
    (players / "P02" / "history.json").write_text(json.dumps(lost))
    (tmp_path / "shared" / HOME / "standings.json.new").write_text("{")
    (tmp_path / "shared" / HOME / "standings.json").unlink()

    shared_files(tmp_path).update()

    assert texts(tmp_path / "shared") == as_exported(journal, tmp_path)


def test_a_disk_that_is_full_for_a_while_loses_no_file(journal, tmp_path, monkeypatch):
    files, replace, refusals = shared_files(tmp_path), os.replace, iter(range(40))
    append(journal, 0, [*LEAGUE, *AFTER])

    def full(source, target):
        if next(refusals, None) is not None and "P03" in str(target):
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        files.update()
    for _ in refusals:
        pass
    files.update()

    assert texts(tmp_path / "shared") == as_exported(journal, tmp_path)


def test_the_thread_says_once_what_hinders_it_and_writes_all_in_the_end(
    journal, tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr("agentleague.records.shared_files.UPDATE_SECONDS", 0.001)
    append(journal, 0, LEAGUE)
    files, calls, tried = shared_files(tmp_path), [], Flag()
    update = files.update

    def counted(rest):
        calls.append(rest)
        if len(calls) > 5:
            tried.set()
        update(rest)

    files.update = counted
    (tmp_path / "shared").write_text("a file where the folder should be")
    thread = FilesThread(files)
    assert tried.wait(timeout=60)
    (tmp_path / "shared").unlink()
    thread.close()

    assert [record.getMessage() for record in caplog.records] == [
        "the shared files cannot be written: Not a directory"
    ]
    assert texts(tmp_path / "shared") == as_exported(journal, tmp_path)


def test_files_tell_why_a_match_was_given_out_again_and_what_was_ruled_later(journal, tmp_path):
    decisions = Decisions(2, referees=2).start()
    files = shared_files(tmp_path)
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "REF01 fell silent"))
    append(journal, 0, decisions.events)
    files.update()
    decisions.lock([(0, "P01", "even"), (0, "P02", "odd")], referee="REF02", epoch=2)
    decisions.record(MatchClosed("R1M1", 2), MatchRuled("R1M1", "draw", None, "so"))
    append(journal, len(decisions.events) - 3, decisions.events[-3:-1])
    files.update()
    append(journal, len(decisions.events) - 1, decisions.events[-1:])
    files.update()

    found = texts(tmp_path / "shared")
    match = json.loads(found[f"data/matches/{LEAGUE_ID}/R1M1.json"])
    (played,) = json.loads(found["data/players/P02/history.json"])["matches"]

    assert match["assignments"][0]["why"] == "REF01 fell silent"
    assert (match["closed"], match["ruling"]["verdict"]) == (True, "draw")
    assert (played["outcome"], played["ruled"]) == ("DRAW", True)
    assert played["decided_at"] == match["decided_at"] != ""


def test_the_agents_are_listed_with_the_games_that_they_named(tmp_path):
    events = list(changed(LEAGUE, PlayerRegistered, game_types=["even_odd", "tic_tac_toe"]))
    exported(events, tmp_path / "out")

    agents = json.loads(texts(tmp_path / "out")["config/agents/agents_config.json"])

    assert agents["players"][0]["game_types"] == ["even_odd", "tic_tac_toe"]
    assert agents["referees"][0]["game_types"] == ["even_odd"]  # It named none: the league's.


@pytest.mark.parametrize(
    ("moves", "forfeits", "verified"),
    [([(0, "P01", "even"), (0, "P02", "odd")], [], "True"), ([], [("P02", "timeout")], "False")],
)
def test_a_result_that_nobody_can_recompute_is_not_called_verified(
    moves, forfeits, verified, tmp_path
):
    decisions = Decisions(2).start()
    decisions.lock(moves, forfeits)

    exported(decisions.events, tmp_path / "out")

    (row,) = csv.DictReader(texts(tmp_path / "out")[f"{HOME}/matches.csv"].splitlines())
    assert row["verified"] == verified

"""`league verify`, as a person types it; in this process, since it is called a thousand times."""

import json
import random
import shutil
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.league.events import (
    Disputed,
    LeagueEnded,
    LeagueOpened,
    MatchDecided,
    PlayerRemoved,
    RoundEnded,
)
from agentleague.storage.directory import FILE_NAME, HEAD_NAME, open_reader
from agentleague.storage.sqlite import SqliteJournal
from examples import examples
from games.throwaway import THROWAWAY
from league.decisions import LEAGUE_ID, Decisions
from records.journals import changed, otherwise, place, played, written

LEAGUE = played()
NIM = '''
"""A heap; who takes the last one wins."""
from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome

name, seats = "nim", ("A", "B")

def start(options): return (5, None)
def to_move(state): return () if outcome(state) else ("B" if state[1] == "A" else "A",)
def view(state, seat): return {"heap": state[0]}
def legal_moves(state, seat): return list(range(1, min(3, state[0]) + 1))
def check(state, seat, move):
    if type(move) is not int or move not in legal_moves(state, seat): raise IllegalMove("1 to 3")
def chance(state): return None
def play(state, moves, number):
    ((seat, taken),) = moves.items()
    return (state[0] - taken, seat)
def outcome(state): return Outcome(state[1], f"{{{state[1]}}} took it") if state[0] == 0 else None
'''


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.fixture(scope="module")
def cup(tmp_path_factory):
    return written(tmp_path_factory.mktemp("true") / "cup", LEAGUE)


def test_a_true_league_is_summed_up_in_a_few_lines(cup):
    done = run("verify", cup)

    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert lines[0] == (
        f"{LEAGUE_ID} (even_odd), {len(LEAGUE)} rows, 3 of 3 rounds ended: all is true. "
        "The champion is P02."
    )
    assert lines[1] == (
        "6 of 6 matches are decided, each once; 6 were recomputed, move by move and draw by draw."
    )
    assert lines[2].startswith(f"The last row is {len(LEAGUE)}:")
    assert done.stderr == ""


def test_as_json_it_is_one_object(cup):
    found = json.loads(run("verify", cup, "--json").stdout)

    assert (found["ok"], found["difference"], found["complete"]) == (True, None, True)
    assert (found["matches_decided"], found["recomputed"], found["champion"]) == (6, 6, "P02")


def test_a_running_league_is_true_so_far(tmp_path):
    written(tmp_path, LEAGUE[: place(LEAGUE, RoundEnded) + 1])

    done = run("verify", tmp_path)

    assert done.exit_code == 0
    assert "1 of 3 rounds ended: all is true so far." in done.stdout


def test_what_cannot_be_recomputed_is_said(tmp_path):
    decisions = Decisions(4, locks=False).start()
    decisions.report("P01")
    decisions.record(decisions.adjudicator.no_contest("R1M2", "no referee was there"))
    decisions.record(Disputed("R1M1", "REF01", "another result"))

    lines = run("verify", written(tmp_path, decisions.events)).stdout.splitlines()

    assert "Believed, since their referees do not lock: R1M1." in lines
    assert "Without a contest: R1M2." in lines
    assert "Disputed by a referee: R1M1." in lines


def test_forfeits_and_a_seed_are_said(tmp_path):
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P02"])
    decisions.record(RoundEnded(1))
    events = changed(decisions.events, LeagueOpened, seeded=True)

    lines = run("verify", written(tmp_path, events)).stdout.splitlines()

    assert "Technical losses, by the word of a referee: 1." in lines
    assert "A seed was given at the start: anybody who knew it could predict the draws." in lines


@pytest.mark.parametrize(
    ("decides", "said"),
    [
        (False, "0 of 1 match is decided, each once; 0 were recomputed"),
        (True, "1 of 1 match is decided, each once; 1 was recomputed"),
    ],
)
def test_of_a_single_match_it_is_said_in_good_english(tmp_path, decides, said):
    decisions = Decisions(2).start()
    if decides:
        decisions.play("R1M1")

    assert said in run("verify", written(tmp_path, decisions.events)).stdout


def test_what_a_removed_player_forfeits_is_the_organisers_word_not_a_referees(tmp_path):
    decisions = Decisions(2, cycles=2).start()
    decisions.play("R1M1", forfeits=["P02"])
    decisions.record(PlayerRemoved("P02", from_round=2), RoundEnded(1))
    decisions.schedule(2).play("R2M1", forfeits=["P02"])

    lines = run("verify", written(tmp_path, decisions.events)).stdout.splitlines()

    assert "Technical losses, by the word of a referee: 1." in lines
    assert "Technical losses, since the organiser had removed the player: 1." in lines


def test_an_early_end_is_said(tmp_path):
    events = [*LEAGUE[: place(LEAGUE, RoundEnded)], LeagueEnded("P02", aborted=True)]

    done = run("verify", written(tmp_path, events))

    assert done.exit_code == 0
    assert "0 of 3 rounds ended: all is true; the organiser ended it early." in done.stdout


def test_a_lie_ends_with_3_and_names_row_and_match(tmp_path):
    number = LEAGUE[place(LEAGUE, MatchDecided, "R2M1")].result.drawn_number
    events = otherwise(LEAGUE, "R2M1", drawn_number=11)

    done = run("verify", written(tmp_path, events))

    row = place(LEAGUE, MatchDecided, "R2M1") + 1
    assert done.exit_code == 3
    assert done.stdout == (
        f"Row {row} (R2M1): the number drawn is 11 in the journal, but {number} follows from seed "
        "and moves.\n"
    )
    found = json.loads(run("verify", tmp_path, "--json").stdout)
    assert (found["ok"], found["difference"]["row"]) == (False, row)
    assert found["difference"]["match_id"] == "R2M1"


def test_words_of_other_agents_reach_no_terminal(tmp_path):
    moves = [(0, "P01", "\x1b[2Jeven"), (0, "P02", "odd")]
    events = changed(LEAGUE, MatchDecided, "R1M1", moves=moves)

    done = run("verify", written(tmp_path, events))

    assert done.exit_code == 3
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("make", ["nothing", "directory", "empty file", "no rows"])
def test_where_no_league_is_it_ends_with_2_and_says_what_to_type(tmp_path, make):
    directory = tmp_path / "cup"
    if make != "nothing":
        directory.mkdir()
    if make == "empty file":
        (directory / FILE_NAME).touch()
    if make == "no rows":
        written(directory, [])

    done = run("verify", directory)

    assert done.exit_code == 2
    assert f"there is no league in {directory}" in done.stderr
    assert f"league demo --dir {directory}" in done.stderr


def test_what_is_no_receipt_is_misuse(cup):
    for receipt in ("", "7", "7:abc", "0:" + "0" * 64, "seven:" + "0" * 64):
        done = run("verify", cup, "--receipt", receipt)

        assert done.exit_code == 2
        assert "is not a receipt; give the row and its 64 hex digits" in done.stderr


def cut_off(cup, copy, last):
    shutil.copytree(cup, copy)
    with closing(sqlite3.connect(copy / FILE_NAME)) as connection:
        connection.execute("DELETE FROM rows WHERE seq > ?", (last,))
        connection.commit()


def test_a_cut_tail_is_found_by_the_head_of_the_journal(cup, tmp_path):
    last = len(list(open_reader(cup).read(LEAGUE_ID)))
    cut_off(cup, tmp_path / "cut", last - 2)
    cut_off(cup, tmp_path / "all", 0)
    cut_off(cup, tmp_path / "no journal", 0)
    (tmp_path / "no journal" / FILE_NAME).unlink()

    some, all_of_it, no_journal = (
        run("verify", tmp_path / name) for name in ("cut", "all", "no journal")
    )

    assert [done.exit_code for done in (some, all_of_it, no_journal)] == [3, 3, 3]
    assert some.stdout == (
        f"The rows that can be read are true, but rows {last - 1} to {last} of "
        f"league {LEAGUE_ID} were committed and are gone.\n"
    )
    for done in (all_of_it, no_journal):
        assert f"Rows 1 to {last} of league {LEAGUE_ID} were committed and are gone" in done.stdout


def test_the_receipt_that_an_agent_has_kept_is_read_from_its_state_file(cup, tmp_path):
    last = [*open_reader(cup).read(LEAGUE_ID)][-1]
    held = {"agent_id": "P01", "receipt": {"seq": last.seq, "hash": last.hash.hex()}}
    true, false, empty = (tmp_path / f"{name}.json" for name in ("true", "false", "empty"))
    true.write_text(json.dumps(held))
    false.write_text(json.dumps({"receipt": {"seq": last.seq, "hash": "0" * 64}}))
    empty.write_text(json.dumps({"agent_id": "P01"}))

    assert run("verify", cup, "--receipt", true).exit_code == 0
    assert run("verify", cup, "--receipt", false).exit_code == 3
    assert "or the state file" in run("verify", cup, "--receipt", empty).stderr


def test_a_loss_that_was_accepted_is_said_and_no_difference(tmp_path):
    decisions = Decisions(4, referees=2).start()
    decisions.record(decisions.adjudicator.begin_anew(1_000, 99))
    directory = written(tmp_path / "lossy", decisions.events)

    done = run("verify", directory)

    assert done.exit_code == 0
    assert f"ROWS WERE LOST before row {len(decisions.events)}: rows up to 99" in done.stdout
    told = run("status", "--dir", directory).stdout
    assert "Lost rows" in told
    assert "drawn anew (generation 1000)" in run("match", "R1M1", "--dir", directory).stdout


def test_receipts_are_honoured_and_a_cut_tail_is_found_by_one(cup, tmp_path):
    rows = list(open_reader(cup).read(LEAGUE_ID))
    receipts = [f"{row.seq}:{row.hash.hex().upper()}" for row in (rows[9], rows[-1])]
    cut_off(cup, tmp_path / "cut", len(rows) - 2)
    (tmp_path / "cut" / HEAD_NAME).unlink()

    options = [option for receipt in receipts for option in ("--receipt", receipt)]

    assert run("verify", cup, *options).exit_code == 0
    assert run("verify", tmp_path / "cut").exit_code == 0
    cut = run("verify", tmp_path / "cut", *options)
    assert cut.exit_code == 3
    assert cut.stdout == (
        f"Row {len(rows)}: the receipt names row {len(rows)}, but the journal ends with row "
        f"{len(rows) - 2}: its tail was cut off.\n"
    )


def test_a_row_that_was_changed_in_place_breaks_the_chain(cup, tmp_path):
    shutil.copytree(cup, tmp_path / "bad")
    with closing(sqlite3.connect(tmp_path / "bad" / FILE_NAME)) as connection:
        connection.execute("UPDATE rows SET at = '2020-01-01T00:00:00.000Z' WHERE seq = 12")
        connection.commit()

    done = run("verify", tmp_path / "bad")

    assert done.exit_code == 3
    assert done.stdout == "Row 12: it is missing or not what was written.\n"
    assert json.loads(run("verify", tmp_path / "bad", "--json").stdout)["difference"]["row"] == 12


def test_rows_of_a_second_league_are_found(cup, tmp_path):
    shutil.copytree(cup, tmp_path / "two")
    with closing(sqlite3.connect(tmp_path / "two" / FILE_NAME)) as connection:
        connection.execute("UPDATE rows SET league_id = 'zzz' WHERE seq > 20")
        connection.commit()

    done = run("verify", tmp_path / "two")

    assert done.exit_code == 3
    assert done.stdout.startswith("The journal in ")  # There is no row to name.
    assert "rows of 2 leagues, not one" in done.stdout


def test_without_the_game_all_but_the_results_is_checked_and_said_how_to_bring_it(tmp_path):
    decisions = Decisions(2, game=THROWAWAY["nim"]).start()
    decisions.lock([(0, "P01", 3), (1, "P02", 2)])
    cup = written(tmp_path / "cup", decisions.events)
    (tmp_path / "nim.py").write_text(NIM)

    without = run("verify", cup)
    assert without.exit_code == 1
    assert "1 round ended: all but the results was checked and is true so far." in without.stdout
    assert "Not recomputed, since the game is missing: 1." in without.stdout
    assert "no game 'nim' is installed" in without.stderr
    assert f"league verify {cup} --game FILE.py" in without.stderr
    told = run("verify", cup, "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["ok"] is False

    drawn_anew = changed(decisions.events, MatchDecided, seed="00" * 32)
    assert run("verify", written(tmp_path / "bad", drawn_anew)).exit_code == 3

    brought = run("verify", cup, "--game", tmp_path / "nim.py")
    assert brought.exit_code == 0
    assert "1 was recomputed" in brought.stdout

    other = run("verify", cup, "--game", "even_odd")
    assert other.exit_code == 1
    assert "even_odd is the game even_odd, but the league played nim" in other.stderr


def test_it_may_run_while_a_manager_writes(tmp_path):
    journal = SqliteJournal(tmp_path, lambda: 0.0, lambda call: call())
    journal.claim(LEAGUE_ID)
    half = place(LEAGUE, RoundEnded)
    committed = []
    try:
        journal.append(LEAGUE_ID, 0, LEAGUE[:half], committed.append)
        while not committed:
            run("verify", tmp_path)  # Whatever it sees is true.
        assert "true so far" in run("verify", tmp_path).stdout
        journal.append(LEAGUE_ID, half, LEAGUE[half:], committed.append)
    finally:
        journal.close()
    assert "The champion is P02" in run("verify", tmp_path).stdout


def test_a_tail_that_the_index_lost_is_found_without_a_receipt(cup, tmp_path):
    """One bit in the number of an index page's cells, and its last rows are never read again."""
    page = 4096
    damaged = bytearray((cup / FILE_NAME).read_bytes())
    (leaf,) = (at for at in range(page, len(damaged), page) if damaged[at] == 0x0A)
    assert damaged[leaf + 4] == len(LEAGUE)
    damaged[leaf + 4] &= damaged[leaf + 4] - 1  # The lowest bit that is set.
    (tmp_path / FILE_NAME).write_bytes(damaged)

    done = run("verify", tmp_path)

    assert len(list(open_reader(tmp_path).read(LEAGUE_ID))) < len(LEAGUE)
    assert done.exit_code == 3
    assert done.stdout.startswith(
        "The rows that can be read are true, but SQLite says of the file: "
    )


def test_no_flipped_bit_changes_the_table_unnoticed(cup, tmp_path):
    """Many of them, one at a time, anywhere in the file of a journal."""
    sound = (cup / FILE_NAME).read_bytes()
    table = run("standings", "--dir", cup, "--json").stdout
    chance, flips = random.Random(7), examples(500)
    noticed = 0
    for number in range(flips):
        directory = tmp_path / str(number)
        directory.mkdir()
        bit = chance.randrange(len(sound) * 8)
        flipped = bytearray(sound)
        flipped[bit // 8] ^= 1 << bit % 8
        (directory / FILE_NAME).write_bytes(flipped)

        # What `standings` makes of a broken file is not the question here, only what it prints.
        shown = CliRunner().invoke(app, ["standings", "--dir", str(directory), "--json"])
        verified = run("verify", directory)

        noticed += verified.exit_code != 0
        assert shown.stdout == table or verified.exit_code != 0, f"bit {bit}"
    assert noticed > flips // 5  # Most of the file is not empty, so most flips show.

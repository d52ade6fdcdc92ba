"""The two checkers that anybody may use: they agree with us, and with each other."""

import copy
import json
import shutil
import subprocess
import sys

import pytest

from agentleague.games import rock_paper_scissors
from agentleague.player import strategies
from agentleague.protocol import codec
from agentleague.protocol.messages import GameOver, RoundAnnouncement
from agentleague.records.export_files import match_file
from commands import ROOT, SECONDS
from memory_league import MemoryLeague
from protocol.wire import FIXTURES
from rules import rule
from tables import each_row

VECTORS = json.loads((FIXTURES / "draw_vectors.json").read_text(encoding="utf-8"))
NAMES = ("commitment", "seed", "moves", "number")
PROGRAMS = [
    pytest.param([sys.executable, "-I", ROOT / "docs" / "how-to" / "check_draw.py"], id="python"),
    pytest.param(
        [shutil.which("node") or "node", ROOT / "docs" / "how-to" / "check_draw.mjs"],
        id="node",
        marks=pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
    ),
]
NUMBERLESS = '{"game_type": "even_odd", "result": {"status": "WIN", "choices": {}}, "draw": {}}'
with_each = pytest.mark.parametrize("program", PROGRAMS)


def checked(program, message, *arguments, path="-"):
    """What the checker says: the names of the lines that do not agree."""
    done = subprocess.run(
        [*program, path, *map(str, arguments)],
        input=json.dumps(message),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stderr == ""
    lines = dict(line.split(": ") for line in done.stdout.splitlines())
    assert tuple(lines) == NAMES
    if not arguments:
        assert lines.pop("commitment") == "was not given"
    assert set(lines.values()) <= {"agrees", "DOES NOT AGREE"}
    wrong = [name for name, said in lines.items() if said != "agrees"]
    assert done.returncode == bool(wrong)
    return wrong


def over(vector):
    """The GAME_OVER in which a vector would be opened."""
    choices = {player: move for _, player, move in vector["moves"]}
    return {
        "message_type": "GAME_OVER",
        "league_id": vector["league_id"],
        "match_id": vector["match_id"],
        "game_type": "even_odd",
        "game_result": {"status": "WIN", "drawn_number": vector["number"], "choices": choices},
        "draw": {name: vector[name] for name in ("commitment", "seed", "moves")},
    }


def flipped(text):
    """The same hex number with one bit changed."""
    return f"{int(text[0], 16) ^ 1:x}{text[1:]}"


@rule("R-DRAW-02", "R-DRAW-03", "R-DRAW-04")
@with_each
@each_row("vector", VECTORS)
def test_a_checker_agrees_with_every_vector(program, vector):
    more = (vector["commitment"], vector["index"], *vector["bounds"])

    assert checked(program, over(vector), *more) == []
    assert checked(program, {"jsonrpc": "2.0", "params": over(vector), "id": 1}, *more) == []


@with_each
def test_a_checker_reads_a_file_too(program, tmp_path):
    path = tmp_path / "over.json"
    path.write_text(json.dumps(over(VECTORS[0])), encoding="utf-8")

    assert checked(program, None, path=path) == []
    assert checked(program, None, flipped(VECTORS[0]["commitment"]), path=path) == ["commitment"]


def with_other_seed(message):
    message["draw"]["seed"] = flipped(message["draw"]["seed"])


def with_other_commitment(message):
    message["draw"]["commitment"] = flipped(message["draw"]["commitment"])


def with_other_moves(message):
    message["draw"]["moves"][0][2] = "odd"


def with_other_choices(message):
    message["game_result"]["choices"]["P02"] = "even"


def with_other_number(message):
    message["game_result"]["drawn_number"] = 9


def without_number(message):
    message["game_result"]["drawn_number"] = None


def with_other_match(message):
    message["match_id"] = "R1M2"


@rule("R-DRAW-02", "R-DRAW-04")
@with_each
@each_row(
    ("change", "wrong"),
    [
        (with_other_seed, {"seed"}),
        (with_other_commitment, {"commitment", "seed"}),
        (with_other_moves, {"moves"}),
        (with_other_choices, {"moves"}),
        (with_other_number, {"number"}),
        (without_number, {"number"}),
        (with_other_match, {"seed"}),
    ],
)
def test_a_checker_sees_what_was_changed(program, change, wrong):
    message = copy.deepcopy(over(VECTORS[0]))
    change(message)

    # The number may be the same by chance, one time in ten; what was changed never is.
    assert wrong <= set(checked(program, message, VECTORS[0]["commitment"]))


@rule("R-DRAW-02", "R-DRAW-03", "R-DRAW-04")
@with_each
def test_a_checker_agrees_with_every_match_of_a_league(program):
    league = MemoryLeague(players=4, referees=1).fill().play()
    announced = {
        match["match_id"]: match["draw_commitment"]
        for _, message in league.messages
        if isinstance(message, RoundAnnouncement)
        for match in json.loads(codec.encode(message))["matches"]
        if "draw_commitment" in match
    }
    told = {
        message.match_id: json.loads(codec.encode(message))
        for _, message in league.messages
        if isinstance(message, GameOver)
    }

    assert len(told) == 6
    for match_id, message in told.items():
        assert checked(program, message, announced[match_id]) == []
        message["game_result"]["drawn_number"] += 1
        assert checked(program, message, announced[match_id]) == ["number"]


def ran(program, *arguments):
    """The checker's exit code, and what it says on each stream."""
    done = subprocess.run(
        [*program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert "    at " not in done.stderr
    return done.returncode, done.stdout, done.stderr


def saved(path, message):
    path.write_text(json.dumps(message), encoding="utf-8")
    return path


@with_each
def test_where_no_number_was_drawn_a_checker_says_so(program, tmp_path):
    def illegal(turn):
        return "heads"

    league = MemoryLeague(players=2, referees=1)
    league.add_referee()
    league.add_player(illegal)
    league.add_player(strategies.random)
    league.play()
    other = MemoryLeague(players=2, referees=1, game=rock_paper_scissors).fill().play()

    for played in (league, other):
        told = [message for _, message in played.messages if isinstance(message, GameOver)]
        message = json.loads(codec.encode(told[0]))
        path = saved(tmp_path / "over.json", message)
        assert message["game_result"]["drawn_number"] is None
        code, said, _ = ran(program, path)
        assert code == 2
        assert said.splitlines() == [
            "commitment: was not given",
            "seed: agrees",
            "moves: agrees",
            "number: no number was drawn",
        ]
        code, said, _ = ran(program, path, flipped(message["draw"]["commitment"]))
        assert (code, said.splitlines()[0]) == (1, "commitment: DOES NOT AGREE")
        message["draw"] = None
        assert ran(program, saved(path, message)) == (2, "number: no number was drawn\n", "")


@with_each
def test_a_checker_checks_several_files_and_names_each(program, tmp_path):
    good = saved(tmp_path / "R1M1.json", over(VECTORS[0]))
    changed = copy.deepcopy(over(VECTORS[0]))
    with_other_number(changed)
    bad = saved(tmp_path / "R1M2.json", changed)
    none = saved(tmp_path / "R1M3.json", {})

    code, said, _ = ran(program, good, good)
    assert code == 0
    assert [line.rpartition(": ")[0] for line in said.splitlines()] == [
        f"{good}: {name}" for name in NAMES * 2
    ]
    code, said, complaint = ran(program, none, good)
    assert (code, len(said.splitlines())) == (2, len(NAMES))
    assert complaint.startswith(f"{none} holds no draw")
    code, said, _ = ran(program, good, bad, none)
    assert code == 1
    assert f"{good}: number: agrees\n" in said
    assert f"{bad}: number: DOES NOT AGREE\n" in said
    code, said, complaint = ran(program, good, bad, VECTORS[0]["commitment"])
    assert (code, said) == (2, "")
    assert "name one file with it" in complaint


@with_each
@each_row("more", [["0", "1", "ten"], ["0", "10", "1"], ["0", "1", "10", "11"], ["0", "", "10"]])
def test_a_checker_refuses_numbers_that_make_no_sense(program, tmp_path, more):
    path = saved(tmp_path / "R1M1.json", over(VECTORS[0]))

    code, said, complaint = ran(program, path, VECTORS[0]["commitment"], *more)

    assert (code, said) == (2, "")
    assert complaint


@with_each
@each_row("draw", [{"seed": "xyz"}, {"seed": 7}, {"moves": 7}, {"moves": [7]}, {"moves": None}])
def test_a_checker_never_breaks_on_a_wrong_draw(program, tmp_path, draw):
    message = over(VECTORS[0])
    message["draw"] = {**message["draw"], **draw}

    code, said, complaint = ran(program, saved(tmp_path / "R1M1.json", message))

    assert (code, said) == (2, "")
    assert "holds no draw" in complaint


@with_each
def test_a_checker_reads_a_match_of_an_export(program, tmp_path):
    league = MemoryLeague(players=2, referees=1).fill().play()
    _, facts = match_file(league.league, "R1M1", ["2026-01-01T00:00:00Z"] * league.league.seq, ())
    path = tmp_path / "R1M1.json"
    path.write_text(facts, encoding="utf-8")
    announced = json.loads(facts)["draw_commitment"]

    assert checked(program, None, announced, path=path) == []
    assert checked(program, None, flipped(announced), path=path) == ["commitment"]


@with_each
@each_row("text", [None, "", "[]", "7", "{}", '{"result": {}, "draw": null}', NUMBERLESS])
def test_a_checker_without_a_draw_says_what_to_name(program, tmp_path, text):
    path = tmp_path / "R1M1.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    for arguments in ([], [path]):
        done = subprocess.run(
            [*program, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False
        )

        assert done.returncode == 2
        assert done.stdout == ""
        assert "Name a match of `league export`" in done.stderr
        assert "Traceback" not in done.stderr

"""Sealed draws, recomputed here as anybody could with a hash function."""

import hashlib
import hmac
import inspect
import json

from hypothesis import example, given
from hypothesis import strategies as st

from agentleague.protocol import draws
from protocol.wire import FIXTURES
from rules import rule
from tables import each_row

VECTORS = json.loads((FIXTURES / "draw_vectors.json").read_text(encoding="utf-8"))
SECRET = bytes(range(32))

moves = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from(["P01", "P02"]),
        st.text(max_size=5) | st.integers() | st.none() | st.lists(st.integers(), max_size=2),
    ),
    max_size=4,
)


def draw(played, index=0, bounds=(1, 10), seed=bytes(32)):
    return draws.number(seed, "league_1", "R1M1", index=index, moves=played, bounds=bounds)


@rule("R-DRAW-01", "R-DRAW-02", "R-DRAW-03", "R-DRAW-04")
@each_row("vector", VECTORS)
def test_a_draw_can_be_checked_in_a_few_lines(vector):
    league, match = vector["league_id"], vector["match_id"]
    seed = bytes.fromhex(vector["seed"])
    text = f"draw-v1|{league}|{match}|{vector['index']}|{vector['moves_digest']}"
    drawn = int(hmac.new(seed, text.encode(), hashlib.sha256).hexdigest(), 16)
    low, high = vector["bounds"]

    assert low + drawn % (high - low + 1) == vector["number"]
    commitment = f"commit-v1|{league}|{match}|{vector['seed']}"
    assert hashlib.sha256(commitment.encode()).hexdigest() == vector["commitment"]
    assert hashlib.sha256(vector["moves_text"].encode()).hexdigest() == vector["moves_digest"]


@rule("R-DRAW-01", "R-DRAW-02", "R-DRAW-03", "R-DRAW-04")
@each_row("vector", VECTORS)
def test_we_draw_what_anybody_would(vector):
    league, match = vector["league_id"], vector["match_id"]
    secret, seed = bytes.fromhex(vector["secret"]), bytes.fromhex(vector["seed"])
    played = [tuple(move) for move in vector["moves"]]

    assert draws.seed_of(secret, league, match) == seed
    assert draws.commitment(seed, league, match) == vector["commitment"]
    assert draws.moves_digest(played) == draws.moves_digest(vector["moves"])
    assert draws.moves_digest(played) == vector["moves_digest"]
    number = draws.number(
        seed, league, match, index=vector["index"], moves=played, bounds=tuple(vector["bounds"])
    )
    assert number == vector["number"]


@rule("R-DRAW-04")
@given(moves, st.integers(0, 20), st.integers(-5, 5), st.integers(0, 20))
def test_a_number_lies_within_its_bounds(played, index, low, span):
    assert low <= draw(played, index, (low, low + span)) <= low + span


@rule("R-DRAW-03")
@given(moves, moves)
def test_other_moves_have_another_digest(one, other):
    same = json.dumps(one) == json.dumps(other)

    assert (draws.moves_digest(one) == draws.moves_digest(other)) is same


whatever = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.characters(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@rule("R-DRAW-03")
@given(st.lists(st.tuples(st.integers(), st.text(), whatever), max_size=3))
@example([(0, "P01", "\x7f"), (0, "P02", 'a"\\/')])
@example([(0, "P01\ud800", 2**70), (0, "P02", True)])
def test_whatever_the_moves_are_their_digest_is_that_of_json_in_ascii(played):
    text = json.dumps(played, separators=(",", ":"))

    assert draws.moves_digest(played) == hashlib.sha256(text.encode("ascii")).hexdigest()


@rule("R-DRAW-05")
def test_the_epoch_is_not_in_it():
    assert "epoch" not in inspect.signature(draws.number).parameters
    assert draw([(0, "P01", "even")]) == draw([(0, "P01", "even")])


@rule("R-DRAW-04")
def test_every_number_comes_about_as_often_as_any_other():
    drawn = [draw([], index) for index in range(2000)]

    assert set(drawn) == set(range(1, 11))
    assert all(140 < drawn.count(number) < 260 for number in range(1, 11))


@rule("R-DRAW-01", "R-DRAW-02")
def test_every_match_has_its_own_seed_and_its_own_commitment():
    places = [("league_1", "R1M1"), ("league_1", "R1M2"), ("league_2", "R1M1")]
    seeds = {draws.seed_of(SECRET, *place) for place in places}

    assert len(seeds) == 3
    assert len({draws.commitment(seed, *places[0]) for seed in seeds}) == 3
    assert len({draws.commitment(SECRET, *place) for place in places}) == 3

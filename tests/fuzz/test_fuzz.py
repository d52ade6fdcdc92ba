"""A few seconds of what `make fuzz` does for an hour; the same inputs each time."""

import gc
import tracemalloc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fuzz.__main__ as fuzzing
from examples import examples
from fuzz.seeds import chunked, posted
from fuzz.target_server import SERVICE
from fuzz.targets import NAMES, Target, load

GROWTH_MAX = 1_000_000
# So many streams, files or messages these targets make of one input.
EACH = {
    "server": 4,
    "requests": 4,
    "settings": 9,
    "files": 6,
    "registrations": 10,
    "hostile_agents": 10,
}
OF_MANY = ("registrations", "hostile_agents")


@pytest.mark.parametrize("name", NAMES)
def test_whatever_unknown_callers_send_is_read_well_or_refused(name):
    target, rng = load(name), Random(name)

    for data in target.seeds[:10] if target.of_lines else target.seeds:
        target.one(data)
    for _ in range(NAMES[name]):
        target.one(target.make(rng))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OF_MANY])
@settings(max_examples=examples(15), derandomize=True, database=None)
@given(rng=st.randoms(use_true_random=False), raw=st.binary(max_size=200))
def test_what_hypothesis_thinks_of_is_read_well_or_refused(name, rng, raw):
    target = load(name)

    target.one(raw)
    target.one(target.make(rng))


def test_requests_in_a_row_are_answered_alike_wherever_they_are_cut():
    stream = (
        posted(b"one") + chunked(b"two" * 20, 7) + posted(b"three") + b"GET /mcp HTTP/1.0\r\n\r\n"
    )
    whole = SERVICE.talk([stream])

    for at in range(len(stream)):
        assert SERVICE.talk([stream[:at], stream[at:]]) == whole


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_thousand_inputs_leave_no_memory_behind(name, capsys):
    target, rng = load(name), Random(name)

    def traced(count):
        for _ in range(count // EACH.get(name, 1)):
            target.one(target.make(rng))
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before, after = traced(10_000), traced(90_000)
    finally:
        tracemalloc.stop()

    with capsys.disabled():
        print(f"\n{name}: {before / 1e6:.2f} MB after 10,000, {after / 1e6:.2f} MB after 100,000")
    assert after - before < GROWTH_MAX


def test_an_input_that_fails_is_made_smaller_and_kept_with_the_command_to_try_it(
    tmp_path, monkeypatch, capsys
):
    def one(data):
        assert b"no" not in data

    monkeypatch.setattr(fuzzing, "load", lambda name: Target(one, [b"well", b"a word: no!"]))
    arguments = ["--seconds", "5", "--seed", "1", "--target", "urls", "--keep", str(tmp_path)]

    assert fuzzing.main(arguments) == 1

    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == b"no"
    assert f"--target urls --reproduce {kept}" in capsys.readouterr().out
    assert fuzzing.main(["--target", "urls", "--reproduce", str(kept)]) == 1

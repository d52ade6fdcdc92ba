"""Agents that nobody listed, composed by seed of independent traits, play in real leagues."""

import asyncio

import pytest

from foreign.composed import composed, smaller, traits_of
from foreign.composed_league import play
from rules import rule

SIZES = {"player": 9, "referee": 5}  # of a league


def shapes_of(role, seeds):
    return [composed(role, seed) for seed in seeds]


def explained(shape):
    """Why a composition may fail; empty if it must not."""
    traits = traits_of(shape)
    if traits.get("call") in ("handle_", "on_"):
        return "its method is shown nowhere, and found only after all others were tried"
    if "push" in traits and "register" in traits:
        return (
            "it pushes, and does not register as it wants to be called: its push may come too late"
        )
    return ""


@rule("R-DIA-08", "R-DIA-13", "R-REG-01")
def test_players_that_nobody_listed_play_a_league_to_its_end(tmp_path):
    assert asyncio.run(play(tmp_path, "player", shapes_of("player", range(1, 7)))) == {}


@rule("R-START-01", "R-DIA-13")
def test_referees_that_nobody_listed_bring_a_league_to_its_end(tmp_path):
    assert asyncio.run(play(tmp_path, "referee", shapes_of("referee", (4, 6, 9, 10, 11)))) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("role", "count"), [("player", 180), ("referee", 40)])
def test_nearly_all_compositions_play_and_every_other_is_explained(tmp_path, role, count):
    shapes, failures = shapes_of(role, range(1, count + 1)), {}
    for at in range(0, count, SIZES[role]):
        some = shapes[at : at + SIZES[role]]
        failures |= asyncio.run(play(tmp_path / str(at), role, some))

    print(f"{count - len(failures)} of {count} composed {role}s played.")
    for shape, why in failures.items():
        print(f"{shape}\n    {why}\n    {explained(shape)}")
    assert [shape for shape in failures if not explained(shape)] == []
    assert len(failures) <= count // 10


def test_a_composition_is_the_same_every_time_and_gets_smaller_by_one_trait_at_a_time():
    shape = composed("player", 2)

    assert shape == composed("player", 2)
    assert all(len(each) < len(shape) for each in smaller(shape))

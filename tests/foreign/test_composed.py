"""Agents and managers that nobody listed, composed by seed of traits, in real leagues."""

import asyncio

import pytest

from foreign.composed import composed, smaller, traits_of
from foreign.composed_league import play, play_alone
from rules import rule

SIZES = {"player": 9, "referee": 5}  # of a league


def shapes_of(role, seeds):
    return [composed(role, seed) for seed in seeds]


@rule("R-DIA-08", "R-DIA-13", "R-REG-01")
def test_players_that_nobody_listed_play_a_league_to_its_end(tmp_path):
    assert asyncio.run(play(tmp_path, "player", shapes_of("player", range(1, 7)))) == {}


@rule("R-START-01", "R-DIA-13")
def test_referees_that_nobody_listed_bring_a_league_to_its_end(tmp_path):
    assert asyncio.run(play(tmp_path, "referee", shapes_of("referee", (4, 6, 9, 10, 11)))) == {}


@rule("R-GUEST-01", "R-GUEST-05", "R-DIA-13")
def test_our_agents_play_under_managers_that_nobody_listed():
    shapes = shapes_of("manager", (3, 7, 11))

    assert asyncio.run(play_alone(None, "manager", shapes)) == {}


def explained(shape):
    """Why our agents may not play under this manager; empty if they must."""
    traits = traits_of(shape)
    if "." in traits.get("place", ""):
        return "its answer to a registration is two levels down, where an id may be anybody's"
    if traits.get("reads") == "flat" and "refuses" in traits:
        return "it refuses a draw without a reason, and breaks at the next form: that may count"
    return ""


@pytest.mark.slow
def test_our_agents_play_under_many_more_of_them_and_every_other_is_explained():
    shapes = shapes_of("manager", range(1, 26))

    failures = asyncio.run(play_alone(None, "manager", shapes))

    print(f"{len(shapes) - len(failures)} of {len(shapes)} composed managers.")
    assert [shape for shape in failures if not explained(shape)] == []
    assert len(failures) <= 3


@pytest.mark.slow
@pytest.mark.parametrize(("role", "count"), [("player", 180), ("referee", 40)])
def test_all_compositions_play(tmp_path, role, count):
    shapes, failures = shapes_of(role, range(1, count + 1)), {}
    for at in range(0, count, SIZES[role]):
        some = shapes[at : at + SIZES[role]]
        failures |= asyncio.run(play(tmp_path / str(at), role, some))

    print(f"{count - len(failures)} of {count} composed {role}s played.")
    assert failures == {}


def test_a_composition_is_the_same_every_time_and_gets_smaller_by_one_trait_at_a_time():
    shape = composed("player", 2)

    assert shape == composed("player", 2)
    assert all(len(each) < len(shape) for each in smaller(shape))

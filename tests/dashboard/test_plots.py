"""Plots: well-formed whatever the numbers, text as text, small, and readable by a screen reader."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentleague.dashboard import plots

NASTY = "<img src=x onerror=alert(1)>&\"'\x00\x1b[31m\ud800"
names = st.one_of(st.just(NASTY), st.just("統" * 40), st.text(max_size=60))
numbers = st.one_of(st.integers(0, 50), st.integers(-(10**6), 10**20))
counts = st.integers(-3, 10**9)
points = st.lists(numbers, max_size=60)
series = st.lists(
    st.fixed_dictionaries({"name": names, "player_id": names, "points": points}), max_size=40
)
cells = st.fixed_dictionaries(dict.fromkeys(("won", "drawn", "lost"), st.integers(0, 9)))
NUMBER = re.compile(r"-?\d*\.?\d+(?:e[+-]?\d+)?")
EMPTY_WORDS = "plot-empty"


def inside(markup):
    """Parse a plot and check that every coordinate is inside its viewBox."""
    root = ElementTree.fromstring(str(markup))
    if root.tag == "p":
        assert root.get("class") == EMPTY_WORDS
        assert root.text.endswith(".")
        return root
    tag = root.tag.removesuffix("svg")
    width, height = map(float, root.get("viewBox").split()[2:])
    assert root.get("role") == "img"
    assert root.find(f"{tag}title").text
    assert root.find(f"{tag}desc").text
    scaled = {path for group in root.iter() if group.get("transform") for path in group.iter()}
    for each in root.iter():
        assert not re.search(r"nan|inf\b", " ".join(each.attrib.values()), re.IGNORECASE)
        if each.tag == f"{tag}text":
            xs = list(map(float, each.get("x").split()))
            assert all(0 <= x <= width for x in xs)
            assert 0 <= float(each.get("y")) <= height
        elif each.tag == f"{tag}path" and each not in scaled:
            for x, y in places(each.get("d")):
                assert 0 <= x <= width + 0.11
                assert 0 <= y <= height
    return root


def places(path):
    """The points that a path goes through."""
    x = y = 0.0
    for letter, rest in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", path):
        values = [float(each) for each in NUMBER.findall(rest)]
        if letter in "ML":
            x, y = values
        elif letter in "Hh":
            x = values[0] + (x if letter == "h" else 0)
        elif letter in "Vv":
            y = values[0] + (y if letter == "v" else 0)
        yield x, y


@given(series, st.sampled_from(["", NASTY]))
def test_points_of_any_players_are_drawn_inside_the_picture(players, highlight):
    inside(plots.points_by_round(players, highlight))


@given(st.lists(numbers, max_size=200), st.one_of(st.none(), numbers))
@example([10, 10], 1)  # all after the limit
def test_times_of_any_length_are_drawn_inside_the_picture(times, limit):
    inside(plots.response_times(times, limit))


@given(st.integers(0, 130), st.dictionaries(st.tuples(counts, counts), cells, max_size=30))
def test_a_cross_table_of_any_size_is_drawn_inside_the_picture(count, found):
    ids = [f"P{number}" for number in range(count)]
    named = {f"P{one % 140}|P{other % 140}": cell for (one, other), cell in found.items()}

    inside(plots.cross_table(ids, [NASTY] * count, named))


@given(st.lists(st.dictionaries(names, counts, max_size=12), max_size=60))
def test_choices_of_any_kind_are_drawn_inside_the_picture(moves):
    inside(plots.choices([{"round": at, "moves": each} for at, each in enumerate(moves)]))


@given(st.dictionaries(names, counts, max_size=12))
def test_losses_of_any_cause_are_drawn_inside_the_picture(causes):
    inside(plots.share_of_losses(causes))


def players(count, rounds, name="Player"):
    return [
        {"name": f"{name} {n}", "player_id": f"P{n}", "points": [*range(n % 7, n % 7 + rounds)]}
        for n in range(count)
    ]


def pairs(count):
    return {
        f"P{one}|P{other}": {"won": (one * other) % 3 == 1, "drawn": 0, "lost": 1}
        for one in range(count)
        for other in range(one)
    }


@pytest.mark.parametrize(("count", "bytes_max"), [(12, 5_000), (100, 60_000), (500, 60_000)])
def test_plots_stay_small(count, bytes_max):
    ids = [f"P{number}" for number in range(count)]
    drawn = [
        plots.points_by_round(players(count, count - 1)),
        plots.response_times([*range(1, 40 * count)], 30_000),
        plots.cross_table(ids, ids, pairs(count)),
        plots.choices([{"round": n, "moves": {"a": n, "b": 3, "c": 1}} for n in range(count)]),
        plots.share_of_losses({f"cause {number}": number for number in range(count)}),
    ]

    assert max(len(each.encode()) for each in drawn) <= bytes_max


def test_names_are_text():
    root = inside(plots.points_by_round(players(3, 4, NASTY)))

    assert any("<img src" in (each.text or "") for each in root.iter())


def test_a_row_against_a_column_is_won_whichever_way_round_the_pair_was_given():
    one = plots.cross_table(["A", "B"], "AB", {"A|B": {"won": 1, "drawn": 0, "lost": 0}})
    other = plots.cross_table(["A", "B"], "AB", {"B|A": {"won": 0, "drawn": 0, "lost": 1}})

    assert one == other
    assert 'class="win" color="#0060a8" d="M1 0h1"' in one


def test_names_at_the_ends_of_lines_never_overlap():
    root = inside(plots.points_by_round(players(8, 2) * 2))
    ys = sorted(
        {float(each.get("y")) for each in root.iter() if (each.text or "").startswith("Player")}
    )

    assert len(ys) == 8
    assert min(b - a for a, b in pairwise(ys)) >= plots.LINE - 0.2


def test_too_little_data_is_a_sentence():
    assert "no round has ended." in plots.points_by_round([])
    assert "after the first round Ann 3." in plots.points_by_round(
        [{"name": "Ann", "player_id": "P01", "points": [3]}]
    )
    assert "one answer, after 12 ms." in plots.response_times([12], 30_000)
    assert "in round 2 even 1." in plots.choices([{"round": 2, "moves": {"even": 1}}])
    assert "nobody has lost." in plots.share_of_losses({})
    assert "no match" in plots.cross_table(["A"], ["A"], {})

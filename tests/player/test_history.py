"""What a player remembers of its matches looks like a list of them, however it is kept."""

import pytest

from agentleague.player.memory import BLOCK, HISTORY_MAX, History


def match(number):
    return {"match_id": f"R{number}M1", "result": {"choices": {"P01": number, "é": None}}}


def remembered(number):
    """A history after so many matches, and the list that it stands for."""
    history = History()
    for each in range(number):
        history.append(match(each))
    return history, [match(each) for each in range(number)][-HISTORY_MAX:]


@pytest.mark.parametrize(
    "number",
    [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7, HISTORY_MAX, HISTORY_MAX + 1, HISTORY_MAX + BLOCK + 3],
)
def test_it_is_read_like_a_list_of_the_last_matches(number):
    history, matches = remembered(number)

    assert (len(history), bool(history)) == (len(matches), bool(matches))
    assert list(history) == matches
    assert history == matches
    assert history[-3:] == matches[-3:]
    assert history[::-40] == matches[::-40]
    assert list(reversed(history))[:2] == matches[::-1][:2]
    for place in range(-len(matches), len(matches), 17):
        assert history[place] == matches[place]


@pytest.mark.parametrize("place", [-4, 3, 1000])
def test_there_is_no_match_beyond_its_ends(place):
    with pytest.raises(IndexError):
        _ = remembered(3)[0][place]


def test_a_copy_stays_as_it_is():
    history, matches = remembered(2 * BLOCK)

    shown = history.copy()
    history.append(match(-1))

    assert shown == matches
    assert history != matches
    assert shown != 7


def test_most_of_it_is_packed():
    history, _ = remembered(HISTORY_MAX)

    assert len(history._newest) <= BLOCK
    assert sum(map(len, history._packed)) < 30 * HISTORY_MAX

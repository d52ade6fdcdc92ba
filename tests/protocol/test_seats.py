"""What is said at a seat, and how its end point is spelled."""

import pytest

from agentleague.errors import LeagueError
from agentleague.protocol import seats
from agentleague.protocol.seats import Opening, Poll, SeatAnswer


def test_a_poll_is_read_with_what_it_leaves_out():
    full = b'{"epoch":3,"ack":18,"wait":2,"answers":[{"id":"c17","status":200,"body":"{}"}]}'

    assert seats.read(full, Poll) == Poll(3, 18, 2.0, (SeatAnswer("c17", 200, "{}"),))
    assert seats.read(b'{"epoch":3}', Poll) == Poll(3, 0, 25.0, ())
    assert seats.read(b"", Opening) == seats.read(b"{}", Opening) == Opening("")


MANY = b",".join([b'{"id":"c1","status":200,"body":""}'] * 17)
ANSWER = b'{"epoch":1,"answers":[{"id":"c1","status":%b,"body":"x"}]}'


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{}", "poll: missing field 'epoch'"),
        (b'{"epoch":"1"}', "poll.epoch: expected `int`, got `str`"),
        (b'{"epoch":-1}', "poll.epoch: expected `int` >= 0"),
        (b'{"epoch":1,"ack":1.5}', "poll.ack: expected `int`"),
        (b'{"epoch":1,"wait":-1}', "poll.wait: expected `float` >= 0"),
        (ANSWER % b"99", "poll.answers[0].status: expected `int` >= 200"),
        (b'{"epoch":1,"answers":[{"id":"c1","status":200}]}', "'answers[0].body'"),
        (b'{"epoch":1,"answers":[%b]}' % MANY, "poll.answers: expected `array` of length <= 16"),
        (b"[]", "poll.: expected `object`, got `array`"),
        (b"{", "is not JSON"),
        (b'{"epoch":1,"answers":[{"id":"\\ud800"}]}', "half of a surrogate pair"),
        (b"\xff", "is not JSON"),
        (b'{"epoch":1,"x":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_poll_is_refused_with_the_name_of_the_field(body, sentence):
    with pytest.raises(LeagueError) as refused:
        seats.read(body, Poll)

    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/seats/P07/mcp", ("P07", "mcp")),
        ("/seats/P07/open", ("P07", "open")),
        ("/seats/P07/poll", ("P07", "poll")),
        ("/seats/P07", ("", "")),
        ("/seats/P07/", ("", "")),
        ("/seats/P07/mcp/mcp", ("", "")),
        ("/seats/", ("", "")),
        ("/mcp", ("", "")),
    ],
)
def test_a_path_names_a_seat_and_what_is_done_there(path, said):
    assert seats.split(path) == said


def test_the_end_point_of_a_seat_is_a_path_at_the_manager():
    endpoint = seats.endpoint_of("P07")

    assert endpoint == "/seats/P07/mcp"
    assert seats.is_seat(endpoint)
    assert not seats.is_seat("http://127.0.0.1:8101/mcp")


@pytest.mark.parametrize("path", ["/seats/P07/mcp", "http://10.0.0.9:8000/seats/P07/mcp"])
def test_a_seat_is_called_where_the_caller_reaches_the_manager(path):
    assert seats.url_at("http://[::1]:8000/mcp", path) == "http://[::1]:8000/seats/P07/mcp"


@pytest.mark.parametrize("path", ["/seats/P07", "http://10.0.0.9:8000/leagues/seats/seats/P07"])
@pytest.mark.parametrize("above", ["", "/leagues/cup", "/leagues/seats"])
def test_a_manager_below_a_path_has_its_seats_there(path, above):
    there = f"http://127.0.0.1:8000{above}"

    assert seats.url_at(f"{there}/mcp", path) == f"{there}/seats/P07"
    assert seats.url_at(f"{there}/mcp,http://b/mcp", path) == f"{there}/seats/P07"

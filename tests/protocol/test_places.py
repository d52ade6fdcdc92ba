"""Two spellings of one end point are the same place."""

from agentleague.protocol.hosts import is_home, places
from rules import rule
from tables import each_row

HERE = "http://127.0.0.1:8101/mcp"
LAPTOP = "http://laptop:8101/mcp"


@rule("R-OWN-06")
@each_row(
    ("one", "other", "addresses", "is_same"),
    [
        (HERE, "http://localhost:8101/mcp", (), True),
        (HERE, "http://[::ffff:127.0.0.1]:8101/", (), True),
        (HERE, "HTTP://127.0.0.1:8101?x=1", (), True),
        ("http://[0:0::1]:8101/mcp", "http://LOCALHOST.:8101/mcp/", (), True),
        (HERE, "http://127.0.0.1:8102/mcp", (), False),
        (HERE, "http://127.0.0.1:8101/bob/mcp", (), False),
        (HERE, "http://127.0.0.2:8101/mcp", (), False),
        ("http://10.0.0.7/mcp", "http://10.0.0.7:80/mcp", (), True),
        # Names are compared by their addresses, where these are known.
        (LAPTOP, "http://10.0.0.7:8101/mcp", (), False),
        (LAPTOP, "http://10.0.0.7:8101/mcp", ("10.0.0.7",), True),
        ("http://10.0.0.7:8101/mcp", LAPTOP, ("10.0.0.7",), True),
        # Behind https a name stands for itself: many share the address of a proxy.
        ("https://ann.example/mcp", "https://bob.example/mcp", ("10.0.0.1",), False),
        ("https://ann.example/mcp", "https://Ann.example:443/mcp", ("10.0.0.1",), True),
        ("http://[/mcp", "http://[/mcp", (), True),
        ("http://[/mcp", HERE, (), False),
    ],
)
def test_end_points_are_compared_by_where_they_are(one, other, addresses, is_same):
    assert bool(places(one, addresses) & places(other, addresses)) == is_same


def test_a_request_comes_from_one_of_the_places():
    laptop = places(LAPTOP, ["10.0.0.7", "fd00::7"])

    assert is_home(laptop, "10.0.0.7")
    assert is_home(laptop, "fd00::7")
    assert not is_home(laptop, "10.0.0.8")
    assert not is_home(laptop, "")
    assert is_home(places(HERE), "::1")

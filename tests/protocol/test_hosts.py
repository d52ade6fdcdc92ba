"""Whose machine a request may come from."""

from agentleague.protocol.hosts import is_at
from tables import each_row


@each_row(
    ("endpoint", "source", "is_there"),
    [
        ("http://127.0.0.1:8001/mcp", "127.0.0.1", True),
        ("http://127.0.0.1:8001/mcp", "::1", True),
        ("http://localhost:8001/mcp", "::ffff:127.0.0.1", True),
        ("http://127.0.0.1:8001/mcp", "10.0.0.7", False),
        ("http://10.0.0.7:8001/mcp", "127.0.0.1", False),
        ("http://10.0.0.7:8001/mcp", "10.0.0.7", True),
        ("http://[fd00::7]:8001/mcp", "fd00:0::7", True),
        ("http://10.0.0.7:8001/mcp", "10.0.0.8", False),
        ("http://10.0.0.7:8001/mcp", "::ffff:10.0.0.7", True),
        ("http://10.0.0.7:8001/mcp", "::ffff:10.0.0.8", False),
        ("http://ref.example:8001/mcp", "10.0.0.7", False),
    ],
)
def test_a_machine_is_the_same_however_its_address_is_written(endpoint, source, is_there):
    assert is_at(endpoint, source) is is_there

"""What a role is told of a request."""

from agentleague.roles.stimuli import read_headers


def test_headers_are_read_by_lower_case_name_and_several_of_a_name_are_joined():
    head = b"POST /mcp HTTP/1.1\r\nHost: here\r\nX-One: 1\r\nx-one:  2 "

    assert read_headers(head) == {"host": "here", "x-one": "1, 2"}

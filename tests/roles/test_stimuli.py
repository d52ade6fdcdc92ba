"""What a role is told of a request."""

import pytest

from agentleague.roles.stimuli import read_headers, write_headers


def test_headers_are_read_by_lower_case_name_and_several_of_a_name_are_joined():
    head = b"POST /mcp HTTP/1.1\r\nHost: here\r\nX-One: 1\r\nx-one:  2 "

    assert read_headers(head) == {"host": "here", "x-one": "1, 2"}


def test_a_header_that_would_be_two_is_refused():
    assert write_headers([("X-One", "1"), ("X-Two", "2")]) == b"\r\nX-One: 1\r\nX-Two: 2"
    for header in [("X-One", "1\r\nInjected: 2"), ("X-One: 1\r\nInjected", "2")]:
        with pytest.raises(ValueError, match="not a header"):
            write_headers([header])

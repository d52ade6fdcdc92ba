"""Timestamps: what we write, what we take, what we refuse."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.errors import InvalidTimestamp
from agentleague.protocol import timestamps
from protocol.wire import refused, registration, request, taken
from rules import rule
from tables import each_row

MOMENT = datetime(2026, 3, 4, 9, 5, 6, tzinfo=UTC)


@rule("R-TIME-02", "R-TIME-03")
@each_row(
    "text",
    [
        "2026-03-04T09:05:06Z",
        "2026-03-04T09:05:06+00:00",
        "2026-03-04T09:05:06+0000",
        "2026-03-04T09:05:06.7Z",  # tenths
        "2026-03-04T09:05:06.123Z",
        "2026-03-04T09:05:06.123456+00:00",  # Python's isoformat
        "2026-03-04T09:05:06.123456789Z",  # Go's
        "2026-03-04T09:05:06,5Z",  # ISO 8601 prefers the comma
        "20260304T090506Z",  # no separators
        "20260304T09:05:06Z",  # document 004's examples
        "2026-03-04T090506Z",
        "20260304T090506.5+0000",
    ],
)
def test_a_time_in_utc_is_taken_in_many_spellings(text):
    assert timestamps.parse(text) == MOMENT
    assert taken(registration(timestamp=text)).timestamp == text


@rule("R-TIME-04")
@each_row(
    "text",
    [
        "2026-03-04T09:05:06",  # no zone
        "2026-03-04T09:05:06+02:00",  # local time
        "2026-03-04T09:05:06-05:00",
        "2026-03-04T09:05:06-00:00",
        "2026-03-04T09:05:06+00",
        "2026-03-04 09:05:06Z",  # no T
        "2026-03-04t09:05:06z",
        "2026-03-04",  # no time
        "2026-03-04T09:05Z",  # no seconds
        "2026-0304T09:05:06Z",  # half of the separators
        "202603-04T09:05:06Z",
        "2026-03-04T09:0506Z",
        "2026-03-04T0905:06Z",
        "2026-03-04T09:05:06.Z",  # a point and nothing behind it
        "2026-03-04T09:05:06.1234567890Z",  # ten digits
        "2026-02-30T09:05:06Z",  # no such day
        "2026-13-01T09:05:06Z",
        "0000-03-04T09:05:06Z",
        "2026-03-04T24:00:00Z",
        "2026-03-04T09:60:06Z",
        "2026-03-04T23:59:60Z",  # a leap second
        "٢٠٢٦-03-04T09:05:06Z",  # digits that are not ASCII
        "2026-03-04T09:05:06Z\n",
        " 2026-03-04T09:05:06Z",
        "Wed, 04 Mar 2026 09:05:06 GMT",
        "1772615106",
        "now",
    ],
)
def test_any_other_time_is_an_invalid_timestamp(text):
    answer = refused(registration(timestamp=text))

    data = answer["error"]["data"]
    assert (answer["error"]["code"], data["error_code"]) == (-32602, "E021")
    assert (data["context"]["field"], data["context"]["timestamp"]) == ("timestamp", text)
    assert data["error_name"] == "INVALID_TIMESTAMP"


@rule("R-TIME-05")
def test_other_times_than_the_timestamp_may_hold_anything():
    join = request({"arrival_timestamp": "half past nine"}, "GAME_JOIN_ACK")
    call = request({"deadline": "soon"}, "parity_choose")

    assert taken(join, "referee").arrival_timestamp == "half past nine"
    assert taken(call, "player").deadline == "soon"


def test_a_long_text_is_not_repeated_whole():
    with pytest.raises(InvalidTimestamp) as caught:
        timestamps.parse("x" * 5000)

    assert len(str(caught.value)) < 200


@rule("R-TIME-01")
@given(st.floats(0, 4e9))
def test_a_time_is_written_in_the_one_form_that_every_document_takes(seconds):
    text = timestamps.write(seconds)

    assert len(text) == len("2026-03-04T09:05:06Z")
    assert timestamps.parse(text).timestamp() == int(seconds)


@rule("R-TIME-01")
def test_a_second_that_has_not_come_is_not_written():
    assert timestamps.write(1.9999999) == "1970-01-01T00:00:01Z"


@rule("R-TIME-01")
def test_a_calendar_writes_monotonic_times_as_wall_clock_text():
    calendar = timestamps.Calendar(wall_offset=1772615106 - 50.0)

    assert calendar.write(50.0) == calendar.write(50.9) == "2026-03-04T09:05:06Z"
    assert calendar.write(51.0) == "2026-03-04T09:05:07Z"
    assert timestamps.Calendar(wall_offset=-1.0).write(0.0) == "1969-12-31T23:59:59Z"


def test_a_calendar_says_how_far_off_a_written_time_is():
    calendar = timestamps.Calendar(wall_offset=1772615106 - 50.0)

    assert calendar.seconds_until("2026-03-04T09:05:16Z", 50.0) == 10.0
    assert calendar.seconds_until("2026-03-04T09:05:06Z", 60.0) == 0.0
    with pytest.raises(InvalidTimestamp):
        calendar.seconds_until("soon", 50.0)

"""The journal's rows: each kind survives being written and read, and none holds a secret."""

import msgspec
import pytest

from agentleague.errors import Damaged
from agentleague.league.events import (
    KINDS,
    DialectLearnt,
    Disputed,
    EndpointChanged,
    EndpointProved,
    LeagueContinued,
    LeaguePaused,
    LossAccepted,
    MatchAssigned,
    MatchBegun,
    MatchLocked,
    MatchRuled,
    PlayerJoined,
    PlayerRemoved,
    PlayerReturned,
    RefereeApproved,
    RefereeSetAside,
    RegistrationDisplaced,
    StageStarted,
    TimeUp,
    TokenConfirmed,
    TokenMisused,
    TokenRenewed,
    TokenShown,
    Told,
    read_event,
)
from agentleague.roles.effects import Event
from games.throwaway import THROWAWAY
from league.decisions import DRAW_SECRET, TOKEN_SECRET, Decisions, token
from rules import rule


def every_kind():
    """The journals of leagues in which everything happens that can be journalled."""
    whole = Decisions(3, referees=2)
    whole.start()
    whole.lock([], match_id="R1M1", referee="REF02")  # not its referee: a dispute
    whole.play("R1M1", forfeits=["P02"])
    dice = Decisions(2, game=THROWAWAY["dice"]).start()
    dice.lock([(0, "P01", 1), (0, "P02", 6)])
    believed = Decisions(2, locks=False).start()
    believed.report("P01", details={"choices": {"P01": "even", "P02": None}})
    return [
        PlayerReturned("P01", "0" * 64, 2),
        TokenRenewed("P01", "1" * 64, 3, "http://127.0.0.1:8109/mcp"),
        TokenConfirmed("P01", 3),
        EndpointChanged("P01", "http://127.0.0.1:8109/mcp"),
        EndpointProved("P01"),
        RegistrationDisplaced("P03", "P01", "Ann"),
        PlayerRemoved("P02"),
        PlayerJoined("P04"),
        StageStarted(2, ["P01", "P02"]),
        TimeUp(2),
        RefereeApproved("REF03"),
        RefereeSetAside("REF03", ["P01", "P02", "P03"]),
        MatchAssigned("R1M1", 2, "REF02", "REF01 was silent"),
        MatchBegun("R1M1", 2),
        LossAccepted(217_500_000, 239, {"R1M1": "2" * 64}),
        LeaguePaused(),
        LeagueContinued(),
        MatchRuled("R1M1", "win", "P02", "the other one cheated"),
        TokenMisused("P01", "MATCH_RESULT_REPORT", "match"),
        TokenShown("REF01"),
        DialectLearnt("P01", "type"),
        Told("round_end", 1),
        *Decisions(3).play_to_the_end().events,
        *whole.events,
        *dice.events,
        *believed.events,
    ]


EVENTS = every_kind()


def kind_of(event):
    return str(type(event).__struct_config__.tag)


@rule("R-LEAGUE-21")
def test_every_kind_of_event_is_known_by_its_tag():
    written = {cls for cls in Event.__subclasses__() if cls.__module__ == read_event.__module__}

    assert set(KINDS.values()) == written
    assert {kind_of(event) for event in EVENTS} == set(KINDS)


@rule("R-LEAGUE-21")
def test_an_event_survives_being_written_and_read():
    for kind in KINDS:
        for event in (event for event in EVENTS if kind_of(event) == kind):
            assert read_event(kind, 1, msgspec.json.encode(event)) == event


@rule("R-LEAGUE-21")
def test_moves_of_any_json_survive():
    moves = [(0, "P01", {"a": [1, 2.5, None, True, "ü"]}), (0, "P02", None)]
    event = MatchLocked("R1M1", 1, 0, moves, 3)

    assert read_event("match_locked", 1, msgspec.json.encode(event)) == event


@rule("R-LEAGUE-21")
@pytest.mark.parametrize(
    ("kind", "version"), [("league_moved", 1), ("disputed", 2), ("disputed", 0), ("", 1)]
)
def test_an_unknown_kind_or_version_stops_the_reader_with_a_sentence(kind, version):
    body = msgspec.json.encode(Disputed("R1M1", "REF01", "why"))

    with pytest.raises(Damaged, match=f"a row '{kind}' of version {version}, which this") as stop:
        read_event(kind, version, body)

    assert "use the version that wrote it, or a newer one" in str(stop.value)


@rule("R-LEAGUE-21")
def test_a_body_that_cannot_be_read_stops_the_reader():
    for body in [
        b"",
        b"not json",
        b"\xff",
        b"[]",
        b'{"kind":"disputed"}',
        b'{"kind":"disputed","match_id":1,"referee_id":"REF01","why":"x"}',
        b'{"kind":"round_ended","round_id":1}',  # another kind's body
    ]:
        with pytest.raises(Damaged, match="a journal row 'disputed' cannot be read"):
            read_event("disputed", 1, body)


@rule("R-LEAGUE-22")
def test_no_event_holds_a_token_or_a_secret():
    journal = b"\n".join(msgspec.json.encode(event) for event in EVENTS)

    agents = {e.player_id for e in EVENTS if kind_of(e) == "player_registered"} | {"REF01", "REF02"}
    for secret in (*map(token, agents), DRAW_SECRET.decode(), TOKEN_SECRET.decode()):
        assert secret.encode() not in journal
    for word in (b"tok_", b"ses_", DRAW_SECRET.hex().encode(), TOKEN_SECRET.hex().encode()):
        assert word not in journal


@rule("R-LEAGUE-22")
def test_a_seed_is_written_only_with_the_result_that_reveals_it():
    with_seed = {kind for kind, cls in KINDS.items() if "seed" in cls.__struct_fields__}

    assert with_seed == {"match_decided", "league_started", "league_ended"}


def test_a_field_that_an_older_version_wrote_is_read_past():
    body = b"""{"player_id":"P01","display_name":"Ann","endpoint":"http://10.0.0.9:1/mcp",
        "version":"1.0","token_digest":"d","house":"h_5fa30c91"}"""

    assert read_event("player_registered", 1, body).player_id == "P01"

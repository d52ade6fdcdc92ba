"""What is worth a line in the log, and what the line says."""

import json
import logging

import pytest

from agentleague.dialects import requests
from agentleague.errors import InvalidRequest, NoAnswer, RateLimited, TokenInvalid
from agentleague.league.events import MatchAssigned, PlayerRegistered, PlayerRemoved
from agentleague.protocol import codec
from agentleague.protocol.messages import (
    LeagueQuery,
    LeagueQueryResponse,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
)
from agentleague.protocol.printable import log_text
from agentleague.roles.effects import Address, Broadcast, Call, Drop, End, Record, Reply
from agentleague.roles.stimuli import (
    Answered,
    Asked,
    Caller,
    Started,
    StrategyReturned,
    Told,
    Woken,
)
from agentleague.runtime.log import Entry, LogFile, Watcher, fields, in_words
from memory_league import MemoryLeague

TOKEN = "tok_P01_" + "0123456789abcdef" * 4
QUERY = LeagueQuery("GET_STATUS", sender="player:P01", conversation_id="conv-7", auth_token=TOKEN)
ASKED = Asked(QUERY, Caller("127.0.0.1", TOKEN), 1)
CALL = Call("key", Address("P02", "http://p2/mcp"), RoundCompleted(conversation_id="conv-1"), 9.0)

LATE = {"P02": NoAnswer("too late")}


def lines(*steps, level=logging.INFO):
    """The fields of all lines about these steps."""
    entries = []
    watcher = Watcher(entries.append, level)
    for stimulus, *effects in steps:
        watcher.saw(stimulus, effects)
    return [fields(entry) for entry in entries]


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([(Started(0.0),)], {"level": "INFO", "event": "started"}),
        ([(Woken("x"), End())], {"level": "INFO", "event": "ended"}),
        (
            [(ASKED, Reply(1, TokenInvalid("not yours")))],
            {
                "level": "WARNING",
                "event": "refused",
                "agent": "player:P01",
                "message_type": "LEAGUE_QUERY",
                "conversation_id": "conv-7",
                "error_code": "E012",
                "text": "not yours",
            },
        ),
        (
            [(Woken("x"), CALL), (Answered("key", None, NoAnswer("too late"), 10.00001),)],
            {
                "level": "WARNING",
                "event": "call_failed",
                "agent": "P02",
                "message_type": "ROUND_COMPLETED",
                "conversation_id": "conv-1",
                "error_code": "E001",
                "seconds": 10.0,
                "text": "too late",
            },
        ),
        (
            [(Told("key", {"P02": NoAnswer("too late")}, ["P03"]),), (Told("key", LATE),)],
            {
                "level": "WARNING",
                "event": "call_failed",
                "agent": "P02",
                "error_code": "E001",
                "text": "too late",
            },
        ),
        (
            [(StrategyReturned("x", None, "ZeroDivisionError"),)],
            {"level": "WARNING", "event": "strategy_failed", "text": "ZeroDivisionError"},
        ),
        (
            [(ASKED, Record(MatchAssigned("R1M1", 2, "REF02", "lease")))],
            {
                "level": "INFO",
                "event": "match_assigned",
                "match_id": "R1M1",
                "epoch": 2,
                "referee_id": "REF02",
                "why": "lease",
            },
        ),
    ],
)
def test_what_matters_has_a_line(steps, line):
    assert lines(*steps) == [line]


def test_a_round_that_a_player_reads_only_in_part_has_no_line():
    sent = codec.write_request(RoundAnnouncement(matches=[RoundMatch("R1M1")]), 1)
    message = requests.read_request(sent, codec.taken_by("player"), thorough=False).message

    assert lines((Asked(message, Caller("127.0.0.1"), 1),)) == []


def test_a_registration_that_is_rejected_is_a_warning():
    request = LeagueRegisterRequest(PlayerMeta("Ann", "http://a/mcp"), sender="player:Ann")
    rejected = LeagueRegisterResponse("REJECTED", reason="late", error_code="E019")

    (line,) = lines((Asked(request, Caller("127.0.0.1"), 1), Reply(1, rejected)))

    assert (line["level"], line["event"], line["error_code"]) == ("WARNING", "refused", "E019")
    assert (line["agent"], line["text"]) == ("player:Ann", "late")


def test_messages_that_went_well_are_for_debugging_alone():
    steps = [
        (ASKED, Reply(1, LeagueQueryResponse())),
        (Woken("x"), CALL),
        (Answered("key", None, None, 0.25),),
        (Woken("x"), Broadcast("all", [(CALL.to, [(CALL.message, None)])], 9.0)),
        (Told("all", {}),),
    ]

    assert lines(*steps) == []
    assert [line["event"] for line in lines(*steps, level=logging.DEBUG)] == [
        *("asked", "replied", "called", "answered", "called")
    ]


def test_a_call_that_was_dropped_is_forgotten():
    watcher = Watcher(lambda entry: None)

    watcher.saw(Woken("x"), [CALL])
    watcher.saw(Woken("x"), [Drop("key")])

    assert watcher._calls == {}


def test_what_the_transport_refused_says_from_where():
    entries = []

    Watcher(entries.append).refused("192.0.2.7", InvalidRequest("no method"))
    Watcher(entries.append, logging.ERROR).refused("192.0.2.7", RateLimited("slow down"))

    assert [fields(entry) for entry in entries] == [
        {
            "level": "WARNING",
            "event": "refused",
            "error_code": "E050",
            "text": "192.0.2.7: no method",
        }
    ]


def test_no_digest_of_a_token_is_in_a_line():
    event = PlayerRegistered("P01", "Ann", "http://a/mcp", "1.0", "d" * 64)

    (line,) = lines((ASKED, Record(event)))

    assert "d" * 64 not in json.dumps(line)
    assert (line["player_id"], line["display_name"]) == ("P01", "Ann")


@pytest.mark.parametrize(
    "text",
    [
        *(TOKEN, TOKEN.upper(), f"a {TOKEN} b", f"x{TOKEN}", "x" * 180 + TOKEN, "adm_secret"),
        *("mtok_" + "ab" * 32, "ses_" + "ab" * 20, "ab" * 32, "/play/seat_" + "ab" * 16),
    ],
)
def test_a_token_where_none_belongs_is_blotted_out(text):
    for secret in ("0123456789abcdef", "abababab", "adm_"):
        assert secret not in log_text(text).lower()
    entry = Entry(level=logging.INFO, event="refused", agent=text, text=text)
    assert "0123456789abcdef" not in json.dumps(fields(entry)).lower()
    assert "0123456789abcdef" not in in_words(entry).lower()


def test_nothing_in_a_line_obeys_a_terminal_or_is_too_long():
    assert log_text("a\x1b[31m\nb\u202e\x9b") == "a?[31m?b??"
    assert len(log_text("x" * 5_000)) == 200
    assert log_text("losses_total of fostok") == "losses_total of fostok"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (Entry(level=logging.INFO, event="started"), "Started."),
        (
            Entry(
                level=logging.WARNING,
                event="refused",
                agent="P01",
                message=QUERY,
                error_code="E012",
                text="not yours",
            ),
            "Refused P01 LEAGUE_QUERY: E012 not yours",
        ),
        (
            Entry(
                level=logging.INFO,
                event="match_assigned",
                decision=MatchAssigned("R1M1", 2, "REF02", "lease"),
            ),
            "R1M1 was given to REF02 because lease",
        ),
        (
            Entry(level=logging.INFO, event="player_removed", decision=PlayerRemoved("P02")),
            "The organiser removed P02",
        ),
        (Entry(level=logging.INFO, event="player_registered"), None),
    ],
)
def test_a_line_in_words(entry, sentence):
    assert in_words(entry) == sentence


def watched(league, sink):
    """Play a league to its end and watch manager, referees and players."""

    def watch(host):
        host.on_seen = Watcher(sink, logging.DEBUG).saw

    watch(league.hosts[0])
    league.fill()
    for host in league.hosts[1:]:
        watch(host)
    league.play()


def test_the_log_of_a_whole_league_has_every_decision_and_not_one_token(tmp_path):
    league, said = MemoryLeague(players=5, referees=2), []
    log = LogFile(tmp_path / "manager.jsonl", league.clock.now)

    def sink(entry):
        said.append(in_words(entry) or "")
        log.write(entry)

    watched(league, sink)
    log.close()

    text, words = (tmp_path / "manager.jsonl").read_text(), "\n".join(said)
    written = [json.loads(line)["event"] for line in text.splitlines()]
    assert len(written) == len(said)
    assert written.count("match_decided") == written.count("result") == 10
    assert {"asked", "called", "answered", "replied", "assigned", "ended"} <= set(written)
    tokens = tokens_in(league)
    assert len([token for token in tokens if token.startswith("mtok_")]) >= 40
    assert len([token for token in tokens if token.startswith("tok_")]) >= 7
    assert [token for token in tokens if token in text or token in words] == []
    assert "tok_" not in text + words


def tokens_in(league):
    """Every token that travelled or was given out, and every session."""
    found = set()
    for _, message in league.messages:
        found |= strings_like_tokens(json.loads(codec.encode(message)))
    for host in league.hosts[1:]:
        found |= {host.role.state.token, host.role._registration.session}
    return found - {""}


def strings_like_tokens(value):
    if isinstance(value, dict):
        return set().union(*map(strings_like_tokens, value.values()))
    if isinstance(value, list):
        return set().union(*map(strings_like_tokens, value))
    is_token = isinstance(value, str) and value.startswith(("tok_", "mtok_", "ses_"))
    return {value} if is_token else set()

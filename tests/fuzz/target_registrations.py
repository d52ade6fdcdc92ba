"""Messages into a league that still takes agents in, from unknown agents and from its organiser.

A line of an input is one message. Unknown agents may register, and do: no agent that was in before
loses its place, its name, its end point or its token by that. The organiser's own token may change
much, but never breaks anything.
"""

import json
from zlib import crc32

from agentleague.league.events import (
    DialectLearnt,
    PlayerRegistered,
    PlayerReturned,
    RefereeRegistered,
    TokenConfirmed,
    TokenMisused,
    TokenRenewed,
    TokenShown,
    Told,
)
from agentleague.roles.effects import Event
from fuzz.complaints import no_complaints
from fuzz.seeds import BARE, OURS, REQUESTS
from fuzz.target_hostile_agents import Contest
from memory_league import MANAGER, SECRETS

OF_LINES = True
LINES_MAX = 40
PATHS = ("/mcp", "/register")
OF_REGISTERING = (
    *(PlayerRegistered, PlayerReturned, RefereeRegistered),
    *(DialectLearnt, TokenConfirmed, TokenMisused, TokenRenewed, TokenShown, Told),
)
COMMANDS = [
    json.dumps(
        {
            "message_type": "LEAGUE_COMMAND",
            "command": command,
            "params": params,
            "auth_token": SECRETS.admin_token,
        }
    ).encode()
    for command, params in (
        ("start", {}),
        ("pause", {}),
        ("remove", {"player_id": "P01"}),
        ("rule", {"match_id": "R1M1", "verdict": "win", "winner": "P01", "reason": "so"}),
        ("add_player", {"display_name": "Eve", "contact_endpoint": "http://player1/mcp"}),
        ("add_referee", {"display_name": "Eve", "contact_endpoint": "http://player1/mcp"}),
    )
]
_ALL = [*(body for body in (*REQUESTS, *BARE, *OURS) if b"REGISTER" in body), *COMMANDS]
SEEDS = [b"\n".join(lines) for lines in zip(*(_ALL[n:] for n in range(6)), strict=False)]


def one(data: bytes) -> None:
    """Two players and a referee are in; the others come."""
    with no_complaints():
        _register(data)


def _register(data: bytes) -> None:
    contest = Contest(players=2, referees=1, wanted=50)
    league = contest.league
    roster = league.league.roster
    members = {**roster.players, **roster.referees}
    for number, line in enumerate(data.split(b"\n")[:LINES_MAX]):
        before = len(contest.events())
        contest.receive(MANAGER, PATHS[crc32(line, number) % 2], line)
        if SECRETS.admin_token.encode() not in line:
            _check_events(contest.events(before))
        league.clock.step()
    league.wait(10.0)
    assert contest.answers == contest.sent
    for name, member in members.items():
        assert {**roster.players, **roster.referees}[name] == member
        assert roster.owner(contest.tokens[name]) == name
    contest.check_journal()


def _check_events(events: list[Event]) -> None:
    for event in events:
        assert isinstance(event, OF_REGISTERING), event

"""Foreign players play unchanged, all of them in one league."""

import asyncio
import re
from collections import Counter
from random import Random

import pytest

from agentleague.dialects.table import base_of
from agentleague.errors import NoConnection
from agentleague.league.events import DialectLearnt, MatchClosed, TokenMisused
from foreign.league import play
from rules import rule

# Every shape that was seen, with one of the things that trip a caller.
SHAPES = [
    "call=tool,unknown=404",
    "call=choose,unknown=rpc,strict=ids",
    "call=choose,unknown=ok,answer=choice,moves=odd",
    "call=type,unknown=rpc,register=type,answer=one",
    "call=type,unknown=ok,answer=bare,moves=odd",
    "call=lower,unknown=inside,answer=null",
    "call=lower,unknown=404,register=alias",
    "call=message,unknown=500,register=message",
    "call=message,unknown=400,register=bare,moves=odd",
    "call=bare,unknown=ok,register=path",
    "call=bare,unknown=type,register=least,answer=choice",
    "call=mcp,unknown=rpc,register=mcp",
    "call=own,unknown=404,moves=odd",
    "strict=fields,unknown=422",
    "call=type,strict=fields+nulls,unknown=type",
    "needs=player_id+league_id+round_id+auth_token",
    "answer=push,unknown=ok,moves=odd",
    "answer=first,unknown=ok",
    "answer=typed,busy=yes,context=game_context",
    "answer=ack,limit=9",
    "path=no,unknown=405",
]
# Each shows in its registration how it wants to be spoken to, or says what it misses.
SHOWN = [
    "call=protocol/message(message),register=protocol/message(message),unknown=500",
    "moves=odd,call=a2a.send(payload),register=a2a.send(payload),unknown=ok",
    "call=MessageType(),register=MessageType(),unknown=404",
    "call=on-message-type(data),register=on-message-type(data)",
    "call=(payload),register=(payload),unknown=400",
    "call=tool,ids=text,register=type,unknown=404",
    "call=own,takes=flat,unknown=404,moves=odd",
    "call=own,takes=one,register=mcp",
    "call=protocol/message(message),types=GAME_INVITE,unknown=ok,register=protocol/message(message)",
    "within=game_invitation,context=parity_context,unknown=404",
    "needs=game_id+opponent,says=why,moves=odd",
]
CALLS = ["tool", "choose", "type", "lower", "message", "bare", "mcp", "own"]
UNKNOWN = ["rpc", "ok", "type", "inside", "400", "404", "405", "422", "500", "501"]
ANSWERS = ["documented", "choice", "ack", "typed", "bare", "null", "one"]
REGISTRATIONS = ["tool", "type", "alias", "message", "mcp", "bare", "path", "least"]
MORE = ["strict=fields", "strict=nulls", "strict=ids", "busy=yes", "path=no", "moves=odd"]


def crossed(random):
    """A shape that nobody thought of."""
    traits = {
        "call": random.choice(CALLS),
        "unknown": random.choice(UNKNOWN),
        "answer": random.choice(ANSWERS),
        "register": random.choice(REGISTRATIONS),
    }
    return ",".join([random.choice(MORE), *(f"{name}={value}" for name, value in traits.items())])


def moves_of(played):
    """Player id -> what it always chooses; ours say even."""
    shapes = played.shapes()
    return {
        player_id: "odd" if "moves=odd" in shapes.get(player_id, "") else "even"
        for player_id in played.league.roster.players
    }


def assert_all_played(played, shapes):
    """Every match was played out, with the moves that its players make."""
    moves = moves_of(played)
    players = len(shapes) + 1
    assert len(moves) == players
    assert len(played.decided()) == players * (players - 1) // 2
    for match in played.decided():
        choices = match.result.choices
        assert match.forfeits == [], {p: played.shapes().get(p) for p, _ in match.forfeits}
        assert choices == {player_id: moves[player_id] for player_id in choices}
    assert (played.findings.complete, played.findings.difference) == (True, None)


def assert_learnt(played):
    """The journal says how each one is spoken to, and no more often than it changed."""
    known, events = played.league.roster.dialects, played.events
    learnt = Counter(event.agent_id for event in events if isinstance(event, DialectLearnt))
    for player_id, shape in played.shapes().items():
        call = dict(trait.split("=") for trait in shape.split(",")).get("call", "tool")
        spoken = base_of(known.get(player_id, "tool"))
        assert (shape, spoken) == (shape, "mcp" if call == "own" else call)
        assert learnt[player_id] <= 2  # A guess, and what it was.


@rule("R-DIA-01", "R-REG-01")
def test_a_league_of_every_shape_that_was_seen_ends_with_the_right_results(tmp_path):
    played = asyncio.run(play(tmp_path, SHAPES))

    assert_all_played(played, SHAPES)
    assert_learnt(played)
    assert set(played.league.roster.dialects.values()) >= {"tool+more", "type~bare"}


@rule("R-DIA-08")
def test_an_agent_is_spoken_to_as_it_registered(tmp_path):
    played = asyncio.run(play(tmp_path, SHOWN))

    assert_all_played(played, SHOWN)
    shown = [re.search(r"register=(\S*\))", shape) for shape in SHOWN]
    spoken = list(played.league.roster.dialects.values())
    assert spoken[:5] == [found[1] for found in shown if found][:5]
    assert {"tool#text", "tool+more", "tool+.game_id.opponent"} <= set(spoken)


READ_LOOSELY = [
    "register=shared,unknown=404",
    "register=nulls,unknown=rpc,moves=odd",
    "answer=stray,unknown=ok,moves=odd",
    "register=path,yes=REGISTERED",
    "call=mcp,register=mcp,listens=1",  # The last, so the league is complete when it registers.
]


@rule("R-MSG-07", "R-REG-03", "R-REG-12", "R-REG-16", "R-MATCH-23")
def test_players_that_write_null_share_a_path_sign_wrongly_or_listen_late_lose_nothing(tmp_path):
    played = asyncio.run(play(tmp_path, READ_LOOSELY))

    assert_all_played(played, READ_LOOSELY)
    assert_learnt(played)
    misused = {(each.agent_id, each.scope) for each in played.events_of(TokenMisused)}
    assert misused == {("P04", "unknown")}
    rows = [row for closed in played.events_of(MatchClosed) for row in closed.exchanges]
    assert len(rows) >= 60
    assert NoConnection.code not in {row.verdict for row in rows}  # Nobody was called too early.


@pytest.mark.parametrize("seed", [1, 2])
def test_shapes_crossed_at_random_play_too(tmp_path, seed):
    random = Random(seed)
    shapes = [crossed(random) for _ in range(5)]

    played = asyncio.run(play(tmp_path, shapes))

    assert_all_played(played, shapes)

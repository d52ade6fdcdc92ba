"""One simulated league in words, message by message."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from agentleague.protocol.messages import WIRE_NAME
from agentleague.simulation.league import BEGAN, SimulatedLeague
from agentleague.simulation.network import host_of
from agentleague.simulation.observer import Heard

SHOWN = ("match_id", "round_id", "epoch", "status", "accept", "parity_choice", "move", "index")
_decode = msgspec.json.Decoder().decode


class Line(NamedTuple):
    """Something that happened; faults have nobody who said them."""

    at: float  # virtual seconds
    source: str
    target: str
    what: str


def told(league: SimulatedLeague) -> Iterator[Line]:
    """All that arrived and all that went wrong, in order of time."""
    faults = [Line(at - BEGAN, "", "", what) for at, what in league.observer.befell]
    messages = [_line(heard) for heard in league.observer.heard]
    yield from sorted([*faults, *messages], key=lambda line: line.at)


def sentence(line: Line) -> str:
    """One line for a person."""
    way = f"{line.source} -> {line.target}: " if line.source else "*** "
    return f"{line.at:10.4f}  {way}{line.what}"


def _line(heard: Heard) -> Line:
    name = WIRE_NAME[type(heard.message)]
    content = _content(heard.body)
    if heard.is_answer:
        name = f"{content.get('message_type') or 'an answer'} to {name}"
    facts = [f"{key}={content[key]}" for key in SHOWN if content.get(key) not in (None, "")]
    what = " ".join([name, *facts, *_result(content)])
    return Line(heard.at - BEGAN, heard.source, host_of(heard.url), what)


def _content(body: bytes) -> dict[str, Any]:
    """The message in a request or an answer; a refusal says why."""
    try:
        letter = _decode(body)
    except msgspec.DecodeError:
        return {"message_type": f"{len(body)} bytes that nobody can read,"}
    if not isinstance(letter, dict):
        return {}
    error = letter.get("error")
    if isinstance(error, dict):
        return {"message_type": f"refusal ({error.get('message')})"}
    content = letter.get("params") or letter.get("result")
    return content if isinstance(content, dict) else {}


def _result(content: dict[str, Any]) -> list[str]:
    result = content.get("game_result")
    if not isinstance(result, dict):
        return []
    return [f"{result.get('status')} winner={result.get('winner_player_id')}"]

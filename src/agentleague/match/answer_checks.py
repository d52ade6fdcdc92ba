"""What a referee makes of a player's answer or failure, of a push, and of a manager's refusal."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from agentleague import errors
from agentleague.match.transcript import Transcript
from agentleague.protocol import timestamps, tokens
from agentleague.protocol.error_messages import OF_A_MATCH, about_token
from agentleague.protocol.messages import PROTOCOL, GameJoinAck, LockResponse, Seated
from agentleague.roles.stimuli import Answered, Caller

_FAILURES = (
    (errors.PeerRefused, "answered with an error of its own"),
    (errors.IllegalMove, "made an illegal move"),
    (errors.RateLimited, "answered with a rate limit"),
)
_UNCONNECTED = {
    errors.UNREACHABLE: "could not be reached",
    errors.CLOSED: "closed the connection before it had answered",
    None: "gave no usable HTTP answer",
}


STRICT = "this league has missing_fields=refuse, and "  # how these complaints begin
DOCUMENTED = ("protocol", "sender", "timestamp", "conversation_id", "match_id", "player_id")


def check_documented(asked: Seated, message: Any) -> None:
    """A strict league wants all of document 004's fields, as they are of the player it asked."""
    times = ["timestamp", *(["arrival_timestamp"] if isinstance(message, GameJoinAck) else [])]
    fields = {name: getattr(message, name, None) for name in (*DOCUMENTED, *times)}
    lacks = [name for name, at in fields.items() if not at or not isinstance(at, str)]
    own, token = asked.player_id, str(message.auth_token)
    lacks += [] if message.auth_token else ["auth_token"]
    if lacks:
        error = errors.TokenMissing if lacks == ["auth_token"] else errors.MissingField
        raise error(f"{STRICT}the answer lacks {', '.join(lacks)}", field=lacks[0], kind="missing")
    for name in times:
        timestamps.parse(getattr(message, name), name)
    rules = (
        (message.protocol == PROTOCOL, errors.VersionMismatch, f"protocol is not {PROTOCOL}"),
        (message.player_id == own, errors.NotRegistered, f"player_id is not {own}"),
        (message.sender == f"player:{own}", errors.WrongType, f"sender is not player:{own}"),
    )
    for is_so, wrong, why in rules:
        if not is_so:
            raise wrong(f"{STRICT}{why}", field=why.partition(" ")[0])
    if not (_is_token_of(asked, token) or tokens.same(token, tokens.digest(asked.match_token))):
        shown = about_token(token, OF_A_MATCH, own)
        raise errors.TokenInvalid(f"{STRICT}auth_token is not yours", field="auth_token", **shown)


def forfeits(
    seats: Sequence[Seated], failures: Mapping[int, errors.LeagueError | None], notes: Transcript
) -> list[tuple[str, str]]:
    """Who failed, and why; if neither could be reached, that may be the referee's fault."""
    if not failures:
        return []
    unreached = [notes.is_unreached(seat) and not at.suspended for seat, at in enumerate(seats)]
    if len(failures) == len(seats) and all(unreached):
        return [(at.player_id, errors.UNREACHABLE) for at in seats]
    return [(seats[seat].player_id, failure_in_words(failures[seat])) for seat in sorted(failures)]


def failure_in_words(error: errors.LeagueError | None) -> str:
    """Why a player failed, as the predicate of a sentence."""
    if error is None:
        return "declined the invitation"
    if isinstance(error, errors.NoAnswer):
        is_empty = error.context.get("is_empty")
        return "gave no usable answer" if is_empty else "failed to respond within timeout"
    if isinstance(error, errors.NoConnection) and "status" not in error.context:
        return _UNCONNECTED[error.context.get("kind")]
    if isinstance(error, errors.NoConnection) and error.context["status"] >= 300:
        return f"answered with HTTP {error.context['status']}"
    found = (words for kind, words in _FAILURES if isinstance(error, kind))
    return next(found, "gave no usable answer")


def is_refused(error: errors.LeagueError | None) -> bool:
    """Whether the manager refused for good; otherwise it is away."""
    return isinstance(error, errors.PeerRefused) and not error.context["data"].get("retryable")


def is_manager_away(answer: Answered, stood: dict[Any, float], seconds: float) -> bool:
    """Whether a call to a seat failed before it got there; what the agent does has other signs.

    Calls that stood there and broke use up its seconds: a proxy may not wait for a silent agent.
    """
    key, error = answer.key, answer.error
    status = error.context.get("status") if error else None
    if error and error.context.get("kind") != errors.UNREACHABLE:
        stood[key] = stood.get(key, 0.0) + answer.seconds
    is_away = 500 <= status != 504 if status else isinstance(error, errors.NoConnection)
    return is_away and stood.get(key, 0.0) <= seconds


def result_in_refusal(match_id: str, error: errors.LeagueError | None) -> LockResponse | None:
    """The result of a match that another referee ended, if the manager tells it."""
    data = error.context["data"] if error else {}
    fields = {name: data[name] for name in ("result", "draw", "receipt") if name in data}
    try:
        found = msgspec.convert({"match_id": match_id, "index": 0, **fields}, LockResponse)
    except msgspec.ValidationError:
        return None
    return None if found.result is UNSET else found


HERE = "localhost"
LOOPBACK = frozenset({HERE, "127.0.0.1", "::1", "::ffff:127.0.0.1"})
_BEFORE_AN_ID = re.compile(r"[:_]")


class Pusher(NamedTuple):
    """Whose answer it is, and whether a token proves it."""

    seat: int
    is_signed: bool
    has_wrong_token: bool = False  # that counted as none


def who_pushed(
    seats: Sequence[Seated], message: Any, caller: Caller, *, is_unsigned_allowed: bool
) -> Pusher:
    """The seat that an answer is for."""
    token = message.auth_token or caller.token
    for seat, seated in enumerate(seats):
        if token and _is_token_of(seated, token):
            return Pusher(seat, is_signed=True)
    source = _host(caller.source)
    wrong = errors.TokenInvalid("auth_token is of neither player of this match")
    # On this machine anybody may push without a token, so a wrong one does no more harm than none.
    if token and not (is_unsigned_allowed and source == HERE):
        raise wrong
    if not is_unsigned_allowed:
        raise errors.TokenMissing("an answer that is pushed needs the match token as auth_token")
    at = [None if seated.seat else _host(seated.endpoint) for seated in seats]
    near = [seat for seat, host in enumerate(at) if host == source]
    if len(near) > 1:  # Both are on one machine: its id decides, or the sender, as `player:P03`.
        named = message.player_id or _BEFORE_AN_ID.split(message.sender)[-1]
        near = [seat for seat in near if seats[seat].player_id == named]
    if not near:
        missing = errors.TokenMissing("without auth_token nobody can tell whose answer this is")
        raise wrong if token else missing
    return Pusher(near[0], is_signed=False, has_wrong_token=bool(token))


def _is_token_of(seated: Seated, token: str) -> bool:
    digests = list(seated.digests)
    if seated.push_token:
        digests.append(tokens.digest(seated.push_token))
    return any(tokens.same(token, digest) for digest in digests)


def _host(address: str) -> str:
    """The host of a URL, or the address itself; all names of this machine are the same."""
    host = (urlsplit(address).hostname or "") if "://" in address else address.lower()
    return HERE if host in LOOPBACK else host

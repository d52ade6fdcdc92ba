"""Which player pushed an answer: by its token, or else by the address of its end point."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from agentleague.errors import TokenInvalid, TokenMissing
from agentleague.protocol import tokens
from agentleague.protocol.messages import Seated
from agentleague.roles.stimuli import Caller

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1"})


class Pusher(NamedTuple):
    """Whose answer it is, and whether a token proves it."""

    seat: int
    is_signed: bool


def who_pushed(
    seats: Sequence[Seated], message: Any, caller: Caller, *, is_unsigned_allowed: bool
) -> Pusher:
    """The seat that an answer is for.

    Raises:
        TokenInvalid: the token belongs to neither player.
        TokenMissing: there is none, and the league requires one or the address does not tell.
    """
    token = message.auth_token or caller.token
    if token:
        for seat, seated in enumerate(seats):
            if _is_token_of(seated, token):
                return Pusher(seat, is_signed=True)
        raise TokenInvalid("auth_token is of neither player of this match")
    if not is_unsigned_allowed:
        raise TokenMissing("an answer that is pushed needs the match token as auth_token")
    source = _host(caller.source)
    near = [seat for seat, seated in enumerate(seats) if _host(seated.endpoint) == source]
    if len(near) > 1:  # Both are on one machine: player_id decides.
        near = [seat for seat in near if seats[seat].player_id == message.player_id]
    if not near:
        raise TokenMissing("without auth_token nobody can tell whose answer this is")
    return Pusher(near[0], is_signed=False)


def _is_token_of(seated: Seated, token: str) -> bool:
    digests = list(seated.digests)
    if seated.push_token:
        digests.append(tokens.digest(seated.push_token))
    return any(tokens.same(token, digest) for digest in digests)


def _host(address: str) -> str:
    """The host of a URL, or the address itself; all names of this machine are the same."""
    host = (urlsplit(address).hostname or "") if "://" in address else address.lower()
    return "localhost" if host in LOOPBACK else host

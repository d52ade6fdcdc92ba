"""Tokens, derived from secrets so that none needs to be stored."""

import hmac
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

MATCH_TOKEN = "mtok_"
GUEST_TOKEN = MATCH_TOKEN + "0_"  # of epoch 0, which no match of ours has
LEAGUE_TOKEN = "tok_"
PROOF_HEADER = "X-League-Proof"
_BLOCK = 64  # bytes that SHA-256 takes at a time
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_MADE_HERE = re.compile(r"mtok_.*|(\w+_)?[0-9a-f]{40,}", re.DOTALL)


def league_token(secret: bytes, league_id: str, agent_id: str, generation: int) -> str:
    """The token that an agent shows only to the manager."""
    return f"{LEAGUE_TOKEN}{agent_id}_{_sign(secret, 'token', league_id, agent_id, generation)}"


def session(secret: bytes, league_id: str, agent_id: str, generation: int) -> str:
    """What the manager shows to a referee, so that no other agent can assign matches to it."""
    return f"ses_{_sign(secret, 'session', league_id, agent_id, generation)[:40]}"


def receipt_seal(secret: bytes, league_id: str, *row: str | int) -> str:
    """What proves that the manager gave a receipt: for its generation, row number and hash."""
    return _sign(secret, "receipt", league_id, *row)[:40]


def is_made_here(token: str) -> bool:
    """Whether it looks like a token of some league of ours, or its digest, and not invented."""
    return _MADE_HERE.fullmatch(token) is not None


def digest(token: str) -> str:
    """What is stored and compared in place of a token, which may be any text."""
    return sha256(_bytes(token)).hexdigest()


def same(token: str, stored_digest: str) -> bool:
    """Whether a token is the one whose digest was stored; takes the same time either way."""
    return hmac.compare_digest(_bytes(digest(token)), _bytes(stored_digest))


def channel_key(token: str) -> bytes:
    """What an agent and the manager derive from its league token; nobody else knows it."""
    return sha256(f"channel|{token}".encode()).digest()


def match_token(key: bytes, direction: str, *names: str | int) -> str:
    """The token of one direction (`ref>player`, `player>ref`), league, match, player, epoch."""
    league_id, match_id, player_id, epoch = names
    text = f"{direction}|{league_id}|{match_id}|{player_id}|{epoch}"
    return (MATCH_TOKEN if epoch else GUEST_TOKEN) + _mac(key, text.encode())


def proof_key(token: str, league_id: str, agent_id: str) -> bytes:
    """With what the manager proves its messages to the agent that has this league token."""
    return bytes.fromhex(_sign(channel_key(token), "manager>agent", league_id, agent_id))


def proof(keys: Sequence[bytes], body: bytes) -> str:
    """What proves to one agent that this body is the manager's: for each key that it may hold."""
    return ",".join([_mac(key, body) for key in keys])


def proof_line(keys: Sequence[bytes], body: bytes) -> bytes:
    """The proof as a header, which follows another line."""
    return b"\r\n%b: %b" % (PROOF_HEADER.encode(), proof(keys, body).encode())


def is_proved(shown: str, keys: Iterable[bytes], body: bytes) -> bool:
    """Whether one of the proofs that were shown was made with one of these keys."""
    if not shown or not shown.isascii():
        return False
    proofs = shown.split(",")
    for key in keys:
        right = _mac(key, body)
        for each in proofs:
            if hmac.compare_digest(each, right):
                return True
    return False


def _sign(key: bytes, *parts: str | int) -> str:
    return _mac(key, "|".join(map(str, parts)).encode())


def _mac(key: bytes, text: bytes) -> str:
    """The HMAC-SHA256 in hex: what `hmac` computes, in half its time for a key that is known."""
    copy_inner, copy_outer = _keyed(key)
    inner, outer = copy_inner(), copy_outer()
    inner.update(text)
    outer.update(inner.digest())
    return outer.hexdigest()


@lru_cache(maxsize=4096)
def _keyed(key: bytes) -> tuple[Callable[[], "_Hash"], Callable[[], "_Hash"]]:
    """Copies of both hashes after the block of the key, which is the same for every text."""
    inner, outer = hmac_blocks(key)
    return sha256(inner).copy, sha256(outer).copy


def hmac_blocks(key: bytes) -> tuple[bytes, bytes]:
    """What HMAC-SHA256 puts before the text, and before the hash of both."""
    block = (sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    return block.translate(_INNER), block.translate(_OUTER)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")

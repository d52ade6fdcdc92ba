"""Tokens, derived from secrets so that none needs to be stored."""

import hmac
from functools import lru_cache
from hashlib import sha256

MATCH_TOKEN = "mtok_"
LEAGUE_TOKEN = "tok_"


def league_token(secret: bytes, league_id: str, agent_id: str, generation: int) -> str:
    """The token that an agent shows only to the manager."""
    return f"{LEAGUE_TOKEN}{agent_id}_{_sign(secret, 'token', league_id, agent_id, generation)}"


def session(secret: bytes, league_id: str, agent_id: str, generation: int) -> str:
    """What the manager shows to a referee, so that no other agent can assign matches to it."""
    return f"ses_{_sign(secret, 'session', league_id, agent_id, generation)[:40]}"


def digest(token: str) -> str:
    """What is stored and compared in place of a token, which may be any text."""
    return sha256(_bytes(token)).hexdigest()


def same(token: str, stored_digest: str) -> bool:
    """Whether a token is the one whose digest was stored; takes the same time either way."""
    return hmac.compare_digest(_bytes(digest(token)), _bytes(stored_digest))


def channel_key(token: str) -> bytes:
    """What a player and the manager derive from a league token; referees do not know it."""
    return sha256(f"channel|{token}".encode()).digest()


def match_token(key: bytes, direction: str, *names: str | int) -> str:
    """The token of one direction (`ref>player`, `player>ref`), league, match, player, epoch."""
    return MATCH_TOKEN + _sign(key, direction, *names)


def _sign(key: bytes, *parts: str | int) -> str:
    signature = _keyed(key).copy()
    signature.update("|".join(map(str, parts)).encode())
    return signature.hexdigest()


@lru_cache(maxsize=1024)
def _keyed(key: bytes) -> hmac.HMAC:
    """Setting up a key costs several times what signing with it does."""
    return hmac.new(key, digestmod="sha256")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")

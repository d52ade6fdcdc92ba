"""DIR/secret.key: what the manager alone knows, readable by its owner alone."""

import os
import secrets
from hashlib import sha256
from pathlib import Path

import msgspec

from agentleague.services.settings import Secrets

NAME = "secret.key"


class _File(msgspec.Struct):
    draw_secret: str
    token_secret: str


def write_secrets(directory: Path, seed: str | None) -> Secrets:
    """New secrets for a directory without a league; on disk before this returns.

    With a seed, draws follow from it and can be foretold; tokens never do.
    """
    made = new_secrets(seed)
    text = msgspec.json.encode(_File(made.draw_secret.hex(), made.token_secret.hex()))
    descriptor = os.open(directory / NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return made


def new_secrets(seed: str | None) -> Secrets:
    """Secrets that nobody knows, but for the draws of a given seed."""
    draw = secrets.token_bytes(32) if seed is None else sha256(f"draw|{seed}".encode()).digest()
    return Secrets(draw, secrets.token_bytes(32))


def new_league_id(game: str, year: int, seed: str | None) -> str:
    """A name that is unique for ever; from a seed alone where there is one."""
    alphabet = "abcdefghijkmnpqrstuvwxyz23456789"
    chance = secrets.token_bytes(6) if seed is None else sha256(f"league|{seed}".encode()).digest()
    tail = "".join(alphabet[byte % len(alphabet)] for byte in chance[:6])
    return f"league_{year}_{game}_{tail}" if seed is None else f"league_{game}_{tail}"

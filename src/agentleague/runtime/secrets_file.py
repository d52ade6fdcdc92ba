"""DIR/secret.key and DIR/admin.token: what the manager and the organiser alone know (0600)."""

import os
import secrets
from hashlib import sha256
from pathlib import Path

import msgspec

from agentleague.errors import StorageError
from agentleague.roles.settings import Secrets

NAME = "secret.key"
ADMIN_NAME = "admin.token"


class _File(msgspec.Struct):
    draw_secret: str
    token_secret: str


def write_secrets(directory: Path, seed: str | None) -> Secrets:
    """New secrets for a directory without a league; on disk before this returns.

    With a seed, draws follow from it and can be foretold; tokens never do.

    Raises:
        StorageError: they cannot be written.
    """
    made = new_secrets(seed)
    text = msgspec.json.encode(_File(made.draw_secret.hex(), made.token_secret.hex()))
    try:
        _write(directory / ADMIN_NAME, f"{made.admin_token}\n".encode())
        _write(directory / NAME, text)
    except OSError as error:
        raise StorageError(f"cannot keep the league's secrets in {directory}: {error}") from None
    return made


def _write(path: Path, text: bytes) -> None:
    path.unlink(missing_ok=True)  # Whoever made the file that is there could read it.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def read_secrets(directory: Path) -> Secrets:
    """The secrets of a league that is there already.

    Raises:
        StorageError: they are not there, or cannot be read.
    """
    try:
        kept = msgspec.json.decode((directory / NAME).read_bytes(), type=_File)
        admin_token = (directory / ADMIN_NAME).read_text().strip()
        if not admin_token:
            raise ValueError(f"{ADMIN_NAME} is empty")
        return Secrets(
            bytes.fromhex(kept.draw_secret), bytes.fromhex(kept.token_secret), admin_token
        )
    except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
        raise StorageError(
            f"the secrets of the league in {directory} cannot be read ({error}); without its "
            f"{NAME} and {ADMIN_NAME} a league can be looked at and verified, but not resumed"
        ) from None


def new_secrets(seed: str | None) -> Secrets:
    """Secrets that nobody knows, but for the draws of a given seed."""
    draw = secrets.token_bytes(32) if seed is None else sha256(f"draw|{seed}".encode()).digest()
    return Secrets(draw, secrets.token_bytes(32), f"adm_{secrets.token_hex(32)}")


def new_league_id(game: str, year: int, seed: str | None) -> str:
    """A name that is unique for ever; from a seed alone where there is one."""
    alphabet = "abcdefghijkmnpqrstuvwxyz23456789"
    chance = secrets.token_bytes(6) if seed is None else sha256(f"league|{seed}".encode()).digest()
    tail = "".join(alphabet[byte % len(alphabet)] for byte in chance[:6])
    return f"league_{year}_{game}_{tail}" if seed is None else f"league_{game}_{tail}"

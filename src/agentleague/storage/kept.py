"""What is kept beside a journal: the secrets of a league, and what its manager was given.

Beside a journal in a directory it lies in files that only their owner may read. In a database each
is encrypted with the service key, which never goes there: every machine that runs its leagues holds
it in a file.
"""

import os
import secrets
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from agentleague.errors import Claimed, StorageError
from agentleague.protocol.printable import one_line
from agentleague.storage.database import ask
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import JournalPlace
from agentleague.storage.durable import sync_directory, write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_VARIABLE = "LEAGUE_SERVICE_KEY_FILE"
FINGERPRINT = ("", "service.key")  # of no league
KEY_BYTES, NONCE_BYTES = 32, 12
MOVED = "moved"  # where a league lies now that was here


def read_kept(place: JournalPlace, name: str) -> bytes | None:
    """What is kept under a name; None if nothing is. Raises OSError or StorageError."""
    if isinstance(place, Path):
        try:
            return (place / name).read_bytes()
        except FileNotFoundError:
            return None
    found = _rows(place, (place.league_id, name), FINGERPRINT)
    sealed = found.get((place.league_id, name))
    if sealed is None:
        return None
    cipher = _cipher(_checked_key(place, found.get(FINGERPRINT)))
    from cryptography.exceptions import InvalidTag

    nonce, text = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return cipher.decrypt(nonce, text, _about(place, name))
    except (InvalidTag, ValueError):  # It may be shorter than a nonce.
        raise StorageError(f"{name} of {place} is not what a manager has kept there") from None


def write_kept(place: JournalPlace, name: str, data: bytes) -> None:
    """All or nothing, and safe before this returns. Raises OSError or StorageError."""
    if isinstance(place, Path):
        replace_file(place / name, data)
        return
    nonce = secrets.token_bytes(NONCE_BYTES)
    sealed = nonce + _cipher(service_key(place)).encrypt(nonce, data, _about(place, name))
    ask(
        place,
        "INSERT INTO agentleague.kept (league_id, name, data) VALUES (%s, %s, %s) "
        "ON CONFLICT (league_id, name) DO UPDATE SET data = excluded.data",
        *(place.league_id, name, sealed),
    )


def check_not_moved(place: JournalPlace) -> None:
    """Raises Claimed if the league goes on at another place."""
    to = read_kept(place, MOVED)
    if to is not None:
        mark = (
            f"delete {place / MOVED}"
            if isinstance(place, Path)
            else (
                "type in psql: DELETE FROM agentleague.kept WHERE league_id = "
                f"'{place.league_id}' AND name = '{MOVED}'"
            )
        )
        raise Claimed(
            f"the league in {place} was moved to {one_line(to.decode(errors='replace'))}; go on "
            f"with it there, or bring it back with league move. If it did not arrive there, {mark}"
        )


def replace_file(path: Path, data: bytes, *, draft: str = ".new") -> None:
    """All or nothing, whenever the machine stops; on disk before this returns."""
    new = path.with_suffix(draft)
    try:
        write_private(new, data)
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def default_directory(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """Where a user's programs keep files between two runs: LEAGUE_STATE, or one in the home."""
    if environ.get("LEAGUE_STATE"):
        return Path(environ["LEAGUE_STATE"])
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = environ.get("XDG_STATE_HOME") or home / ".local" / "state"
    return Path(base) / "agentleague"


def state_directory() -> Path:
    """Where this user's programs keep files between two runs."""
    return default_directory(os.environ, Path.home())


def log_path(place: JournalPlace) -> Path:
    """Where the log of a league's manager lies, on its machine."""
    if isinstance(place, Path):
        return place / "log" / "manager.jsonl"
    return state_directory() / "log" / f"{place.league_id}.jsonl"


class WrongKey(StorageError):
    """This machine does not have the service key of a database."""

    exit_code = 2  # as of a wrong setting: starting again does not mend it


def key_file() -> Path:
    """Where this machine has its service key, or would."""
    named = os.environ.get(KEY_VARIABLE)
    return Path(named) if named else state_directory() / "service.key"


def service_key(url: DatabaseUrl) -> bytes:
    """The key of all leagues in a database, made by the first use of an empty one.

    Raises WrongKey if this machine does not have it.
    """
    return _checked_key(url, _rows(url, FINGERPRINT).get(FINGERPRINT))


def _checked_key(url: DatabaseUrl, wanted: bytes | None) -> bytes:
    """The key of this machine, whose fingerprint the database has, or has none yet."""
    path = key_file()
    try:
        if wanted is None and not path.exists():
            _make_key(path)
        key = bytes.fromhex(path.read_text().strip())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it holds no key"
        raise WrongKey(
            f"the service key of {url} cannot be read from {path} ({why}); {_remedy(path)}"
        ) from None
    own = sha256(b"service key|" + key).digest()
    if wanted is None:
        ask(
            url,
            "INSERT INTO agentleague.kept (league_id, name, data) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            *(*FINGERPRINT, own),
        )
        wanted = _rows(url, FINGERPRINT).get(FINGERPRINT)  # Two machines may have begun at once.
    if len(key) != KEY_BYTES or wanted != own:
        raise WrongKey(f"{path} is not the service key of {url}; {_remedy(path)}")
    return key


def _make_key(path: Path) -> None:
    """Make a file with a key, unless another process or thread does so meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    write_private(draft, secrets.token_bytes(KEY_BYTES).hex().encode() + b"\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    sync_directory(path.parent)


def _remedy(path: Path) -> str:
    return (
        f"copy that file from the machine that ran the first league of this database to {path}, "
        f"readable by you alone (chmod 600), or name it with {KEY_VARIABLE}"
    )


def _rows(url: DatabaseUrl, *wanted: tuple[str, str]) -> dict[tuple[str, str], bytes]:
    """What is kept under these leagues and names, by one question."""
    pairs = ", ".join(["(%s, %s)"] * len(wanted))
    query = (
        f"SELECT league_id, name, data FROM agentleague.kept WHERE (league_id, name) IN ({pairs})"
    )
    values = [value for pair in wanted for value in pair]
    return {(league_id, name): bytes(data) for league_id, name, data in ask(url, query, *values)}


def _about(url: DatabaseUrl, name: str) -> bytes:
    """What a text is bound to: moved to another league or name, it cannot be read."""
    return f"{url.league_id}\0{name}".encode()


def _cipher(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)

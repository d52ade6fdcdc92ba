"""Files that an agent keeps between two runs: its token, its matches, a manager's secrets.

The file of an agent's token is named by its command line and locked while it runs: a second process
with the same command takes the next file and is another agent. The matches of all players of one
name are in one file, which each replaces whole with its own put in: two that write in turn write
again what the other has overwritten. What a manager keeps is for it and the organiser alone (0600).
"""

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from errno import ENOENT
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from agentleague.errors import StorageError
from agentleague.protocol import join_codes
from agentleague.roles.agent import AgentState
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.runtime.clock import wall
from agentleague.runtime.settings import as_toml, read_settings
from agentleague.storage.directory import SETTINGS_NAME, JournalPlace, another
from agentleague.storage.kept import default_directory as default_directory
from agentleague.storage.kept import read_kept, replace_file, write_kept
from agentleague.storage.lock import set_lock

FILES_MAX = 1000  # agents with the same command


class Whose(msgspec.Struct, frozen=True):
    """What an agent's file is named by."""

    manager_url: str
    role: str
    name: str
    port: int  # as given; it may listen on another

    @property
    def stem(self) -> str:
        """Readable, and no other agent's."""
        words = "-".join(re.findall(r"[A-Za-z0-9]+", f"{self.role} {self.name} {self.port}"))
        urls = ",".join(sorted(self.manager_url.split(",")))  # In any order they are one manager.
        whole = msgspec.json.encode(msgspec.structs.replace(self, manager_url=urls))
        return f"{words[:60].lower()}-{sha256(whole).hexdigest()[:12]}"


class StateFile:
    """One agent's file, held by this process until it is closed."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path, self._lock = path, lock
        self.agent = _read(path)

    def save(self, state: AgentState) -> None:
        """Keep this, and nothing else, for the next run; on disk before this returns."""
        if state.token or not self.agent.token:  # Else the manager gives none any more.
            replace_file(self.path, msgspec.json.encode(state))
            self.agent = state

    def close(self) -> None:
        """Let the next process with this command have it."""
        set_lock(self._lock, False)
        os.close(self._lock)


def open_state(directory: Path, whose: Whose, files_max: int = FILES_MAX) -> StateFile:
    """The first file of this agent that no running process holds."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in range(1, files_max + 1):
        name = whose.stem if number == 1 else f"{whose.stem}-{number}"
        descriptor = os.open(directory / f"{name}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            set_lock(descriptor, True)
        except OSError as error:
            os.close(descriptor)
            if not isinstance(error, BlockingIOError | PermissionError):
                raise
            continue
        return StateFile(directory / f"{name}.json", descriptor)
    raise OSError(f"{directory} has {files_max} agents of this name running already")


@contextmanager
def kept(
    whose: Whose, directory: str | Path | None, say: Callable[[str], None]
) -> Iterator[StateFile | None]:
    """The agent's file while it runs; where the default directory cannot be used, it has none."""
    try:
        place = Path(directory) if directory else default_directory(os.environ, Path.home())
        state = open_state(place, whose)
    except (OSError, RuntimeError) as error:
        if directory:
            why = getattr(error, "strerror", None) or error
            raise OSError(
                f"its token cannot be kept in {directory} ({why}); choose another directory with: "
                "--state DIR"
            ) from error
        say(f"The token cannot be kept ({error}); started again, this is another agent.")
        yield None
        return
    try:
        yield state
    finally:
        state.close()


def _read(path: Path) -> AgentState:
    try:
        return msgspec.json.decode(path.read_bytes(), type=AgentState)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return AgentState()


MATCHES_MAX = 1000
SIZE_BYTES_MAX = 16_000_000  # a file that is longer was not written here
_NAMES = "league_id game_type match_id round_id player_id opponent_id opponent_name result won"
FIELDS = frozenset(_NAMES.split())


class _KeptMatches(msgspec.Struct):
    matches: list[dict[str, Any]] = []


class HistoryFile:
    """The matches of all agents of this name that kept them in this directory."""

    def __init__(self, directory: Path, name: str, size_bytes_max: int = SIZE_BYTES_MAX) -> None:
        self._size_bytes_max = size_bytes_max
        words = "-".join(re.findall(r"[A-Za-z0-9]+", name))[:60].lower()
        self.path = directory / f"history-{words}-{sha256(name.encode()).hexdigest()[:12]}.json"

    def read(self) -> Sequence[Mapping[str, Any]]:
        """The matches, oldest first; of a file that cannot be read, or is not ours, none."""
        try:
            if self.path.stat().st_size > self._size_bytes_max:
                return []
            kept = msgspec.json.decode(self.path.read_bytes(), type=_KeptMatches)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return []
        return [match for match in kept.matches if match.keys() >= FIELDS]

    def save(self, matches: Sequence[Mapping[str, Any]]) -> None:
        """Put these in place of those of the same league and player; at an OSError those stay."""
        own = {_whose(match) for match in matches}
        others = [match for match in self.read() if _whose(match) not in own]
        kept = {"matches": [*others, *matches][-MATCHES_MAX:]}
        # Another agent's draft may be there too.
        replace_file(self.path, msgspec.json.encode(kept), draft=f".{os.getpid()}.new")


def _whose(match: Mapping[str, Any]) -> tuple[Any, Any]:
    return match["league_id"], match["player_id"]


NAME = "secret.key"
ADMIN_NAME = "admin.token"


class _File(msgspec.Struct):
    draw_secret: str
    token_secret: str


def write_secrets(place: JournalPlace, seed: str | None) -> Secrets:
    """New secrets, on disk before this returns; draws follow from a seed, tokens never do."""
    made = new_secrets(seed)
    text = msgspec.json.encode(_File(made.draw_secret.hex(), made.token_secret.hex()))
    try:
        write_kept(place, ADMIN_NAME, f"{made.admin_token}\n".encode())
        write_kept(place, NAME, text)
    except OSError as error:
        raise StorageError(f"cannot keep the league's secrets in {place}: {error}") from None
    return made


def keep_settings(place: JournalPlace, given: Mapping[str, Any]) -> None:
    """Keep what a manager was given for its next start, as TOML; on disk before this returns."""
    # The journal has the options of the game, as every rule; TOML may not be able to write them.
    lines = [f"{name} = {as_toml(given[name])}\n" for name in given if name != "game_options"]
    text = "".join(lines).encode()
    try:
        if read_kept(place, SETTINGS_NAME) != text:  # It goes on with a full disk, too.
            write_kept(place, SETTINGS_NAME, text)
    except OSError as error:
        raise StorageError(f"cannot keep the league's settings in {place}: {error}") from None


def kept_settings(place: JournalPlace) -> Mapping[str, Any]:
    """What the manager of a league was given last. Raises SettingError if it cannot be read."""
    where = place / SETTINGS_NAME if isinstance(place, Path) else Path(SETTINGS_NAME)
    text = None
    if isinstance(place, Path):
        if not where.exists():
            return {}
    elif (text := read_kept(place, SETTINGS_NAME)) is None:
        return {}
    given: dict[str, Any] = {"environment": {}, "options": {}}
    return read_settings(ManagerSettings, file=where, text=text, **given).values


def admin_token(place: JournalPlace) -> str:
    """The organiser's key. Raises OSError or StorageError if it is not there, or not for you."""
    return _needed(place, ADMIN_NAME).decode().strip()


def _needed(place: JournalPlace, name: str) -> bytes:
    data = read_kept(place, name)
    if data is None:
        where = f"{place / name}" if isinstance(place, Path) else name
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), where)
    return data


def read_secrets(place: JournalPlace, seed: str | None = None) -> Secrets:
    """The league's secrets. Raises StorageError if they are unreadable, or the seed is another."""
    try:
        kept = msgspec.json.decode(_needed(place, NAME), type=_File)
        token = admin_token(place)
        if not token:
            raise ValueError(f"{ADMIN_NAME} is empty")
        token_secret = bytes.fromhex(kept.token_secret)
        found = Secrets(bytes.fromhex(kept.draw_secret), token_secret, token)
    except (OSError, ValueError, msgspec.DecodeError, RecursionError) as error:
        raise StorageError(
            f"the secrets of the league in {place} cannot be read ({error}); without its "
            f"{NAME} and {ADMIN_NAME} a league can be looked at and verified, but not resumed"
        ) from None
    if seed is not None and new_secrets(seed).draw_secret != found.draw_secret:
        keeper = "directory" if isinstance(place, Path) else "database"
        raise StorageError(
            f"the league in {place} was begun with another --seed; leave it out, since the "
            f"{keeper} keeps it, or begin another league with: {another(place)}"
        )
    return found


def new_secrets(seed: str | None) -> Secrets:
    """Secrets that nobody knows, but for the draws of a given seed."""
    draw = secrets.token_bytes(32) if seed is None else sha256(f"draw|{seed}".encode()).digest()
    return Secrets(draw, secrets.token_bytes(32), f"adm_{secrets.token_hex(32)}")


def new_join_code() -> str:
    """A join code that nobody guesses, easy to read out."""
    code = ""
    while join_codes.is_guessable(code):  # One in hundreds repeats itself too much.
        code = join_codes.spelled(secrets.randbits(join_codes.BITS))
    return code


def new_league_id(game: str, seed: str | None) -> str:
    """A name that is unique for ever; from a seed alone where there is one."""
    alphabet, year = "abcdefghijkmnpqrstuvwxyz23456789", datetime.fromtimestamp(wall(), UTC).year
    chance = secrets.token_bytes(6) if seed is None else sha256(f"league|{seed}".encode()).digest()
    tail = "".join(alphabet[byte % len(alphabet)] for byte in chance[:6])
    return f"league_{year}_{game}_{tail}" if seed is None else f"league_{game}_{tail}"

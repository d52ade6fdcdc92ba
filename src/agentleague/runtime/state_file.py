"""Where an agent keeps its token between two runs, so that it comes back as itself.

One file for each agent, named by what was said on its command line and held while it runs: a second
process with the same command takes the next file, and is another agent.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

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
        return f"{words[:60].lower()}-{sha256(msgspec.json.encode(self)).hexdigest()[:12]}"


class _Kept(msgspec.Struct):
    agent_id: str = ""
    league_id: str = ""
    token: str = ""


class StateFile:
    """One agent's file, held by this process until it is closed."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path, self._lock = path, lock
        self.token = _read(path).token

    def save(self, agent_id: str, league_id: str, token: str) -> None:
        """Keep this, and nothing else, for the next run; on disk before this returns.

        Of a manager that gives no tokens there is nothing to keep.
        """
        if not token:
            return
        text = msgspec.json.encode(_Kept(agent_id, league_id, token))
        draft = self.path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self.path)  # All or nothing, whenever the machine stops.
        self.token = token

    def close(self) -> None:
        """Let the next process with this command have it."""
        set_lock(self._lock, False)
        os.close(self._lock)


def open_state(directory: Path, whose: Whose) -> StateFile:
    """The first file of this agent that no running process holds.

    Raises:
        OSError: the directory cannot be used.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in range(1, FILES_MAX + 1):
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
    raise OSError(f"{directory} has {FILES_MAX} agents of this name running already")


@contextmanager
def kept(
    whose: Whose, directory: str | Path | None, say: Callable[[str], None]
) -> Iterator[StateFile | None]:
    """The agent's file for as long as it runs, in this directory or in the default one.

    Where the default one cannot be used it is said, and the agent does without.

    Raises:
        OSError: the given directory cannot be used.
    """
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


def default_directory(environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """The place for such files: LEAGUE_STATE, or one in the home of whoever runs the agent."""
    if environ.get("LEAGUE_STATE"):
        return Path(environ["LEAGUE_STATE"])
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = environ.get("XDG_STATE_HOME") or home / ".local" / "state"
    return Path(base) / "agentleague"


def _read(path: Path) -> _Kept:
    """What is kept there; a file that is not there, or not ours, holds nothing."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Kept()

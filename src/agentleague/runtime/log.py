"""The log of a role: what is worth a line, and the file of JSON lines that a thread writes.

INFO has decisions and how the agent fares, WARNING what was refused or failed, DEBUG every message.
A line names messages and never holds one, and a token in another field is made unreadable. Writing
never waits: what a full disk does not take waits in memory, and what has no room there is left out
and counted. The file is opened for each flush, so that `logrotate` may move or cut it as it likes.
"""

import logging
import os
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET, Struct

from agentleague.errors import LeagueError
from agentleague.league.event_text import sentence
from agentleague.protocol.messages import LockResponse, Message, RoundAnnouncement, tag_of
from agentleague.protocol.printable import log_text
from agentleague.protocol.timestamps import write
from agentleague.roles import stimuli
from agentleague.roles.effects import Broadcast, Call, Drop, Effect, End, Event, Record, Reply

TEXT_MAX = 400  # characters


class Entry(Struct, frozen=True, kw_only=True):
    """One line to be; it is written out later, where nobody waits for it."""

    level: int  # of `logging`
    event: str
    agent: str = ""  # who sent the message, as it says itself, or was called
    message: Message | None = None
    decision: Event | None = None
    error_code: str = ""
    seconds: float | None = None
    text: str = ""


class Watcher:
    """Is shown all that happens to a role and what it does; hands what matters to a sink."""

    def __init__(self, sink: Callable[[Entry], None], level: int = logging.INFO) -> None:
        self._sink, self._level = sink, level
        self._is_debugging = level <= logging.DEBUG  # What is for that alone costs nothing else.
        self._calls: dict[stimuli.Key, Call] = {}  # in flight

    def saw(self, stimulus: stimuli.Stimulus, effects: Sequence[Effect]) -> None:
        """One step of the role."""
        about = self._STIMULI.get(type(stimulus))
        if about:
            about(self, stimulus)
        for effect in effects:
            does = self._EFFECTS.get(type(effect))
            if does:
                does(self, effect, stimulus)

    def refused(self, source: str, error: LeagueError) -> None:
        """The transport refused what the role never saw."""
        text = f"{source}: {error}"
        self._note(logging.WARNING, "refused", error_code=error.code, text=text)

    def _note(self, level: int, event: str, **fields: Any) -> None:
        if level >= self._level:
            self._sink(Entry(level=level, event=event, **fields))

    # What happened

    def _asked(self, stimulus: stimuli.Asked) -> None:
        message = stimulus.message
        if isinstance(message, RoundAnnouncement):
            own = [each.match_id for each in message.matches if getattr(each, "seats", UNSET)]
            if own:
                self._note(logging.INFO, "assigned", text=", ".join(own), **_by(stimulus))
        if self._is_debugging:
            self._note(logging.DEBUG, "asked", **_by(stimulus))

    def _answered(self, stimulus: stimuli.Answered) -> None:
        call = self._calls.pop(stimulus.key, None)
        error, answer = stimulus.error, stimulus.message
        if error:
            self._failed(error, **_of(call, stimulus))
        elif isinstance(answer, LockResponse) and answer.result is not UNSET:
            reason = answer.result.game_result.reason
            self._note(logging.INFO, "result", text=reason, **_of(call, stimulus))
        elif self._is_debugging:
            self._note(logging.DEBUG, "answered", **_of(call, stimulus))

    def _told(self, stimulus: stimuli.Told) -> None:
        for agent_id, error in () if stimulus.awaited else stimulus.failed.items():
            self._failed(error, agent=agent_id)

    def _failed(self, error: LeagueError, **fields: Any) -> None:
        said = [error.context.get("said") or str(error), error.context.get("tried")]
        about = {"error_code": error.code, "text": "; ".join(filter(None, said))}
        self._note(logging.WARNING, "call_failed", **fields, **about)

    def _strategy_returned(self, stimulus: stimuli.StrategyReturned) -> None:
        if stimulus.error is not None:
            self._note(logging.WARNING, "strategy_failed", text=stimulus.error)

    # What it does

    def _records(self, effect: Record, stimulus: stimuli.Stimulus) -> None:
        kind = str(type(effect.event).__struct_config__.tag)
        self._note(logging.INFO, kind, decision=effect.event)

    def _replies(self, effect: Reply, stimulus: stimuli.Stimulus) -> None:
        answer = effect.answer
        if isinstance(answer, LeagueError):
            self._refuses(stimulus, answer.code, str(answer))
        elif getattr(answer, "status", "") == "REJECTED":
            code, reason = getattr(answer, "error_code", ""), getattr(answer, "reason", "")
            self._refuses(stimulus, str(code or ""), str(reason or ""))
        elif self._is_debugging:
            self._note(logging.DEBUG, "replied", **_by(stimulus))

    def _refuses(self, stimulus: stimuli.Stimulus, error_code: str, text: str) -> None:
        about = {"error_code": error_code, "text": text}
        self._note(logging.WARNING, "refused", **_by(stimulus), **about)

    def _calls_out(self, effect: Call, stimulus: stimuli.Stimulus) -> None:
        self._calls[effect.key] = effect
        if self._is_debugging:
            self._note(logging.DEBUG, "called", agent=effect.to.agent_id, message=effect.message)

    def _broadcasts(self, effect: Broadcast, stimulus: stimuli.Stimulus) -> None:
        for to, letter in effect.letters if self._is_debugging else ():
            for message, _ in letter:
                self._note(logging.DEBUG, "called", agent=to.agent_id, message=message)

    _STIMULI: ClassVar[dict[type, Callable[..., None]]] = {
        stimuli.Started: lambda self, stimulus: self._note(logging.INFO, "started"),
        stimuli.Asked: _asked,
        stimuli.Answered: _answered,
        stimuli.Told: _told,
        stimuli.StrategyReturned: _strategy_returned,
    }
    _EFFECTS: ClassVar[dict[type, Callable[..., None]]] = {
        Record: _records,
        Reply: _replies,
        Call: _calls_out,
        Broadcast: _broadcasts,
        Drop: lambda self, effect, stimulus: self._calls.pop(effect.key, None),
        End: lambda self, effect, stimulus: self._note(logging.INFO, "ended"),
    }


def _by(stimulus: stimuli.Stimulus) -> dict[str, Any]:
    if not isinstance(stimulus, stimuli.Asked):
        return {}
    return {"agent": stimulus.message.sender, "message": stimulus.message}


def _of(call: Call | None, stimulus: stimuli.Answered) -> dict[str, Any]:
    known = {"agent": call.to.agent_id, "message": call.message} if call else {}
    return {"seconds": stimulus.seconds, **known}


# What of a decision is in its line; none of these is ever a secret.
_FACTS = (
    *("match_id", "round_id", "epoch", "player_id", "referee_id", "agent_id", "display_name"),
    *("endpoint", "generation", "league_id", "game_type", "why", "champion", "aborted", "told"),
    *("verdict", "winner", "reason", "scope", "message", "last"),
)


def fields(entry: Entry) -> dict[str, Any]:
    """A line as it is written, without its time; what there is nothing to say of is left out."""
    line: dict[str, Any] = {"level": logging.getLevelName(entry.level), "event": entry.event}
    line["agent"] = log_text(entry.agent)
    message, decision = entry.message, entry.decision
    if message is not None:
        line["message_type"] = tag_of(type(message))
        line["conversation_id"] = log_text(message.conversation_id)
        match_id = getattr(message, "match_id", None)
        line["match_id"] = log_text(match_id) if isinstance(match_id, str) else None
    if decision is not None:
        line |= _facts(decision)
    line["error_code"] = entry.error_code
    if entry.seconds is not None:
        line["seconds"] = round(entry.seconds, 4)
    if entry.text:
        line["text"] = log_text(entry.text, TEXT_MAX)
    return {key: value for key, value in line.items() if value not in ("", None, UNSET)}


def in_words(entry: Entry) -> str | None:
    """The same for a person who watches the command; None where `news` says it already."""
    if entry.event in _SAID_BY_NEWS:
        return None
    if entry.decision is not None:
        return log_text(sentence(entry.decision), TEXT_MAX)
    words = _WORDS[entry.event].format_map(_Blanks(fields(entry)))
    return " ".join(words.split()).replace(" :", ":").rstrip(":")


def _facts(decision: Event) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in decision.__struct_fields__:
        if name in _FACTS:
            value = getattr(decision, name)
            found[name] = log_text(value) if isinstance(value, str) else value
    result = getattr(decision, "result", None)
    if result is not None:
        found |= {"status": result.status, "winner": result.winner_player_id}
        found["text"] = log_text(result.reason)
    return found


class _Blanks(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


_SAID_BY_NEWS = frozenset(
    {"player_registered", "referee_registered", "round_ended"}
    | {"disputed", "match_ruled", "token_misused", "loss_accepted"}
)
_WORDS = {  # of all but decisions
    "started": "Started.",
    "ended": "Done.",
    "refused": "Refused {agent} {message_type} {match_id}: {error_code} {text}",
    "call_failed": "{agent} did not take {message_type} {match_id}: {error_code} {text}",
    "strategy_failed": "The strategy failed: {text}",
    "assigned": "To referee: {text}",
    "result": "{match_id}: {text}",
    "asked": "<- {agent} {message_type} {match_id}",
    "replied": "-> {agent} answered {message_type} {match_id}",
    "called": "-> {agent} {message_type} {match_id}",
    "answered": "<- {agent} answered {message_type} {match_id} after {seconds} s",
}


@dataclass(frozen=True)
class LogLimits:
    """The limits of one log file."""

    size_bytes: int = 50_000_000  # then the file is renamed to .1, a former .1 to .2, and so on
    former: int = 4  # such files; the oldest is removed
    lines: int = 20_000  # that wait for the next flush
    warnings: int = 500  # of them, because anybody can cause as many as they like
    flush_seconds: float = 1.0  # between two flushes


class LogFile:
    """Takes entries from any thread; `close` writes what waits."""

    def __init__(
        self,
        path: Path,
        wall: Callable[[], float],
        limits: LogLimits = LogLimits(),  # noqa: B008 (It is frozen.)
    ) -> None:
        self._path, self._wall, self._limits = path, wall, limits
        self._waiting: deque[tuple[float, Entry]] = deque()
        self._warnings = self._left_out = 0  # since the last flush
        self._unwritten, self._is_new = b"", True  # lines, of which the disk has none yet
        self._closing = threading.Event()
        self._thread = Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Keep it for the next flush, if there is room."""
        is_warning = entry.level >= logging.WARNING
        self._warnings += is_warning
        is_flood = is_warning and self._warnings > self._limits.warnings
        if is_flood or len(self._waiting) >= self._limits.lines:
            self._left_out += 1
        else:
            self._waiting.append((self._wall(), entry))

    def close(self) -> None:
        """Write what waits and stop."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._limits.flush_seconds):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        with suppress(OSError):  # No room, or no directory: the next flush tries it again.
            self._write_out()
            self._unwritten, self._is_new = self._lines(), True
            self._write_out()

    def _lines(self) -> bytes:
        lines = [_written(*self._waiting.popleft()) for _ in range(len(self._waiting))]
        self._warnings, left_out, self._left_out = 0, self._left_out, 0
        if left_out:
            text = f"{left_out} lines were left out"
            note = Entry(level=logging.WARNING, event="left_out", text=text)
            lines.append(_written(self._wall(), note))
        return b"".join(lines)

    def _write_out(self) -> None:
        while self._unwritten:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_new:  # Else the second half of a line would stand in another file.
                self._rotate()
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                self._unwritten = self._unwritten[os.write(file, self._unwritten) :]
                self._is_new = False
            finally:
                os.close(file)

    def _rotate(self) -> None:
        """Rename the files of before, if what is to be written does not fit."""
        with suppress(FileNotFoundError):
            size = self._path.stat().st_size
            if size and size + len(self._unwritten) > self._limits.size_bytes:
                names = [self._path.name]
                names += [f"{self._path.name}.{n}" for n in range(1, self._limits.former + 1)]
                for name, older in reversed(list(pairwise(names))):
                    with suppress(FileNotFoundError):
                        os.replace(self._path.with_name(name), self._path.with_name(older))


class LogHandler(logging.Handler):
    """Brings what the program itself complains about (bugs, a full disk) into the same file."""

    def __init__(self, write: Callable[[Entry], None]) -> None:
        super().__init__(logging.WARNING)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """One entry; of a bug its kind and the place, never its values."""
        text = record.getMessage()
        bug = record.exc_info[1] if record.exc_info else None
        if bug is not None:
            frames = traceback.extract_tb(bug.__traceback__)[-1:]
            where = "".join(f" at {Path(frame.filename).name}:{frame.lineno}" for frame in frames)
            text = f"{text}: {type(bug).__name__}{where}"
        level = min(record.levelno, logging.ERROR)
        self._write(Entry(level=level, event="complaint", agent=record.name, text=text))


def _written(at: float, entry: Entry) -> bytes:
    moment = f"{write(at)[:-1]}.{int(at % 1 * 1000):03}Z"
    line: dict[str, Any] = {"timestamp": moment, **fields(entry)}
    return msgspec.json.encode(line) + b"\n"

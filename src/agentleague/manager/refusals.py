"""What was refused or contradicted: the organiser is told of each once, and sees how often."""

from itertools import islice

from msgspec import Struct

from agentleague.manager.step import Step
from agentleague.protocol.messages import LeagueRegisterRequest, RefereeRegisterRequest
from agentleague.protocol.printable import log_text, printable
from agentleague.roles.stimuli import Asked

MORE = "More of that came in the last minute; all are in the log of the manager."
A_PROXY = "a proxy"  # from which it came, if the address behind it is not known


class _Refusal(Struct):
    words: str
    told: float  # when the organiser was
    times: int = 0

    def __str__(self) -> str:
        return f"{self.words}, {self.times:,} times by now" if self.times > 1 else self.words


class Refusals:
    """State: who was refused why, and how often; the longest unseen is forgotten first."""

    def __init__(self, step: Step, opening: str = "Refused") -> None:
        self._step, self._limits, self._opening = step, step.limits, opening
        self._known: dict[tuple[str, str], _Refusal] = {}  # by who and why
        self._minute, self._in_it = 0.0, 0  # when it began, and how many were told since

    def of(self, asked: Asked, code: str, why: str) -> None:
        """A request was refused; it matters here if it is a registration."""
        message, source = asked.message, asked.caller.source
        if isinstance(message, LeagueRegisterRequest):
            name = f"player {log_text(message.player_meta.display_name)!r}"
        elif isinstance(message, RefereeRegisterRequest):
            name = f"referee {log_text(message.referee_meta.display_name)!r}"
        else:
            return
        self.add((f"{name} from {source or A_PROXY}", code), why, code)

    def rows(self) -> list[str]:
        """The last ones, in words."""
        newest_first = reversed(self._known.values())
        return [str(each) for each in islice(newest_first, self._limits.refusals_shown)]

    def add(self, key: tuple[str, str], why: str, code: str) -> None:
        """Count it, and tell the organiser unless that was done lately; the key is who and what."""
        limits, now = self._limits, self._step.now
        words = f"{key[0]}: {log_text(why, limits.refusal_size)} ({code})"
        known = self._known.pop(key, None) or _Refusal("", now - limits.refusal_seconds)
        known.words, known.times = printable(words), known.times + 1
        self._known[key] = known
        if len(self._known) > limits.refusals_max:
            del self._known[next(iter(self._known))]
        if now - known.told >= limits.refusal_seconds and self._may_tell(now):
            known.told = now
            self._step.notify(f"{self._opening} {known}.")

    def _may_tell(self, now: float) -> bool:
        """Only so many sentences a minute; the first that is too many is summed up."""
        if now - self._minute >= self._limits.refusal_seconds:
            self._minute, self._in_it = now, 0
        self._in_it += 1
        if self._in_it == self._limits.refusals_max + 1:
            self._step.notify(MORE)
        return self._in_it <= self._limits.refusals_max

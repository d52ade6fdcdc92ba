"""Refused registrations, told to the organiser: it may be the agent that everybody waits for."""

from agentleague.protocol.messages import LeagueRegisterRequest, RefereeRegisterRequest
from agentleague.protocol.printable import clean, harmless
from agentleague.roles.stimuli import Asked

QUIET_SECONDS = 60.0  # before the same agent is named again for the same reason
TOLD_MAX = 20  # sentences in that time, whoever asks: names cost nothing
MORE = "More registrations were refused in the last minute; all are in the log of the manager."


class Refusals:
    """What was said of whom, and when; a restart of the manager forgets it."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], float] = {}  # reason and agent -> when

    def sentence(self, asked: Asked, code: str, why: str, now: float) -> str:
        """What to say of a refused registration; nothing of other messages, or too soon again."""
        message = asked.message
        if isinstance(message, LeagueRegisterRequest):
            kind, name = "player", message.player_meta.display_name
        elif isinstance(message, RefereeRegisterRequest):
            kind, name = "referee", message.referee_meta.display_name
        else:
            return ""
        self._told = {key: at for key, at in self._told.items() if now - at < QUIET_SECONDS}
        key = (code, f"{kind} {name} {asked.caller.source}")
        if key in self._told or len(self._told) > TOLD_MAX:
            return ""
        self._told[key] = now
        if len(self._told) > TOLD_MAX:
            return MORE
        about = f"{kind} {clean(name)!r} from {asked.caller.source}"
        return harmless(f"Refused {about}: {clean(why)} ({code}).")

"""How a referee or player registers: it asks until the manager is there, and keeps its token."""

from msgspec import UNSET, Struct

from agentleague.errors import LeagueError, PeerRefused
from agentleague.protocol.messages import (
    LeagueRegisterResponse,
    Message,
    RefereeRegisterResponse,
)
from agentleague.roles.effects import Address, Call, Effect, End, WakeAt
from agentleague.services.settings import AgentSettings

KEY = "register"


class Refused(Struct, frozen=True):
    """The manager will not have the agent; trying again would not help."""

    reason: str


class Enrolment:
    """The registration of one agent: its id, token, league and session, once it has them."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self.manager = Address("league_manager", settings.manager_url)
        self.agent_id = self.token = self.league_id = self.session = ""
        self.tries = 0  # that came to nothing
        self.match_tokens = False  # whether referees of this league show match tokens

    def ask(self, request: Message, now: float) -> list[Effect]:
        """Ask to be taken in."""
        return [Call(KEY, self.manager, request, now + self._settings.reply_seconds)]

    def answered(
        self, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        """Taken in, refused for good, or nobody there yet."""
        if isinstance(message, LeagueRegisterResponse | RefereeRegisterResponse):
            return self._judged(message)
        if isinstance(error, PeerRefused) and not error.context["data"].get("retryable"):
            return [End(Refused(str(error)))]
        self.tries += 1
        return [WakeAt(KEY, now + self._settings.register_seconds)]

    def _judged(self, message: LeagueRegisterResponse | RefereeRegisterResponse) -> list[Effect]:
        if message.status != "ACCEPTED":
            hint = "" if message.hint is UNSET else f": {message.hint}"
            return [End(Refused(f"{message.reason or 'the manager gave no reason'}{hint}"))]
        self.token = "" if message.auth_token is UNSET else message.auth_token
        self.league_id = message.league_id
        if isinstance(message, RefereeRegisterResponse):
            self.agent_id = message.referee_id or ""
            self.session = "" if message.session is UNSET else message.session
        else:
            self.agent_id = message.player_id or ""
            self.match_tokens = message.match_tokens is True
        return []

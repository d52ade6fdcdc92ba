"""How a referee or player registers: it asks until the manager is there, and keeps its token.

Whoever runs it may hand it the token of an earlier run: the manager that gave it knows the agent by
it. Another manager takes it for none, or refuses it; then the agent registers anew.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Struct

from agentleague.errors import (
    LateRegistration,
    LeagueError,
    PeerRefused,
    TokenInvalid,
    TokenMissing,
)
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    Message,
    RefereeRegisterResponse,
)
from agentleague.roles.effects import Address, Call, Effect, End, WakeAt
from agentleague.roles.settings import AgentSettings

KEY = "register"
CAME_BACK = (
    "; one that was in it before comes back with the same --manager, --name, --port and --state"
)
GIVE_CODE = "give the right one with --join-code or LEAGUE_JOIN_CODE; the organiser knows it"
BAD_TOKEN = (TokenMissing.code, TokenInvalid.code)


class Refused(Struct, frozen=True):
    """The manager will not have the agent; trying again would not help."""

    reason: str


class Enrolment:
    """The registration of one agent: its id, token, league and session, once it has them."""

    def __init__(self, settings: AgentSettings) -> None:
        self._settings = settings
        self.manager = Address("league_manager", settings.manager_url)
        self.agent_id = self.token = self.league_id = self.session = ""
        self.remembered = ""  # the token to show when it registers again
        self.lease_seconds = 0.0  # how long a referee may be silent; 0: as long as it likes
        self.tries = 0  # that came to nothing
        self.match_tokens = False  # whether referees of this league show match tokens
        self.is_ours = False  # whether the manager is: no other gives a session, or speaks of them

    def ask(self, request: Message, now: float) -> list[Effect]:
        """Ask to be taken in, with the token of an earlier run and the join code, if any."""
        until = now + self._settings.reply_seconds
        return [Call(KEY, self.manager, self._with_proof(request), until)]

    def answered(
        self, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        """Taken in, refused for good, or nobody there yet."""
        if isinstance(message, LeagueRegisterResponse | RefereeRegisterResponse):
            return self._judged(message)
        if error and "what_to_do" in error.context:
            return [End(Refused(self._not_understood(error)))]
        if isinstance(error, PeerRefused) and not error.context["data"].get("retryable"):
            if self.remembered and error.context["code"] in BAD_TOKEN:
                self.remembered = ""
                return [WakeAt(KEY, now)]
            return [End(Refused(self._in_words(error)))]
        self.tries += 1
        return [WakeAt(KEY, now + self._settings.register_seconds)]

    def _not_understood(self, error: LeagueError) -> str:
        """What was tried, what came back, and what would help: no form of ours was understood."""
        told = error.context["what_to_do"]
        return f"{self.manager.url} understands no registration of ours: {told}"

    def _in_words(self, error: PeerRefused) -> str:
        """The refusal for whoever typed the command; what it says of fields is for programs."""
        if "join_code" not in str(error) or error.context["code"] not in BAD_TOKEN:
            return str(error)
        if self._settings.join_code:
            return f"wrong join code; {GIVE_CODE}"
        return f"this league has a join code; {GIVE_CODE.replace('the right one', 'it')}"

    def _with_proof(self, request: Message) -> Message:
        more: dict[str, Any] = {}
        if self.remembered:
            more["auth_token"] = self.remembered
        if self._settings.join_code:
            is_player = isinstance(request, LeagueRegisterRequest)
            name = "player_meta" if is_player else "referee_meta"
            meta = getattr(request, name)
            more[name] = msgspec.structs.replace(meta, join_code=self._settings.join_code)
        return msgspec.structs.replace(request, **more)

    def _judged(self, message: LeagueRegisterResponse | RefereeRegisterResponse) -> list[Effect]:
        if message.status != "ACCEPTED":
            hint = "" if message.hint is UNSET else f": {message.hint}"
            back = CAME_BACK if message.error_code == LateRegistration.code else ""
            return [End(Refused(f"{message.reason or 'the manager gave no reason'}{hint}{back}"))]
        self.token = self.remembered = message.auth_token or ""
        self.league_id = message.league_id
        if isinstance(message, RefereeRegisterResponse):
            self.agent_id = message.referee_id or ""
            self.session = message.session or ""
            self.is_ours = bool(self.session)
            self.lease_seconds = message.lease_seconds or 0.0
        else:
            self.agent_id = message.player_id or ""
            self.match_tokens = message.match_tokens is True
            self.is_ours = message.match_tokens is not UNSET
        return []

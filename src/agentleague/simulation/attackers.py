"""A thief with names, end points and parts of secrets, and an impostor with a player's tokens.

They call the manager, referees and players from addresses of their own, and try to be somebody
else. Nothing that they send may be taken: every attempt whose answer is no refusal is reported.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from agentleague.errors import TokenInvalid
from agentleague.league.events import TokenMisused
from agentleague.league.league import Phase
from agentleague.protocol import messages
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.simulation.agents import REPLY_SECONDS
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.network import host_of, url_of

if TYPE_CHECKING:
    from agentleague.simulation.league import SimulatedLeague

THIEF = "thief"
TRIES_MAX = 40
FORGERIES_MAX = 12  # by one impostor
TRY_SECONDS = (0.05, 1.0)  # between two tries; they are closer together in the beginning
NAMES = ("match_id", "player_id", "league_id", "round_id", "epoch", "sender")  # of a message


class Thief:
    """Tries one thing after the other; `sees` every message to an agent."""

    def __init__(self, league: "SimulatedLeague") -> None:
        self.url = url_of(THIEF)
        self._league, self._clock, self._observer = league, league.clock, league.observer
        self._transport = league.network.add(self.url, "player", Lifetime(league.clock))
        self._chance = Random(f"thief|{league.seed}")
        self._seen: list[tuple[str, messages.GameMessage]] = []  # end point and message of a match
        self._tries = 0
        self._later()

    def sees(self, url: str, message: messages.Message) -> None:
        """A message of a referee to a player."""
        if isinstance(message, messages.GameMessage) and not isinstance(message, messages.GameOver):
            self._seen.append((url, message))

    def _later(self) -> None:
        least, most = TRY_SECONDS
        wait = self._chance.uniform(least, most * (1 + self._tries // 10))
        self._clock.call_after(wait, self._try)

    def _try(self) -> None:
        self._observer.catch_up()
        phase = self._observer.league.phase
        if phase is Phase.COMPLETED or self._tries == TRIES_MAX:
            return
        if phase is not Phase.REGISTERING:
            self._tries += 1
            self._chance.choice(self.ATTACKS)(self)
        self._later()

    def _take_a_seat(self) -> None:
        """Somebody lost its token and comes back: so it says."""
        victim = self._chance.choice(list(self._observer.league.roster.players.values()))
        self._register(victim.display_name, victim.endpoint, "")

    def _show_an_old_token(self) -> None:
        retired = self._observer.tokens.retired()
        if retired:
            self._show(self._chance.choice(retired))

    def _show_part_of_a_token(self) -> None:
        issued = list(self._observer.tokens.issued)
        if issued:
            self._show(self._part(self._chance.choice(issued)))

    def _end_a_match(self) -> None:
        """Tell a player a result, with part of the token that its referee shows it."""
        able = [each for each in self._seen[-4:] if self._life_with_tokens(each[0])]
        if not able:
            return
        url, seen = self._chance.choice(able)
        message = messages.GameOver(
            **{name: getattr(seen, name) for name in NAMES},
            auth_token=self._part(seen.auth_token or ""),
            game_result=messages.GameResult("WIN", seen.player_id),
        )
        self._call(Address("", url), message)

    def _move_for_a_player(self) -> None:
        """Push a move to its referee, without a token or with one that was made up."""
        calls: dict[type, type[Any]] = {
            messages.ChooseParityCall: messages.ChooseParityResponse,
            messages.GameMoveCall: messages.GameMoveResponse,
        }
        asked = [seen for _, seen in self._seen[-4:] if type(seen) in calls]
        if not asked:
            return
        seen = self._chance.choice(asked)
        match = self._observer.league.matches[seen.match_id]
        referee = self._observer.league.roster.referees[match.referee_id]
        token = self._chance.choice(("", self._part(seen.auth_token or "")))
        move = calls[type(seen)](
            "even", match_id=seen.match_id, player_id=seen.player_id, auth_token=token
        )
        self._call(Address("", referee.endpoint), move)

    def _show(self, token: str) -> None:
        """A referee's token renews its leases; a player's moves its seat to the thief."""
        if self._chance.random() < 0.5:
            status = messages.RefereeStatus("", [], sender="referee:REF01", auth_token=token)
            self._call(self._league.to_manager, status)
        else:
            self._register("Thief", self.url, token)

    def _register(self, name: str, endpoint: str, token: str) -> None:
        game = self._observer.league.rules.game_type
        meta = messages.PlayerMeta(name, endpoint, "1.0.0", [game], "2.1.0")
        request = messages.LeagueRegisterRequest(
            meta, sender=f"player:{name}"[:64], auth_token=token
        )
        self._call(self._league.to_manager, request)

    def _call(self, to: Address, message: messages.Message) -> None:
        life = self._life_with_tokens(to.url)

        def answered(answer: Answer) -> None:
            took = answer.message
            is_refusal = (
                isinstance(took, messages.LeagueRegisterResponse) and took.status != "ACCEPTED"
            )
            was_able = (
                not isinstance(message, messages.GameOver) or self._life_with_tokens(to.url) == life
            )
            # A mere acknowledgement has no message.
            if answer.error is None and not is_refusal and was_able:
                kind = type(message).__name__
                self._observer.violations.append(f"{to.url} took a {kind} of a thief")

        self._transport.call(to, message, self._clock.time + REPLY_SECONDS, answered)

    def _life_with_tokens(self, url: str) -> float | None:
        """When a player began its life, if it was told in it that referees show tokens."""
        process = self._league.processes[host_of(url)]
        if not url.startswith("http://player") or not process.is_alive:
            return None
        return process.born_at if process.role._registration.match_tokens else None

    def _part(self, secret: str) -> str:
        """A secret without its end, or with another one."""
        kept = secret[: self._chance.randrange(len(secret) // 2, len(secret))] if secret else ""
        return kept + self._chance.choice(("", "x" * (len(secret) - len(kept))))

    ATTACKS: ClassVar[tuple[Callable[["Thief"], None], ...]] = (
        _take_a_seat,
        _show_an_old_token,
        _show_an_old_token,
        _show_part_of_a_token,
        _end_a_match,
        _move_for_a_player,
    )


class Impostor:
    """Tries to be a referee with a player's tokens: never accepted, and journalled when refused."""

    def __init__(self, league: "SimulatedLeague", name: str) -> None:
        self._league, self._name = league, name
        self._transport = league.network.add(url_of("impostor"), "player", Lifetime(league.clock))
        self._tries = 0

    def sees(self, url: str, message: messages.Message) -> None:
        """A message to an agent; one of a match carries a token."""
        is_own = url == url_of(self._name) and isinstance(message, messages.GameMessage)
        if is_own and self._tries < FORGERIES_MAX:
            self._tries += 1
            process = self._league.processes[self._name]
            league_token = str(process.role.state.token) if process.is_alive else ""
            for token, scope in ((message.auth_token, "match"), (league_token, "league")):
                for forged in _forged(message, token) if token else ():
                    self._send(forged, scope)

    def _send(self, message: messages.LockRequest | messages.MatchResultReport, scope: str) -> None:
        league, name = self._league, self._name

        def answered(answer: Answer) -> None:
            kind, wrong = type(message), league.observer.violations.append
            if answer.message is not None:
                wrong(f"{kind.__name__} of {message.match_id} by a player was taken")
            elif answer.error and answer.error.context.get("code") == TokenInvalid.code:
                league.observer.catch_up()
                event = TokenMisused(league.player_id(name), messages.WIRE_NAME[kind], scope)
                if event not in league.observer.events:
                    wrong(f"{name} misused a token, which is not on disk: {event}")

        until = league.clock.time + REPLY_SECONDS
        self._transport.call(league.to_manager, message, until, answered)


def _forged(seen: Any, token: str) -> tuple[messages.LockRequest, messages.MatchResultReport]:
    names: dict[str, Any] = {"match_id": seen.match_id, "conversation_id": "conv-forged"}
    names |= {"sender": "referee:REF01", "auth_token": token}
    lost = [("P02" if seen.player_id == "P01" else "P01", "made an illegal move")]
    result = messages.ReportedResult(winner=seen.player_id)
    return (
        messages.LockRequest(epoch=seen.epoch or 1, index=0, moves=[], forfeits=lost, **names),
        messages.MatchResultReport(result=result, **names),
    )

"""A thief that knows names, end points and parts of secrets, and tries to be somebody else.

It calls the manager, referees and players from an address of its own. Nothing that it sends may be
taken: every attempt whose answer is not a refusal is reported.
"""

from collections.abc import Callable
from random import Random
from typing import Any, ClassVar

from agentleague.league.league import Phase
from agentleague.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameMessage,
    GameMoveCall,
    GameMoveResponse,
    GameOver,
    GameResult,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    Message,
    PlayerMeta,
    RefereeStatus,
)
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.simulation.agents import REPLY_SECONDS
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.network import SimulatedNetwork
from agentleague.simulation.observer import Observer

THIEF = "thief"
TRIES_MAX = 40
TRY_SECONDS = (0.05, 1.0)  # between two tries; they are closer together in the beginning
NAMES = ("match_id", "player_id", "league_id", "round_id", "epoch", "sender")  # of a message


class Thief:
    """Tries one thing after the other; `sees` every message to an agent."""

    def __init__(
        self,
        network: SimulatedNetwork,
        observer: Observer,
        manager: Address,
        life_with_tokens: Callable[[str], float | None],
        seed: int,
    ) -> None:
        self.url = f"http://{THIEF}/mcp"
        self._clock, self._observer, self._manager = network.clock, observer, manager
        self._transport = network.add(self.url, "player", Lifetime(network.clock))
        self._chance = Random(f"thief|{seed}")
        # Since when the player there knows how referees prove themselves to it, if it does.
        self._life_with_tokens = life_with_tokens
        self._seen: list[tuple[str, GameMessage]] = []  # end point and message of a match
        self._tries = 0
        self._later()

    def sees(self, url: str, message: Message) -> None:
        """A message of a referee to a player."""
        if isinstance(message, GameMessage) and not isinstance(message, GameOver):
            self._seen.append((url, message))

    def _later(self) -> None:
        least, most = TRY_SECONDS
        wait = self._chance.uniform(least, most * (1 + self._tries // 10))
        self._clock.call_at(self._clock.time + wait, self._try)

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
        message = GameOver(
            **{name: getattr(seen, name) for name in NAMES},
            auth_token=self._part(seen.auth_token or ""),
            game_result=GameResult("WIN", seen.player_id),
        )
        self._call(Address("", url), message)

    def _move_for_a_player(self) -> None:
        """Push a move to its referee, without a token or with one that was made up."""
        calls: dict[type, type[Any]] = {
            ChooseParityCall: ChooseParityResponse,
            GameMoveCall: GameMoveResponse,
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
            status = RefereeStatus("", [], sender="referee:REF01", auth_token=token)
            self._call(self._manager, status)
        else:
            self._register("Thief", self.url, token)

    def _register(self, name: str, endpoint: str, token: str) -> None:
        game = self._observer.league.rules.game_type
        meta = PlayerMeta(name, endpoint, "1.0.0", [game], "2.1.0")
        request = LeagueRegisterRequest(meta, sender=f"player:{name}"[:64], auth_token=token)
        self._call(self._manager, request)

    def _call(self, to: Address, message: Message) -> None:
        life = self._life_with_tokens(to.url)

        def answered(answer: Answer) -> None:
            took = answer.message
            is_refusal = isinstance(took, LeagueRegisterResponse) and took.status != "ACCEPTED"
            was_able = not isinstance(message, GameOver) or self._life_with_tokens(to.url) == life
            # A mere acknowledgement has no message.
            if answer.error is None and not is_refusal and was_able:
                kind = type(message).__name__
                self._observer.violations.append(f"{to.url} took a {kind} of a thief")

        self._transport.call(to, message, self._clock.time + REPLY_SECONDS, answered)

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

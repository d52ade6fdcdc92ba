"""Our referee at a foreign manager, whose answers a test gives."""

from itertools import count

from agentleague.errors import NoConnection, PeerRefused
from agentleague.games import even_odd
from agentleague.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameOver,
    LeagueQuery,
    LeagueQueryResponse,
    MatchResultAck,
    MatchResultReport,
    RefereeRegisterResponse,
    RoundMatch,
    StartMatch,
)
from agentleague.referee.foreign_manager import LIMITS
from agentleague.referee.manager_queries import QUERIES
from agentleague.referee.role import Referee
from agentleague.roles.agent import RegisterKey
from agentleague.roles.effects import Call, Reply, WakeAt
from agentleague.roles.settings import RefereeSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started

NOW = 100.0
ACCEPTED = RefereeRegisterResponse("ACCEPTED", "REF07", "league_there", auth_token="tok_there")
ANN, BOB = "http://127.0.0.1:1/mcp", "http://127.0.0.1:2/mcp"
MATCH = RoundMatch("M1", "", "P01", "P02", player_A_endpoint=ANN, player_B_endpoint=BOB)
START = StartMatch([MATCH], round_id=4)
HERE = Caller("127.0.0.1", rpc_method="start_match")


def refused(number=None, said="no", **more):
    return PeerRefused(f"the peer answered: {said}", number=number, code=None, data={}, **more)


def status(number, said="no"):
    return NoConnection(f"HTTP {number}, and there is no answer", status=number, said=said)


class Visit:
    """A referee, and all that it does; `answers` are what its players and manager say."""

    def __init__(
        self,
        secret=b"s" * 32,
        load=lambda name: even_odd,
        registers=True,
        limits=LIMITS,
        **settings,
    ):
        terms = RefereeSettings(display_name="Owl", endpoint="http://127.0.0.1:7/mcp", **settings)
        self.role, self.numbers = Referee(terms, load, secret, limits), count(1)
        self.calls, self.replies, self.woken, self.order = [], {}, {}, []
        self.do(Started(0.0)).calls.clear()
        if registers:
            self.register()

    def register(self):
        self.do(Answered(RegisterKey(), ACCEPTED, None, 0.1))

    def do(self, stimulus, now=NOW):
        for effect in self.role.handle(stimulus, now):
            if isinstance(effect, Call):
                self.calls.append(effect)
                self.order.append(type(effect.message))
            elif isinstance(effect, Reply):
                self.replies[effect.to] = effect.answer
                self.order.append(type(effect.answer))
            elif isinstance(effect, WakeAt):
                self.woken[effect.key] = effect.when
        return self

    def ask(self, message, caller=HERE):
        """Somebody asks it something; the number of the request."""
        number = next(self.numbers)
        self.do(Asked(message, caller, number))
        return number

    def refused(self, message, caller=HERE):
        return type(self.replies[self.ask(message, caller)])

    def take(self, kind):
        """The open calls of this kind."""
        found = [call for call in self.calls if isinstance(call.message, kind)]
        self.calls = [call for call in self.calls if call not in found]
        return found

    def answer(self, kind, message=None, error=None):
        for call in self.take(kind):
            self.do(Answered(call.key, message, error, 0.1))
        return self

    def play(self, report=True):
        """Both join and say the same, and are told how it ended."""
        self.answer(GameInvitation, GameJoinAck())
        self.answer(ChooseParityCall, ChooseParityResponse("even"))
        self.answer(GameOver)
        return self.answer(MatchResultReport, MatchResultAck()) if report else self

    def nobody_says(self, *, is_there=False):
        """Nobody says where players are: where they were looked for, and were or were not."""
        for _ in QUERIES:
            self.answer(LeagueQuery, LeagueQueryResponse(data={}))
        tried = list(self.role.unchecked)
        self.role.unchecked.clear()
        for key, _ in tried:
            error = None if is_there else NoConnection("nobody listens there")
            self.do(Answered(key, None, error, 0.1))
        return [(key.player_id, url) for key, url in tried]

    def news(self):
        return list(self.role.news)

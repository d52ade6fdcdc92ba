"""One match between Ann and Bob, and the words to tell it with."""

from msgspec.structs import replace

from agentleague.errors import LeagueError
from agentleague.games import even_odd
from agentleague.match.machine import (
    Clock,
    ErrorCall,
    GameOverCall,
    InvitationCall,
    LockCall,
    ManagerCall,
    Match,
    MoveCall,
    ReportCall,
)
from agentleague.match.messages import Conditions, RefereeIdentity
from agentleague.protocol.messages import (
    WIRE_NAME,
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    GameResult,
    LockedResult,
    LockResponse,
    PlayerRecord,
    RoundMatch,
    Rules,
    Seated,
)
from agentleague.protocol.timestamps import Calendar
from agentleague.protocol.tokens import digest
from agentleague.roles.effects import Address, Call, WakeAt
from agentleague.roles.stimuli import Answered
from league.decisions import LEAGUE_ID, Decisions

SEAT = {"P01": 0, "P02": 1}
MANAGER = Address("league_manager", "http://127.0.0.1:8000/mcp")
REFEREE_TOKEN = "tok_REF01_secret"
RULES = Rules(
    join_seconds=5.0,
    move_seconds=30.0,
    game_over_seconds=4.0,
    reply_seconds=10.0,
    retries=0,
    join_retries=0,
)
PATIENT = replace(RULES, retries=3, join_retries=3)  # the rules of the documents
SEATS = [
    Seated(
        *("P01", "http://127.0.0.1:8101/mcp", "Ann", PlayerRecord(2, 1, 0, 6), "mtok_ann"),
        push_token="mtok_from_ann",
        digests=[digest("tok_P01_ann")],
    ),
    Seated(
        *("P02", "http://127.0.0.1:8102/mcp", "Bob", PlayerRecord(), "mtok_bob"),
        push_token="mtok_from_bob",
        digests=[digest("tok_P02_bob")],
    ),
]
JOINED = GameJoinAck("R1M1", accept=True)
CLOCK = Clock("R1M1")
CALLS = {
    "join": InvitationCall,
    "move": MoveCall,
    "error": ErrorCall,
    "over": GameOverCall,
    "lock": LockCall,
    "report": ReportCall,
}
STEPS = {kind: step for step, kind in CALLS.items()}


def match_of(game=even_odd, *, rules=RULES, seats=SEATS, epoch=1, kind=Match, **described):
    described = RoundMatch(
        *("R1M1", game.name, "P01", "P02", "http://127.0.0.1:8001/mcp"),
        epoch=epoch,
        seats=seats,
        **described,
    )
    identity = RefereeIdentity("REF01", "http://127.0.0.1:8001/mcp", REFEREE_TOKEN, Calendar(0.0))
    return kind(described, Conditions(LEAGUE_ID, 1, rules, game, identity, MANAGER))


def answer(match, step, who, said, *, turn=0, now=0.0, attempt=1):
    """A call to somebody is answered with a message, or comes to nothing with an error."""
    key = key_of(step, SEAT.get(who), turn, attempt)
    return match.answered(answered(key, said), now)


def key_of(step, seat, turn, attempt):
    """The key of a call; one to the manager has no seat, and the index of the lock as its turn."""
    kind = CALLS[step]
    seats = () if issubclass(kind, ManagerCall) else (seat,)
    return kind("R1M1", *seats, turn, attempt)


def step_of(call):
    return STEPS[type(call.key)]


def answered(key, said, seconds=0.1):
    message, error = (None, said) if isinstance(said, LeagueError) else (said, None)
    return Answered(key, message, error, seconds)


def join(match, who, now=0.0, **names):
    return answer(match, "join", who, JOINED, now=now, **names)


def choose(match, who, choice, now=0.0, attempt=1):
    said = ChooseParityResponse(choice, "R1M1")
    return answer(match, "move", who, said, now=now, attempt=attempt)


def move(match, who, made, *, turn, now=0.0, attempt=1):
    said = GameMoveResponse(made, "R1M1")
    return answer(match, "move", who, said, turn=turn, now=now, attempt=attempt)


def joining(**terms):
    match = match_of(**terms)
    match.start(0.0)
    return match


def playing(game=even_odd, **terms):
    """A match whose players have both joined; and the calls for their first moves."""
    match = match_of(game, **terms)
    match.start(0.0)
    join(match, "P01")
    return match, calls(join(match, "P02"))


def locking(**terms):
    match, _ = playing(**terms)
    choose(match, "P01", "even")
    choose(match, "P02", "odd")
    return match


def telling(**terms):
    match = locking(**terms)
    answer(match, "lock", "manager", decided())
    return match


def reporting(**terms):
    match = telling(**terms)
    for who in ("P01", "P02"):
        answer(match, "over", who, None)
    return match


def decided(winner="P01", status="WIN"):
    """What a manager answers to a lock that ends the game."""
    score = {who: 3 if who == winner else 0 for who in ("P01", "P02")}
    choices = {"P01": "even", "P02": "odd"}
    result = GameResult(status, winner, 8, "even", choices, "P01 chose even")
    return LockResponse("R1M1", 0, result=LockedResult(winner, score, result))


def calls(effects):
    return [effect for effect in effects if isinstance(effect, Call)]


def said(effects):
    """The calls among effects as (message type, receiver)."""
    return [(WIRE_NAME[type(call.message)], call.to.agent_id) for call in calls(effects)]


def rings(effects):
    """When the clock is set to ring."""
    return [effect.when for effect in effects if isinstance(effect, WakeAt)]


def only(effects, cls):
    """The one message of that class among effects."""
    (found,) = (call.message for call in calls(effects) if isinstance(call.message, cls))
    return found


class OfflineLeague:
    """A match beside a real adjudicator, which answers what the referee asks the manager."""

    def __init__(self, game=even_odd, **terms):
        self.decisions = Decisions(2, game=game).start()
        self.match = match_of(game, **terms)
        self.calls = []

    def run(self, effects, strategies):
        """Answer every call until there is none; a strategy gets (turn, position)."""
        waiting = calls(effects)
        while waiting:
            call = waiting.pop(0)
            self.calls.append(call)
            answer = answered(call.key, self._answer(call, strategies))
            waiting += calls(self.match.answered(answer, 0.0))
        return said(self.calls)

    def _answer(self, call, strategies):
        message, name = call.message, WIRE_NAME[type(call.message)]
        if name == "GAME_INVITATION":
            return JOINED
        if name == "CHOOSE_PARITY_CALL":
            return ChooseParityResponse(strategies[call.to.agent_id](0, None))
        if name == "GAME_MOVE_CALL":
            made = strategies[call.to.agent_id](message.turn, message.position)
            return GameMoveResponse(made)
        if name in ("LOCK_REQUEST", "MATCH_RESULT_REPORT"):
            asked = (
                self.decisions.adjudicator.lock
                if name == "LOCK_REQUEST"
                else self.decisions.adjudicator.report
            )
            ruling = self.decisions.heed(asked("REF01", message))
            assert not isinstance(ruling.answer, LeagueError), ruling.answer
            return ruling.answer
        return None

"""The matches that a referee is given: who plays, how each player behaves, and what came of it.

A scenario says what both players do; it is played once, and many rules judge its record.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentleague.conformance.bench import Fields, now
from agentleague.conformance.exchange import Exchange
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Listener, Received, Reply, refuse_unknown
from agentleague.conformance.peer import Peer
from agentleague.dialects.results import find_result
from agentleague.protocol.codec import encode
from agentleague.protocol.messages import METHODS, PROTOCOL, GameOver, GameResult, MatchResultReport
from agentleague.runtime.clock import stopwatch

LEAGUE_ID = "league_check_even_odd"
INVITATION, CALL, OVER, ERROR = (
    *("GAME_INVITATION", "CHOOSE_PARITY_CALL"),
    *("GAME_OVER", "GAME_ERROR"),
)
FOR_PLAYERS = (INVITATION, CALL, OVER, ERROR)
JOIN, CHOICE = "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE"
LONG = "x" * 9_000  # A message may have 10 KB.
UNKNOWN = {"mood": {"今日": ["🙂", None, 1.5]}, "notes": "Grüße, ½ שלום"}
PUSH_SECONDS = 0.05  # after its answer a player pushes

Step = Callable[["Seat", Received], Reply]


class Script(Struct, frozen=True, kw_only=True):
    """What a player does the first time, the second, …, and from the last one on always."""

    choice: str = "even"
    join: tuple[Step, ...] = ()  # empty: it joins
    move: tuple[Step, ...] = ()  # empty: it makes its choice
    over: tuple[Step, ...] = ()  # empty: it acknowledges GAME_OVER
    is_away: bool = False  # Nobody listens at its end point.


class Scenario(Struct, frozen=True, kw_only=True):
    """Two players, and how long their match may last."""

    name: str
    a: Script = Script()
    b: Script = Script(choice="odd")
    joins: int = 0  # so many times a join may run out
    moves: int = 0  # so many times a move may
    is_slow: bool = False
    hangs_up: bool = False  # The manager gives no answer to the first report.

    def seconds(self, limits: Limits) -> float:
        """After which the match ought to be reported."""
        usual = limits.next_step if self.is_slow else min(limits.next_step, 2 * limits.join)
        return self.joins * limits.join + self.moves * limits.move + usual


class Seat:
    """A player of one match."""

    def __init__(self, player_id: str, script: Script, bind: str, referee: Peer) -> None:
        self.player_id, self.script, self._referee = player_id, script, referee
        self.match_id = ""
        self.other: Seat | None = None  # the opponent, in a match
        self.pushes: list[Exchange] = []
        self.opened = threading.Event()  # what a step of its script may wait for
        self.asked = threading.Event()  # that it waits
        self._counts: Counter[str] = Counter()
        self._answered: dict[int, float] = {}
        self._lock = threading.Lock()
        self.listener = Listener("player", self._answer, bind=bind)
        self.url = self.listener.url
        if script.is_away:
            self.listener.close()

    def close(self) -> None:
        """Nobody listens here any more."""
        self.opened.set()
        if not self.script.is_away:
            self.listener.close()

    def got(self, *names: str) -> list[Received]:
        """What the referee sent it, in order; all, or those of these types."""
        found = sorted(self.listener.received, key=lambda each: each.at)
        return [each for each in found if not names or type_of(each) in names]

    def answered_at(self, received: Received) -> float:
        """When this was answered."""
        return self._answered.get(id(received), received.at)

    def join(self, **fields: Any) -> Fields:
        """GAME_JOIN_ACK, as documents 001 and 004 show it."""
        return self._message(JOIN, arrival_timestamp=now(), accept=True) | fields

    def move(self, **fields: Any) -> Fields:
        """CHOOSE_PARITY_RESPONSE, as documents 001 and 004 show it."""
        return self._message(CHOICE, parity_choice=self.script.choice) | fields

    def push(self, message: Fields) -> None:
        """Say it by a request of its own, once the present one is answered."""
        timer = threading.Timer(PUSH_SECONDS, self._push, (message,))
        timer.daemon = True
        timer.start()

    def _push(self, message: Fields) -> None:
        name = str(message["message_type"])
        for body in (
            encode({"jsonrpc": "2.0", "id": 1, "method": name, "params": message}),
            encode(message),
        ):
            answer = self._referee.post(body)
            self.pushes.append(Exchange(what=name, sent=body, answer=answer))
            if answer.status == 200 and answer.error is None:
                return

    def _message(self, message_type: str, **fields: Any) -> Fields:
        envelope = {
            "protocol": PROTOCOL,
            "message_type": message_type,
            "sender": f"player:{self.player_id}",
            "timestamp": now(),
            "match_id": self.match_id,
            "player_id": self.player_id,
        }
        return envelope | fields

    def _answer(self, received: Received) -> Reply:
        name = type_of(received)
        if received.message is None and name not in FOR_PLAYERS:
            return refuse_unknown(received)
        steps = {
            INVITATION: self.script.join or (joins,),
            CALL: self.script.move or (chooses,),
            OVER: self.script.over,
        }
        mine = steps.get(name)
        if not mine:  # What is wrong with such a message is for the rules to say.
            return received.result({"status": "ACKNOWLEDGED", "match_id": self.match_id})
        with self._lock:
            number = self._counts[name]
            self._counts[name] += 1
        reply = mine[min(number, len(mine) - 1)](self, received)
        self._answered[id(received)] = stopwatch() + reply.after
        return reply


class Record:
    """One match: what was said in it."""

    def __init__(self, scenario: Scenario, number: int, seats: tuple[Seat, Seat]) -> None:
        self.scenario, self.seats = scenario, seats
        self.round_id, self.match_id = number, f"R{number}M1"
        self.conversation_id = f"conv-r{number}m1-001"
        for seat, other in zip(seats, seats[::-1], strict=True):
            seat.match_id, seat.other = self.match_id, other
        self.began = self.ended = stopwatch()
        self.start: Exchange | None = None  # how the referee was told of it
        self.reports: list[Received] = []
        self.was_told = threading.Event()  # The result is there.
        self.is_done = threading.Event()  # Nothing more is waited for.
        self.is_closed = threading.Event()  # Nobody listens any more.

    @property
    def ids(self) -> tuple[str, str]:
        """Who plays."""
        a, b = self.seats
        return a.player_id, b.player_id

    @property
    def is_over(self) -> bool:
        """Whether the manager was told the result."""
        return self.was_told.is_set()

    @property
    def report(self) -> MatchResultReport | None:
        """The first report, leniently read."""
        found = self.reports[0].message if self.reports else None
        return found if isinstance(found, MatchResultReport) else None

    @property
    def winner(self) -> str | None:
        """Who won, as the manager was told; None: nobody."""
        if self.report:
            named = self.report.result.winner
        else:
            named = str((self.started_result() or {}).get("winner"))
        return named if named in self.ids else None

    def started_result(self) -> Fields | None:
        """The result in the answer to the start, for referees that tell it there."""
        fields = self.start.answer.fields() if self.start else None
        found = find_result(fields) if fields else None
        return dict(found) if found else None

    def result(self, seat: Seat) -> GameResult | None:
        """What the first GAME_OVER to a player says, leniently read."""
        return next((found for each in seat.got(OVER) if (found := _result_in(each))), None)

    def got(self, *names: str) -> list[Received]:
        """What both players were sent."""
        found = [each for seat in self.seats for each in seat.got(*names)]
        return sorted(found, key=lambda each: each.at)

    def exchange(self, *names: str) -> Exchange | None:
        """The last message of these types, as evidence; or else how the match was started."""
        found = self.got(*names)
        return found[-1].exchange() if found else self.start

    def reported(self) -> Exchange | None:
        """The report as evidence."""
        return self.reports[0].exchange() if self.reports else self.exchange()

    def other(self, seat: Seat) -> Seat:
        """The opponent."""
        a, b = self.seats
        return b if seat is a else a

    def close(self) -> None:
        """It is over, and the players go home."""
        self.ended = stopwatch()
        self.is_done.set()
        with ThreadPoolExecutor(len(self.seats)) as pool:  # Each has to wait for its end.
            list(pool.map(Seat.close, self.seats))
        self.is_closed.set()


def type_of(received: Received) -> str:
    """The message type, also of what cannot be read otherwise."""
    return METHODS.get(received.name.lower(), received.name)


def _result_in(received: Received) -> GameResult | None:
    if isinstance(received.message, GameOver):
        return received.message.game_result
    try:
        return msgspec.convert(received.params().get("game_result"), GameResult)
    except msgspec.ValidationError:
        return None


# What a player may do when it is asked.


def joins(seat: Seat, received: Received) -> Reply:
    """It says yes."""
    return received.result(seat.join())


def declines(seat: Seat, received: Received) -> Reply:
    """It says no."""
    return received.result(seat.join(accept=False))


def chooses(seat: Seat, received: Received) -> Reply:
    """It makes its choice."""
    return received.result(seat.move())


def silent(seat: Seat, received: Received) -> Reply:
    """It never answers."""
    return Reply(is_never=True)


def refuses(seat: Seat, received: Received) -> Reply:
    """It answers with an error of its own."""
    return received.error(4999, "not today")


def breaks(seat: Seat, received: Received) -> Reply:
    """It fails."""
    return Reply(b"Internal Server Error", 500, {"Content-Type": "text/plain"})


def babbles(seat: Seat, received: Received) -> Reply:
    """It answers with what is no JSON."""
    return Reply(b"<html><body>It works!</body></html>", 200, {"Content-Type": "text/html"})


def holds(seat: Seat, received: Received) -> Reply:
    """It joins when it is told to."""
    seat.asked.set()
    seat.opened.wait(30.0)
    return joins(seat, received)


def says(**fields: Any) -> Step:
    """Its usual answer with these fields."""
    return lambda seat, received: received.result(usual(seat, received) | fields)


def bare(seat: Seat, received: Received) -> Reply:
    """It answers with the message alone, as documents 003 and 004 show it."""
    shown = usual(seat, received)
    left_out = ("protocol", "sender", "timestamp")
    return Reply(encode({name: shown[name] for name in shown if name not in left_out}))


def after(seconds: float, step: Step) -> Step:
    """The same, later."""
    return lambda seat, received: replace(step(seat, received), after=seconds)


def behind_the_other(at_most: float, seconds: float, step: Step) -> Step:
    """The same so many seconds after the opponent was asked too, for which it waits a while.

    A referee that asks both at once may be on a busy machine, so no short pause tells it apart.
    """

    def waits(seat: Seat, received: Received) -> Reply:
        if seat.other:
            name = type_of(received)
            seat.other.listener.wait_for(lambda each: type_of(each) == name, at_most)
        return after(seconds, step)(seat, received)

    return waits


def pushes(seat: Seat, received: Received) -> Reply:
    """It acknowledges, and answers by a request of its own."""
    seat.push(usual(seat, received))
    return received.result({"status": "ACKNOWLEDGED"})


def chooses_twice(seat: Seat, received: Received) -> Reply:
    """It makes its choice, and then pushes the other one."""
    seat.push(seat.move(parity_choice=opposite(seat.script.choice)))
    return chooses(seat, received)


def is_impersonated(seat: Seat, received: Received) -> Reply:
    """While it thinks, somebody without its tokens chooses for it, and for a player unknown."""
    other = opposite(seat.script.choice)
    seat.push(seat.move(parity_choice=other, auth_token="tok_P99_stolen"))
    seat.push(seat.move(parity_choice=other, player_id="P99", sender="player:P99"))
    return replace(chooses(seat, received), after=6 * PUSH_SECONDS)


def usual(seat: Seat, received: Received) -> Fields:
    """What it says when it does what is expected."""
    return seat.join() if type_of(received) == INVITATION else seat.move()


def opposite(choice: str) -> str:
    """The other choice."""
    return "odd" if choice == "even" else "even"


EVEN, ODD = Script(), Script(choice="odd")
DECISIVE = Scenario(name="decisive")
HELD = Scenario(name="held", a=Script(join=(holds,)))
BESIDE = Scenario(name="beside")
AGAIN = Scenario(name="again")  # after a restart


def _one(name: str, **script: Any) -> Scenario:
    """A scenario in which player A does something unusual."""
    return Scenario(name=name, a=Script(**script))


def _slow(name: str, *, joins: int = 0, moves: int = 0, **script: Any) -> Scenario:
    return Scenario(name=name, a=Script(**script), joins=joins, moves=moves, is_slow=True)


def scenarios(limits: Limits) -> dict[str, Scenario]:
    """All scenarios, by name."""
    pause = 2 * limits.quiet  # long enough to see what a referee does meanwhile
    patience = min(limits.connect, limits.join / 2)
    late_join, late_move = after(0.75 * limits.join, joins), after(0.75 * limits.move, chooses)
    table = (
        DECISIVE,
        Scenario(name="draw", a=ODD),
        Scenario(name="odd even", a=ODD, b=EVEN),
        _one("slow join", join=(behind_the_other(patience, pause, joins),)),
        _one("slow move", move=(behind_the_other(patience, pause, chooses),)),
        _one("declines", join=(declines,)),
        Scenario(name="both decline", a=Script(join=(declines,)), b=Script(join=(declines,))),
        _one("illegal once", move=(says(parity_choice="Even"), chooses)),
        _one("null once", move=(says(parity_choice=None), chooses)),
        _one("other match", move=(says(match_id="R99M9", parity_choice="odd"), chooses)),
        Scenario(name="always illegal", a=Script(move=(says(parity_choice="Even"),)), moves=1),
        Scenario(name="always a number", a=Script(move=(says(parity_choice=0),)), moves=1),
        _one("unknown fields", join=(says(**UNKNOWN),), move=(says(**UNKNOWN),)),
        _one("long answers", join=(says(notes=LONG),), move=(says(notes=LONG),)),
        _one("bare answers", join=(bare,), move=(bare,)),
        _one("pushes", join=(pushes,), move=(pushes,)),
        _one("impersonated", move=(is_impersonated,)),
        Scenario(
            name="twice",
            a=Script(move=(chooses_twice,)),
            b=Script(choice="odd", move=(after(pause, chooses),)),
        ),
        _one("refuses the end", over=(refuses,)),
        _slow("silent at the end", over=(silent,)),
        _slow("late answers", joins=1, moves=1, join=(late_join,), move=(late_move,)),
        _slow("silent at first", joins=1, join=(silent, joins)),
        _slow("never joins", joins=5, join=(silent,)),
        _slow("silent at the move", moves=1, move=(silent, chooses)),
        _slow("never moves", moves=5, move=(silent,)),
        _slow("refuses to move", moves=5, move=(refuses,)),
        _slow("breaks", joins=3, moves=3, join=(joins,), move=(breaks,)),
        _slow("babbles", joins=3, moves=3, move=(babbles,)),
        _slow("away", joins=4, is_away=True),
        Scenario(
            name="both away",
            a=Script(is_away=True),
            b=Script(is_away=True),
            joins=4,
            is_slow=True,
        ),
        Scenario(name="report unanswered", hangs_up=True, is_slow=True),
    )
    return {each.name: each for each in table}

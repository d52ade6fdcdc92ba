"""A match in virtual time: players follow a script, the manager is a real adjudicator."""

import heapq
from itertools import count

from agentleague.errors import LeagueError, NoAnswer, PeerRefused
from agentleague.games import even_odd
from agentleague.match.machine import Phase
from agentleague.protocol.messages import (
    WIRE_NAME,
    ChooseParityResponse,
    GameError,
    LockRequest,
    MatchResultReport,
)
from agentleague.roles.effects import Call, Drop, WakeAt
from league.decisions import Decisions
from match.ann_and_bob import JOINED, PATIENT, answered, match_of, step_of

SILENCE = object()  # no answer ever comes
EVEN, ODD = ChooseParityResponse("even", "R1M1"), ChooseParityResponse("odd", "R1M1")
USUAL = {"join": JOINED, "move": EVEN, "error": None, "over": None}


class Stage:
    """Runs a match to its end; `log` is every call as (when, message type, receiver).

    `ann` and `bob` say what is answered to each call of a step, one after another: something, or
    (seconds, something). When a script has no more lines, the player does as it should.
    """

    def __init__(self, ann=(), bob=(), *, pushes=(), game=even_odd, rules=PATIENT, **terms):
        self.now, self.log, self.sent, self.replies, self.effects = 0.0, [], [], [], []
        self.scripts = {
            "P01": {step: list(lines) for step, lines in dict(ann).items()},
            "P02": {step: list(lines) for step, lines in dict(bob).items()},
        }
        self.decisions = Decisions(2, game=game).start()
        self.match = match_of(game, rules=rules, **terms)
        self._order, self._due = count(), []
        self._calls, self._timers = {}, {}
        for when, message, caller in pushes:
            self._at(when, lambda m=message, c=caller: self.push(m, c))
        self.carry_out(self.match.start(0.0))

    def run(self, until=float("inf")):
        """Let time pass until nothing is due."""
        while self._due and self._due[0][0] <= until:
            when, _, entry = heapq.heappop(self._due)
            if entry:
                self.now = when
                entry.pop()()
        return self

    def sleep_until(self, when):
        """The machine stands still; afterwards all that is overdue happens at once."""
        self._due = [(max(at, when), order, entry) for at, order, entry in self._due]
        heapq.heapify(self._due)
        return self

    def push(self, message, caller):
        try:
            pusher = self.match.admit(message, caller)
        except LeagueError as error:
            self.replies.append(type(error))
        else:
            effects = self.match.pushed(pusher, message, self.now)
            fault = self.match.fault
            self.replies.append(type(fault) if fault else "ACKNOWLEDGED")
            self.carry_out(effects)

    def heard(self, who):
        """What that player was told, and when."""
        return [(when, name) for when, name, to in self.log if to == who]

    def errors(self, who="P01"):
        """The codes of the GAME_ERRORs that a player got."""
        return [each.error_code for each in self.told(GameError) if each.player_id == who]

    def told(self, cls):
        return [message for message in self.sent if isinstance(message, cls)]

    @property
    def lock(self):
        return self.told(LockRequest)[-1]

    @property
    def report(self):
        return self.told(MatchResultReport)[-1]

    @property
    def result(self):
        decided = self.decisions.league.matches["R1M1"].decided
        return decided and decided.result

    @property
    def open_calls(self):
        return list(self._calls)

    @property
    def is_closed(self):
        return self.match.phase is Phase.CLOSED

    def carry_out(self, effects):
        self.effects += effects
        for effect in effects:
            {Call: self._call, Drop: self._drop, WakeAt: self._wake_at}[type(effect)](effect)

    def _call(self, call):
        self.log.append((round(self.now, 6), WIRE_NAME[type(call.message)], call.to.agent_id))
        self.sent.append(call.message)
        if call.to.agent_id == "league_manager":
            delay, said = 0.0, self._manager(call.message)
        else:
            delay, said = self._player(call)
        if said is SILENCE or self.now + delay > call.until:
            delay, said = call.until - self.now, NoAnswer("the time ran out")
        self._calls[call.key] = self._at(self.now + delay, lambda: self._answer(call, said, delay))

    def _player(self, call):
        step, who = step_of(call), call.to.agent_id
        lines = self.scripts[who].get(step, [])
        usual = ODD if (step, who) == ("move", "P02") else USUAL[step]
        line = lines.pop(0) if lines else usual
        return line if isinstance(line, tuple) else (0.0, line)

    def _manager(self, message):
        adjudicator = self.decisions.adjudicator
        asked = adjudicator.lock if isinstance(message, LockRequest) else adjudicator.report
        answer = self.decisions.heed(asked("REF01", message)).answer
        if isinstance(answer, LeagueError):
            number = answer.number_for("LOCK_REQUEST")
            return PeerRefused(str(answer), number=number, code=answer.code, data=answer.context)
        return answer

    def _answer(self, call, said, seconds):
        self._calls.pop(call.key, None)
        self.carry_out(self.match.answered(answered(call.key, said, seconds), self.now))

    def _drop(self, drop):
        for waiting in (self._calls, self._timers):
            entry = waiting.pop(drop.key, None)
            if entry:
                entry.clear()

    def _wake_at(self, effect):
        self._drop(effect)
        self._timers[effect.key] = self._at(effect.when, lambda: self._wake(effect.key))

    def _wake(self, key):
        self._timers.pop(key)
        self.carry_out(self.match.woken(self.now))

    def _at(self, when, what):
        entry = [what]
        heapq.heappush(self._due, (when, next(self._order), entry))
        return entry

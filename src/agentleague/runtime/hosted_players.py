"""A player whose moves come from outside: from a model in an MCP host, or from a person.

Nothing here knows how they come. To the referee it is an ordinary player of ours: it joins at once,
and keeps each turn open until a move is brought or the time is over.

An answer may be lost on its way, so nothing is told only once: a turn is shown until it is
answered, and news until the host says up to which number it has `seen` them. Who says nothing is
told the news of one answer again in the next.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.errors import IllegalMove, UnexpectedMessage
from agentleague.player.role import HookCall
from agentleague.protocol.printable import one_line_json
from agentleague.roles.effects import Turn
from agentleague.roles.ports import Cancel, Clock

NEWS_MAX = 50
HOOKS_MAX = 16  # the results among them are taken at once
ANSWERED_MAX = 16  # turns whose moves are remembered
LEGAL_SHOWN = 100  # legal moves in an error
_LOOK = "call wait_for_turn"

Shown = dict[str, Any]
Respond = Callable[[Shown], None]
_encode = msgspec.json.Encoder().encode


class _OpenTurn(Struct):
    """A turn that waits for its move."""

    id: str
    turn: Turn
    until: float
    done: Callable[[Any, str | None], None]


class _Waiter(Struct):
    """A host that waits for something to happen."""

    seen: int
    respond: Respond
    cancel: Cancel


class HostedPlayer:
    """Keeps turns and news for one host; the runner of its player's strategy.

    `hooks` are those of the player's role. `name_of` tells the names of players, `waits_for` what
    the league waits for before its first round.
    """

    def __init__(
        self,
        player_id: str,
        clock: Clock,
        name_of: Callable[[str], str],
        waits_for: Callable[[], str],
    ) -> None:
        self.player_id = player_id
        self._clock, self._name_of, self._waits_for = clock, name_of, waits_for
        self.hooks: deque[HookCall] = deque(maxlen=HOOKS_MAX)
        self.over: Mapping[str, Any] | None = None  # the end of the league
        self._turns: dict[str, _OpenTurn] = {}  # by match
        self._moves: dict[str, Any] = {}  # by turn, the newest last
        self._round: Mapping[str, Any] = {}
        self._table: Sequence[Mapping[str, Any]] = ()
        self._ended = ""  # the last match that did
        self._news: deque[Shown] = deque(maxlen=NEWS_MAX)
        self._number = self._told = self._told_before = 0  # of news
        self._waiter: _Waiter | None = None

    # What the player does

    def run(self, turn: Turn, done: Callable[[Any, str | None], None]) -> None:
        """Keep the turn until somebody brings a move, or it is asked for again."""
        self._close(turn.match_id)
        turn_id, until = f"{turn.match_id}.{turn.number}", self._clock.now() + turn.seconds_left
        self._turns[turn.match_id] = _OpenTurn(turn_id, turn, until, done)
        self._wake()

    def hear(self, sentence: str) -> None:
        """The player has something to say; what its role was told goes along."""
        results = self._take_in()
        self._tell(sentence, **results)
        self._wake()

    # What the host does

    def wait(self, seconds: float, seen: int | None, respond: Respond) -> None:
        """Show the turn or what is new, at once or when there is something; once, in any case."""
        self.release()
        self._take_in()
        known = self._told if seen is None else seen
        start = self._told_before if seen is None else seen
        if start > self._number:  # It counts what an earlier process told.
            known = start = 0
        is_new = self._number > known or self.over or self._current()
        if is_new or seconds <= 0:
            respond(self._show(start))
            return
        timer = self._clock.call_at(self._clock.now() + seconds, self.release)
        self._waiter = _Waiter(start, respond, timer)

    def release(self) -> None:
        """Let nobody wait any longer."""
        waiter, self._waiter = self._waiter, None
        if waiter:
            waiter.cancel()
            self._take_in()
            waiter.respond(self._show(waiter.seen))

    def submit(self, move: Any, turn_id: str = "") -> Shown:
        """Make this move; the turn stays open if it cannot be made.

        Raises IllegalMove, or UnexpectedMessage where no move is awaited.
        """
        current = self._current(turn_id)
        if current is None:
            return self._not_now(move, turn_id)
        chosen = _chosen(move, current.turn.legal_moves)
        match_id = current.turn.match_id
        del self._turns[match_id]
        self._moves[current.id] = chosen
        if len(self._moves) > ANSWERED_MAX:
            del self._moves[next(iter(self._moves))]
        current.done(chosen, None)
        return {"accepted": True, "match_id": match_id, "turn_id": current.id, "move": chosen}

    # What it knows

    @property
    def waiting_for(self) -> str:
        """What is waited for, in words."""
        own, number = self._round, self._round.get("round_id")
        match_id = own.get("match_id")
        if not own:
            return self._waits_for()
        if not match_id:
            return f"You have no match in round {number}; the others play."
        if match_id == self._ended:
            return f"{match_id} is over for you; the others of round {number} still play."
        moved = next((m for t, m in reversed(self._moves.items()) if t.startswith(match_id)), None)
        state = "it begins" if moved is None else f"you played {one_line_json(moved)}"
        whom = f"{own['opponent_id']} {one_line_json(self._name_of(own['opponent_id']))}"
        return f"Round {number}: you meet {whom} in {match_id}; {state}."

    def _current(self, turn_id: str = "") -> _OpenTurn | None:
        """The open turn that ends first, or the one of this id."""
        now = self._clock.now()
        there = [each for each in self._turns.values() if turn_id in ("", each.id)]
        return min((t for t in there if t.until > now), key=lambda t: t.until, default=None)

    def _close(self, match_id: str) -> None:
        """Let the role forget that it asked."""
        former = self._turns.pop(match_id, None)
        if former:
            self._clock.call_at(self._clock.now(), partial(former.done, None, "no move came"))

    def _not_now(self, move: Any, turn_id: str) -> Shown:
        played = self._moves.get(turn_id)
        if turn_id in self._moves and _encode(played) == _encode(move):  # Its answer was lost.
            match_id = turn_id.rpartition(".")[0]
            return {"accepted": True, "match_id": match_id, "turn_id": turn_id, "move": played}
        if turn_id in self._moves:
            shown = one_line_json(played)
            raise UnexpectedMessage(f"turn_id: you played {shown} in that turn; {_LOOK}")
        if now := self._current():
            raise UnexpectedMessage(f"turn_id: that turn is not open, but {now.id} is; {_LOOK}")
        is_over = bool(turn_id) and turn_id.rpartition(".")[0] == self._ended
        if is_over or any(turn_id in ("", each.id) for each in self._turns.values()):
            raise UnexpectedMessage(f"too late: the time for that move is over; {_LOOK}")
        raise UnexpectedMessage(f"it is not your turn: {self.waiting_for} {_LOOK.capitalize()}.")

    def _take_in(self) -> Shown:
        """Note what the role was told; the result of a match if it was one."""
        result: Shown = {}
        while self.hooks:
            name, data = self.hooks.popleft()
            if name == "round":
                self._round = data
                self._tell(f"{self.waiting_for}{self._rank()}", round=data["round_id"])
            elif name == "standings":
                self._table = data
            elif name == "result":
                self._ended = data["match_id"]
                self._close(self._ended)
                result = _result(data)
            elif name == "league_end":
                self.over = data
        return result

    def _rank(self) -> str:
        rows = [row for row in self._table if row["player_id"] == self.player_id]
        return "".join(f" You are number {r['rank']}, with {r['points']} points." for r in rows)

    def _tell(self, sentence: str, **facts: Any) -> None:
        self._number += 1
        self._news.append({"number": self._number, "text": sentence, **facts})

    def _wake(self) -> None:
        """Show the host at once what has happened; in a later step, since the role is busy."""
        if self._waiter:
            self._waiter.cancel()
            self._waiter.cancel = self._clock.call_at(self._clock.now(), self.release)

    def _show(self, seen: int) -> Shown:
        current = self._current()
        news = [each for each in self._news if each["number"] > seen]
        self._told_before, self._told = self._told, self._number
        status = "match_over" if any("result" in each for each in news) else "waiting"
        shown: Shown = {"waiting_for": self.waiting_for}
        if self.over is not None:
            status, shown = "league_over", {"final": self._final(self.over)}
        elif current:
            status, shown = "your_turn", self._asked(current)
        return {"status": status, **shown, "news": news, "seen": self._number}

    def _asked(self, current: _OpenTurn) -> Shown:
        turn = current.turn
        return {
            "turn_id": current.id,
            "match_id": turn.match_id,
            "round": turn.round_id,
            "you": turn.player_id,
            "opponent": {"player_id": turn.opponent_id, "name": self._name_of(turn.opponent_id)},
            "position": turn.position,
            "legal_moves": list(turn.legal_moves),
            "seconds_left": round(max(0.0, current.until - self._clock.now()), 1),
        }

    def _final(self, over: Mapping[str, Any]) -> Shown:
        rows = over.get("final_standings") or []
        own = next((row for row in rows if row["player_id"] == self.player_id), None)
        return {"champion": over.get("champion"), "you": own, "players": len(rows)}


def _result(match: Mapping[str, Any]) -> Shown:
    """A match that is over, as its player sees it."""
    told = match["result"]
    is_draw, facts = told.get("status") == "DRAW", ("match_id", "round_id", "opponent_id")
    ended = "won" if match["won"] else "drawn" if is_draw else "lost"
    return {"result": ended, **{name: match[name] for name in facts}, "reason": told.get("reason")}


def _chosen(move: Any, legal: Sequence[Any]) -> Any:
    """The legal move that is meant; where none are listed, the game itself judges.

    Raises IllegalMove.
    """
    if not legal:
        return move
    # Some hosts send every argument as text.
    spelled = {_encode(move), move.strip().encode() if isinstance(move, str) else b""}
    for each in legal:
        if _encode(each) in spelled:
            return each
    listed = ", ".join(map(one_line_json, legal[:LEGAL_SHOWN]))
    raise IllegalMove(f"move: {one_line_json(move)} is not legal here; send one of {listed}")

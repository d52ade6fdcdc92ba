"""A player whose moves come from outside: from a model in an MCP host, or from a person.

To the referee it is an ordinary player of ours: it joins at once, and keeps each turn open until a
move is brought or the time is over. An answer to the host may be lost on its way, so a turn is
shown until it is answered, and news until the host says up to which number it has `seen` them. Who
says nothing is told the news of one answer again in the next.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from agentleague.errors import IllegalMove, UnexpectedMessage
from agentleague.player.role import HookCall
from agentleague.protocol.printable import one_line_json
from agentleague.roles.effects import Turn
from agentleague.roles.ports import Cancel, Clock

NEWS_MAX, HOOKS_MAX = 50, 16  # Results among the hooks are taken at once.
MOVES_MAX = 16  # that are remembered
WAITS_MAX = 4  # at a time, of hosts that share a seat
LEGAL_SHOWN = 100  # legal moves in an error
SAME_SECONDS = 0.1  # by which two times that are meant to be the same may differ

Shown = dict[str, Any]
Done = Callable[[Any, str | None], None]
_encode = msgspec.json.Encoder().encode


class _OpenTurn(NamedTuple):
    id: str
    turn: Turn
    until: float
    done: Done
    attempt: int


class HostedPlayer:
    """Keeps turns and news for one host; the runner of its player's strategy.

    `hooks` are those of the player's role. `name_of` tells the names of players, `waits_for` what
    the whole league waits for, if anything.
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
        self._turns: dict[str, _OpenTurn] = {}  # by match
        self._asked: _OpenTurn | None = None  # the last of them, also when it is closed
        self._moves: dict[str, Any] = {}  # by turn, the newest last
        self._round: Mapping[str, Any] = {}
        self._table: Sequence[Mapping[str, Any]] = ()
        self._ended, self._has_left = "", False  # the last match that did, and it from the league
        self._over: Mapping[str, Any] | None = None  # the end of the league
        self._news: deque[Shown] = deque(maxlen=NEWS_MAX)
        self._number = self._told = self._told_before = 0  # of news
        self._waiting: dict[Callable[[], None], Cancel] = {}  # answers to hosts, and their timers

    # What the player does

    def run(self, turn: Turn, done: Done) -> None:
        """Keep the turn until somebody brings a move, which answers all attempts at it."""
        turn_id, until = f"{turn.match_id}.{turn.number}", self._clock.now() + turn.seconds_left
        attempt, former = 1, self._asked
        if former and former.id == turn_id:  # An attempt keeps its time if the move was unusable.
            attempt = former.attempt + (until > former.until + SAME_SECONDS)
        if turn.match_id in self._turns and self._turns[turn.match_id].id == turn_id:
            done = _both(done, self._turns[turn.match_id].done)  # No move would be an illegal one.
        else:
            self._close(turn.match_id)
        self._asked = _OpenTurn(turn_id, turn, until, done, attempt)
        self._turns[turn.match_id] = self._asked
        self._release_soon()
        if self._has_left:
            self._close(turn.match_id)

    def hear(self, sentence: str) -> None:
        """The player has something to say; what its role was told goes along."""
        self._tell(sentence, **self._take_in())
        self._release_soon()

    # What the host does

    def wait(self, seconds: float, seen: int | None, respond: Callable[[Shown], None]) -> None:
        """Show the turn or what is new, at once or when there is something; once, in any case."""
        self._take_in()
        start, known = (self._told_before, self._told) if seen is None else (seen, seen)
        if start > self._number:  # It counts what an earlier process told.
            start = known = 0

        def answer() -> None:
            respond(self._show(start))

        if self._number > known or self._over or self._current() or seconds <= 0:
            answer()
            return
        if len(self._waiting) >= WAITS_MAX:
            self._release(next(iter(self._waiting)))
        until = self._clock.now() + seconds
        self._waiting[answer] = self._clock.call_at(until, partial(self._release, answer))

    def release(self) -> None:
        """Let nobody wait any longer."""
        for answer in list(self._waiting):
            self._release(answer)

    def _release_soon(self) -> None:
        for answer in self._waiting:  # The role is busy now.
            self._clock.call_at(self._clock.now(), partial(self._release, answer))

    def _release(self, answer: Callable[[], None]) -> None:
        stop_timer = self._waiting.pop(answer, None)
        if stop_timer:
            stop_timer()
            self._take_in()
            answer()

    def leave(self) -> None:
        """Bring no move any more, so that nobody waits for one in vain."""
        self._has_left = True
        for match_id in list(self._turns):
            self._close(match_id)
        self.release()

    def submit(self, move: Any, turn_id: str = "") -> Shown:
        """Make this move; the turn stays open if it cannot be made.

        Raises IllegalMove, or UnexpectedMessage where no move is awaited.
        """
        current = self._current(turn_id)
        if current:
            turn_id, move = current.id, _chosen(move, current.turn.legal_moves)
            del self._turns[current.turn.match_id]
            self._moves[turn_id] = move
            if len(self._moves) > MOVES_MAX:
                del self._moves[next(iter(self._moves))]
            current.done(move, None)
        elif turn_id not in self._moves or _encode(self._moves[turn_id]) != _encode(move):
            raise UnexpectedMessage(f"{self._why_not_now(turn_id)}. Call wait_for_turn.")
        match_id = turn_id.rpartition(".")[0]  # Else its answer was lost.
        return {"accepted": True, "match_id": match_id, "turn_id": turn_id, "move": move}

    # What it knows

    @property
    def waiting_for(self) -> str:
        """What is waited for, in words."""
        own, match_id = self._round, self._round.get("match_id")
        if not own or self._waits_for():
            return self._waits_for() or "No match of yours has begun since the manager was started."
        if not match_id:
            return f"You have no match in round {own['round_id']}; the others play."
        if match_id == self._ended:
            return f"{match_id} is over for you; the others of round {own['round_id']} still play."
        played = [move for turn, move in self._moves.items() if turn.startswith(f"{match_id}.")]
        state = f"you played {one_line_json(played[-1])}" if played else "it begins"
        whom = f"{own['opponent_id']} {one_line_json(self._name_of(own['opponent_id']))}"
        return f"Round {own['round_id']}: you meet {whom} in {match_id}; {state}."

    def _current(self, turn_id: str = "") -> _OpenTurn | None:
        """The open turn that ends first, or the one of this id."""
        there = [each for each in self._turns.values() if turn_id in ("", each.id)]
        in_time = [each for each in there if each.until > self._clock.now()]
        return min(in_time, key=lambda each: each.until, default=None)

    def _close(self, match_id: str) -> None:
        former = self._turns.pop(match_id, None)
        if former:
            self._clock.call_at(self._clock.now(), partial(former.done, None, "no move came"))

    def _why_not_now(self, turn_id: str) -> str:
        if turn_id in self._moves:
            return f"turn_id: you played {one_line_json(self._moves[turn_id])} in that turn"
        if now := self._current():
            return f"turn_id: that turn is not open, but {now.id} is"
        is_over = turn_id.rpartition(".")[0] == self._ended != ""
        if is_over or any(turn_id in ("", each.id) for each in self._turns.values()):
            return "too late: the time for that move is over"
        if turn_id and not (self._moves or self._turns or self._ended or self._waits_for()):
            return "the manager was started again, and will ask for this move once more"
        return f"it is not your turn: {self.waiting_for.rstrip('.')}"

    def _take_in(self) -> Shown:
        """Note what the role was told; the result of a match if it was one."""
        result: Shown = {}
        while self.hooks:
            name, data = self.hooks.popleft()
            if name == "round":
                self._round = data
                own = [row for row in self._table if row["player_id"] == self.player_id]
                rank = [f" You are number {r['rank']}, with {r['points']} points." for r in own]
                self._tell("".join((self.waiting_for, *rank)), round=data["round_id"])
            elif name == "standings":
                self._table = data
            elif name == "league_end":
                self._over = data
            else:
                self._ended, told = data["match_id"], data["result"]
                self._close(self._ended)
                won = "won" if data["won"] else "lost"
                result = {key: data[key] for key in ("match_id", "round_id", "opponent_id")}
                result["result"] = "drawn" if told.get("status") == "DRAW" else won
                result["reason"] = told.get("reason")
        return result

    def _tell(self, sentence: str, **facts: Any) -> None:
        self._number += 1
        self._news.append({"number": self._number, "text": sentence, **facts})

    def _show(self, seen: int) -> Shown:
        news = [each for each in self._news if each["number"] > seen]
        self._told_before, self._told = self._told, self._number
        shown: Shown = {"status": "waiting", "waiting_for": self.waiting_for}
        if self._over is not None:
            rows = self._over.get("final_standings") or []
            own = next((row for row in rows if row["player_id"] == self.player_id), None)
            final = {"champion": self._over.get("champion"), "you": own, "players": len(rows)}
            shown = {"status": "league_over", "final": final}
        elif current := self._current():
            turn, whom = current.turn, current.turn.opponent_id
            shown = {
                "status": "your_turn",
                "turn_id": current.id,
                "match_id": turn.match_id,
                "round": turn.round_id,
                "you": turn.player_id,
                "opponent": {"player_id": whom, "name": self._name_of(whom)},
                "position": turn.position,
                "legal_moves": list(turn.legal_moves),
                "seconds_left": round(current.until - self._clock.now(), 1),
                "attempt": current.attempt,
            }
        elif any("result" in each for each in news):
            shown["status"] = "match_over"
        return {**shown, "news": news, "seen": self._number}


def _both(first: Done, second: Done) -> Done:
    def done(move: Any, error: str | None) -> None:
        first(move, error)
        second(move, error)

    return done


def _chosen(move: Any, legal: Sequence[Any]) -> Any:
    """The legal move that is meant; where none are listed, the game judges. Raises IllegalMove."""
    # Some hosts send every argument as text.
    spelled = {_encode(move), move.strip().encode() if isinstance(move, str) else b""}
    for each in legal:
        if _encode(each) in spelled:
            return each
    if not legal:
        return move
    listed = ", ".join(map(one_line_json, legal[:LEGAL_SHOWN]))
    raise IllegalMove(f"move: {one_line_json(move)} is not legal here; send one of {listed}")

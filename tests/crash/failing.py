"""Run one `league` command in this process, and kill it with SIGKILL at a named point, once.

    python failing.py FAILPOINT manager|referee|player ARGS...

A point is where the host releases an effect, so what a real crash can undo is exactly what is not
on disk there. The marker file CRASH_MARKER says that it has struck: the same command, run again,
goes through. CRASH_RULES are settings of the manager that have no option (JSON); while there is a
file CRASH_FULL its journal may not grow. A player writes what it is told into CRASH_TOLD and takes
CRASH_SECONDS for each move; while there is a file CRASH_HELD it makes none, and touches the
file "asked" beside it.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import msgspec

from agentleague.cli import main
from agentleague.player.role import Player
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameOver,
    GameOverAck,
    LeagueCompleted,
    LeagueRegisterResponse,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    RefereeRegisterResponse,
    RoundAnnouncement,
    RoundCompleted,
)
from agentleague.roles.effects import (
    Broadcast,
    Call,
    Drop,
    Effect,
    End,
    Record,
    Reply,
    RunStrategy,
    WakeAt,
)
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Answered, Told
from agentleague.runtime import plugins
from agentleague.runtime.host import Host
from agentleague.runtime.processes import Running
from agentleague.storage.sqlite import SqliteJournal


class Failpoint(NamedTuple):
    """Before an effect is released; or after it was, and answered, and nothing else went out.

    Of a broadcast one agent gets the messages before one of this kind, or up to it.
    """

    is_here: Callable[[Host, Any], bool]
    goes_out: bool = False
    kind: type = object


def answers(kind: type) -> Callable[[Host, Effect], bool]:
    return lambda host, effect: isinstance(effect, Reply) and isinstance(effect.answer, kind)


def sends(kind: type, *, goes_out: bool = False) -> Failpoint:
    def is_here(host: Host, effect: Effect) -> bool:
        if isinstance(effect, Broadcast):
            return any(part_of(letter, kind) is not None for _, letter in effect.letters)
        return isinstance(effect, Call) and isinstance(effect.message, kind)

    return Failpoint(is_here, goes_out, kind)


def part_of(letter: Any, kind: type, more: int = 0) -> Any:
    """The messages before one of this kind, and so many more."""
    kinds = [isinstance(message, kind) for message, _ in letter]
    return letter[: kinds.index(True) + more] if True in kinds else None


def cut(effect: Any, point: Failpoint) -> Any:
    """What of an effect goes out before the end; None: nothing."""
    if not isinstance(effect, Broadcast):
        return effect if point.goes_out else None
    parts = [(to, part_of(letter, point.kind, point.goes_out)) for to, letter in effect.letters]
    letters = [(to, part) for to, part in parts if part][:1]
    return msgspec.structs.replace(effect, letters=letters) if letters else None


def decides(host: Host, effect: Effect) -> bool:
    is_lock = isinstance(effect, Reply) and isinstance(effect.answer, LockResponse)
    return is_lock and bool(effect.answer.result)


def closes_the_round(host: Any, effect: Effect) -> bool:
    if not (isinstance(effect, Reply) and isinstance(effect.answer, MatchResultAck)):
        return False
    return bool(host.role.league.rounds_ended == effect.answer.round_id)


FAILPOINTS = {
    # of a manager
    "registration stored": Failpoint(answers(LeagueRegisterResponse)),
    "referee registration stored": Failpoint(answers(RefereeRegisterResponse)),
    "schedule written": sends(RoundAnnouncement),
    "announcement half sent": sends(RoundAnnouncement, goes_out=True),
    "locked but not answered": Failpoint(decides),
    "reported but not acknowledged": Failpoint(answers(MatchResultAck)),
    "last result of a round": Failpoint(closes_the_round),
    "standings but no ROUND_COMPLETED": sends(RoundCompleted),
    "ROUND_COMPLETED to one": sends(RoundCompleted, goes_out=True),
    "LEAGUE_COMPLETED to nobody": sends(LeagueCompleted),
    "LEAGUE_COMPLETED to one": sends(LeagueCompleted, goes_out=True),
    # of a referee
    "GAME_OVER to nobody": sends(GameOver),
    "GAME_OVER to one": sends(GameOver, goes_out=True),
    "not reported": sends(MatchResultReport),
    # of a player
    "joined but not moved": Failpoint(answers(ChooseParityResponse)),
    "told but not acknowledged": Failpoint(answers(GameOverAck)),
}
TOKEN_NOT_KEPT = "registered but the token not kept"  # of a referee or player


def die(marker: Path) -> None:
    marker.touch(exist_ok=False)
    os.kill(os.getpid(), signal.SIGKILL)


def fail_at(point: Failpoint, marker: Path) -> None:
    """From now on every effect is looked at before it is released, and what is said at once."""
    released = dict(Host._RELEASE)

    def release(host: Host, effect: Effect, *held: float) -> None:
        is_here = not marker.exists() and point.is_here(host, effect)
        part = cut(effect, point) if is_here else effect
        if part is None:
            die(marker)
        released[type(effect)](host, part, *held)
        if is_here:
            freeze(effect, marker)

    for kind in (Record, Reply, Call, Broadcast, Drop, WakeAt, RunStrategy, End):
        Host._RELEASE[kind] = release
    answer_at_once = Player.answer

    def answer(player: Player, *asked: Any) -> Any:
        said = answer_at_once(player, *asked)
        if not marker.exists() and point.is_here(Any, Reply(0, said)):
            die(marker)
        return said

    Player.answer = answer  # type: ignore[method-assign]


def freeze(effect: Any, marker: Path) -> None:
    """Nothing goes out any more, and the answer to this one call is the end."""

    def feed(host: Host, stimulus: Any) -> None:
        if isinstance(stimulus, Answered | Told) and stimulus.key == effect.key:
            die(marker)

    Host.feed = feed  # type: ignore[method-assign]
    for kind in Host._RELEASE:
        Host._RELEASE[kind] = lambda host, other, *held: None


def fail_before_the_token_is_kept(marker: Path) -> None:
    keep = Running._keep

    def keep_or_die(running: Running, role: Any) -> None:
        if not marker.exists():
            die(marker)
        keep(running, role)

    Running._keep = keep_or_die  # type: ignore[method-assign]


def write_down(path: Path) -> None:
    """What a player is told goes into a file before it answers."""
    Player.RESPONSES[GameOver] = _noting(path, Player.RESPONSES[GameOver])
    Player._take_in = _noting(path, Player._take_in)  # type: ignore[method-assign]


def _noting(path: Path, take_in: Callable[..., Any]) -> Callable[..., Any]:
    def heard(player: Player, message: Any, *more: Any) -> Any:
        answer = take_in(player, message, *more)
        if isinstance(message, GameOver | RoundCompleted):
            with path.open("ab", buffering=0) as file:
                file.write(msgspec.json.encode(message) + b"\n")
        return answer

    return heard


def take_time(seconds: float, held: Path) -> None:
    load = plugins.load_strategy

    def slowly(name: str) -> Any:
        strategy = load(name)

        def move(turn: Any) -> Any:
            Event().wait(seconds)
            while held.exists():
                held.with_name("asked").touch()
                Event().wait(0.05)
            return strategy(turn)

        return move

    plugins.load_strategy = slowly


def set_rules(rules: dict[str, Any]) -> None:
    """What a league file would say."""
    begin = ManagerSettings.__init__

    def init(self: ManagerSettings, **given: Any) -> None:
        begin(self, **{**given, **rules})

    ManagerSettings.__init__ = init  # type: ignore[method-assign]


def fill_while(path: Path) -> None:
    """While the file is there SQLite gets no more pages than it has."""
    insert = SqliteJournal._insert

    def insert_if_there_is_room(journal: SqliteJournal, *given: Any) -> bool:
        journal.pages_max = 1 if path.exists() else 1_000_000
        return insert(journal, *given)

    SqliteJournal._insert = insert_if_there_is_room  # type: ignore[method-assign]


def prepare(failpoint: str, role: str) -> None:
    marker = Path(os.environ["CRASH_MARKER"])
    set_rules(json.loads(os.environ["CRASH_RULES"]))
    fill_while(Path(os.environ["CRASH_FULL"]))
    if role == "player":
        write_down(Path(os.environ["CRASH_TOLD"]))
        take_time(float(os.environ["CRASH_SECONDS"]), Path(os.environ["CRASH_HELD"]))
    if failpoint == TOKEN_NOT_KEPT:
        fail_before_the_token_is_kept(marker)
    elif failpoint != "none":
        fail_at(FAILPOINTS[failpoint], marker)


if __name__ == "__main__":
    _, failpoint, *sys.argv[1:] = sys.argv
    prepare(failpoint, sys.argv[1])
    main()

"""Finds out what an agent is: by what it says of itself, what it registers as, or what it takes."""

from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from agentleague.conformance.bench import Bench, Fields
from agentleague.conformance.exchange import Answer
from agentleague.conformance.launch import Launch
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Listener, Reply
from agentleague.conformance.peer import Peer
from agentleague.conformance.target import (
    POLL_SECONDS,
    REGISTERS,
    Target,
    Unreachable,
    free_port,
    no_way_to,
    nobody_came,
    open_manager,
    refuse_ended,
    start,
)
from agentleague.dialects.answers import read_answer
from agentleague.dialects.table import DIALECTS
from agentleague.errors import LeagueError
from agentleague.protocol import jsonrpc
from agentleague.protocol.codec import encode
from agentleague.protocol.messages import MESSAGES, GameJoinAck, Message
from agentleague.runtime.clock import stopwatch

KINDS = ("player", "manager", "referee")
FORMS = ("tool", "type", "message", "bare", "mcp")
STARTS = ("notify_round", "start_match", "start_game", "assign_match", "run_match")
UNKNOWN_METHOD = -32601
NO_METHOD = "no_such_method"
NO_PAGE = (404, 405, 501)  # what web servers say to a POST that they have no use for
MANAGER = "league_manager"
SAY_IT = "say what it is: league check player, manager or referee"


def identify(target: Target, limits: Limits) -> str:
    """`player`, `manager` or `referee`. Raises Unreachable if nobody can tell."""
    if not target.command:
        return _kind_at(target.url, limits)
    with TemporaryDirectory(prefix="league-check-", ignore_cleanup_errors=True) as folder:
        return _kind_of_command(target, limits, folder)


def _kind_of_command(target: Target, limits: Limits, folder: str) -> str:
    try:
        manager = open_manager(target, lambda _: Reply(is_never=True))
    except Unreachable as error:
        raise Unreachable(f"{error}; if the agent is a manager, {SAY_IT}") from None
    launch = None
    try:
        port = free_port(target.bind)
        places = {"manager": manager.url, "port": str(port), "dir": folder}
        places |= {"players": str(target.players), "referees": "1"}
        launch = start(target, limits, places)
        host = f"[{target.bind}]" if ":" in target.bind else target.bind
        url = target.url or f"http://{host}:{port}/mcp"
        kind = _wait(manager, url, launch, limits)
        if not kind and launch and not Peer(url, limits).is_listening():
            raise Unreachable(nobody_came(target, limits, launch, manager.url))
        return kind or _kind_at(url, limits)
    finally:
        if launch:
            launch.close()
        manager.close()


def _wait(manager: Listener, url: str, launch: Launch | None, limits: Limits) -> str:
    """What it registers as, or is at its port; empty if nothing of it happens."""
    until, is_asked = stopwatch() + limits.start, False
    while stopwatch() < until:
        registered = next((x for x in manager.received if x.name in REGISTERS), None)
        if registered:
            return REGISTERS[registered.name]
        refuse_ended(launch, f"if it is a manager, {SAY_IT}")
        if not is_asked and Peer(url, limits).is_listening():
            is_asked = True
            if kind := _kind(url, limits):
                return kind
        manager.wait_for(lambda each: each.name in REGISTERS, POLL_SECONDS)
    return ""


def _kind_at(url: str, limits: Limits) -> str:
    bench, said = _reached(url, limits)
    kind = said or _kind(url, limits)
    if not kind:
        _refuse_wrong_path(bench)
        raise Unreachable(f"what listens at {url} takes nothing that shows its kind; {SAY_IT}")
    return kind


def expect(kind: str, url: str, limits: Limits) -> None:
    """Raise Unreachable if no agent of this kind can be there; in doubt it can."""
    bench, said = _reached(url, limits)
    found = said or _other_kind(bench, kind)
    if found and found != kind:
        raise Unreachable(f"that is a {found}; type: league check {found} {url}")
    _refuse_wrong_path(bench)
    bench.refuse_silence()


def _reached(url: str, limits: Limits) -> tuple[Bench, str]:
    """What to ask it through, and what it calls itself. Raises Unreachable if it never answers."""
    if problem := no_way_to(url, limits):
        raise Unreachable(problem)
    bench = Bench(Peer(url, limits), limits)
    answer = bench.peer.request("GET", "/health", {}, seconds=limits.connect)
    if answer.status is None:
        _refuse_silent(bench)
    return bench, _role_in(answer)


def _role_in(answer: Answer) -> str:
    said = (answer.fields() or {}).get("role")
    return str(said) if said in KINDS else ""


def _refuse_silent(bench: Bench) -> None:
    """Raise Unreachable if it takes connections, and answers nothing whatever it is asked."""
    bodies = [encode(bench.request(each)) for each in (_invitation(bench), _query(bench))]
    bodies.append(encode(bench.request({}, method=NO_METHOD)))
    with ThreadPoolExecutor(len(bodies)) as pool:
        seconds = bench.limits.join
        answers = list(pool.map(lambda body: bench.peer.post(body, seconds=seconds), bodies))
    if all(each.status is None and each.is_late for each in answers):
        raise Unreachable(f"somebody listens at {bench.peer.url}, but never answers")
    if all(each.problem.startswith("what came is no HTTP") for each in answers):
        raise Unreachable(f"what listens at {bench.peer.url} speaks no HTTP")


def _refuse_wrong_path(bench: Bench) -> None:
    """Raise Unreachable if whatever is sent there is answered as web servers do elsewhere."""
    path, usual = bench.peer.path, "/mcp"
    status = _no_page(bench, path)
    if status is None:
        return
    is_better = path != usual and _no_page(bench, usual) is None
    hint = f"did you mean {usual}?" if is_better else "is that an agent, and is its path right?"
    raise Unreachable(f"HTTP {status} at {path}; {hint}")


def _no_page(bench: Bench, path: str) -> int | None:
    """With what HTTP status nothing is taken there; None if something may be."""
    message: dict[str, Any] = {"message_type": NO_METHOD}
    status = None
    for each in (message, _invitation(bench), _query(bench)):
        for body in (bench.request(each), each):  # in JSON-RPC, and without
            status = bench.post("", body, path=path, seconds=bench.limits.join).status
            if status not in NO_PAGE:
                return None
    return status


def _other_kind(bench: Bench, kind: str) -> str:
    """What it shows itself to be in place of this kind; empty if it is that, or in doubt."""
    if _is_manager(bench):
        return "manager" if kind != "manager" and not _is_player(bench) else ""
    return "player" if kind != "player" and _is_player(bench) else ""


def _kind(url: str, limits: Limits) -> str:
    bench = Bench(Peer(url, limits), limits)
    if said := _role_in(bench.peer.get("/health")):
        return said
    for form in FORMS:
        bench.dialect = DIALECTS[form]
        if _is_player(bench):
            return "player"
        if _is_manager(bench):
            return "manager"
    return "referee" if _is_referee(bench) else ""


def _invitation(bench: Bench) -> Fields:
    return bench.message(
        "GAME_INVITATION",
        sender="referee:REF01",
        league_id="league_check",
        round_id=1,
        match_id="R1M1",
        game_type="even_odd",
        player_id="P01",
        opponent_id="P02",
        role_in_match="PLAYER_A",
    )


def _query(bench: Bench) -> Fields:
    asked = {"query_type": "GET_STANDINGS", "query_params": {}}
    return bench.message("LEAGUE_QUERY", sender="player:P01", **asked)


def _is_player(bench: Bench) -> bool:
    message = _invitation(bench)
    found = _read(message, _asked(bench, message))
    return isinstance(found, GameJoinAck) and found.accept is not False


def _is_manager(bench: Bench) -> bool:
    message = _query(bench)
    answer = _asked(bench, message)
    fields = msgspec.to_builtins(_read(message, answer)) or {}
    said = [answer.result, (answer.error or {}).get("data"), answer.fields()]
    if MANAGER in [each.get("sender") for each in said if isinstance(each, dict)]:
        return True
    return isinstance((fields.get("data") or fields).get("standings"), list)


def _is_referee(bench: Bench) -> bool:
    """It knows a method by which matches are started, and not any method at all."""
    return _refuses(bench, NO_METHOD) and not all(_refuses(bench, x) for x in STARTS)


def _refuses(bench: Bench, method: str) -> bool:
    """Whether it says that it does not know the method, or says nothing."""
    answer = bench.post(method, bench.request({"matches": []}, method=method))
    return answer.status != 200 or (answer.error or {}).get("code") == UNKNOWN_METHOD


def _asked(bench: Bench, message: Fields) -> Answer:
    bench.refuse_silence()
    return bench.ask(message, seconds=bench.limits.join)


def _read(message: Fields, answer: Answer) -> Message | None:
    """What it answered to a message; None if that is nothing."""
    if answer.status is None or answer.error is not None:
        return None
    try:
        asked = msgspec.convert(message, MESSAGES[message["message_type"]].cls)
        return read_answer(asked, answer.status, answer.body)
    except (LeagueError, *jsonrpc.UNREADABLE):
        return None

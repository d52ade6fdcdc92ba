"""Finds out what an agent is: by what it says of itself, what it registers as, or what it takes."""

from typing import Any

import msgspec

from agentleague.conformance.bench import Bench, Fields
from agentleague.conformance.exchange import NO_REDIRECT, Answer
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Reply
from agentleague.conformance.peer import Peer
from agentleague.conformance.registering import RegisteringBench
from agentleague.conformance.target import REGISTERS, Target, Unreachable, no_way_to
from agentleague.dialects.table import DIALECTS
from agentleague.protocol.messages import GameJoinAck

KINDS = ("player", "manager", "referee")
FORMS = ("tool", "type", "message", "bare", "mcp")
STARTS = ("notify_round", "start_match", "start_game", "assign_match", "run_match")
UNKNOWN_METHOD = -32601
NO_METHOD = "no_such_method"
MATCH = {"match_id": "R900M1", "game_type": "even_odd"}  # no other of the kit's has its id
NO_PAGE = (301, 302, 303, 307, 308, 404, 405, 501)  # of a web server that has no use for a POST
MANAGER = "league_manager"
SAY_IT = "say what it is: league check player, manager or referee"


def identify(target: Target, limits: Limits) -> str:
    """`player`, `manager` or `referee`. Raises Unreachable if nobody can tell."""
    return _kind_of_command(target, limits) if target.command else _kind_at(target.url, limits)


def _kind_of_command(target: Target, limits: Limits) -> str:
    try:
        bench = _Newcomer(target, limits, lambda _: Reply(is_never=True))
    except Unreachable as error:
        separator = "\n" if "\n" in str(error) else "; "
        raise Unreachable(f"{error}{separator}if it is a manager, {SAY_IT}") from None
    try:
        names = [each.name for each in bench.manager.received if each.name in REGISTERS]
        return REGISTERS[names[0]] if names else _kind_at(bench.peer.url, limits)
    finally:
        bench.close()


class _Newcomer(RegisteringBench):
    """An agent of any kind, which may listen only when its registration is answered."""

    needs_to_listen = False


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
    answers = [_asked(bench, each) for each in (_query(bench), _invitation(bench), _query(bench))]
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
    hint = NO_REDIRECT if status < 400 else hint
    raise Unreachable(f"HTTP {status} at {path}; {hint}")


def _no_page(bench: Bench, path: str) -> int | None:
    """With what HTTP status nothing is taken there; None if something may be."""
    status = None
    for form in ("tool", "bare"):
        bench.dialect = DIALECTS[form]
        for message in (_query(bench), _invitation(bench)):
            status = _asked(bench, message, path=path).status
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
        bench.speak(DIALECTS[form])
        if _is_player(bench):
            return "player"
        if _is_manager(bench):
            return "manager"
    return "referee" if _is_referee(bench) else ""


def _query(bench: Bench) -> Fields:
    asked = {"query_type": "GET_STANDINGS", "query_params": {}}
    return bench.message("LEAGUE_QUERY", sender="player:P01", **asked)


def _invitation(bench: Bench) -> Fields:
    return bench.message(
        "GAME_INVITATION",
        sender="referee:REF01",
        league_id="league_check",
        round_id=1,
        player_id="P01",
        opponent_id="P02",
        role_in_match="PLAYER_A",
        **MATCH,
    )


def _is_player(bench: Bench) -> bool:
    message = _invitation(bench)
    found = bench.read(message, _asked(bench, message))
    return isinstance(found, GameJoinAck) and found.accept is not False


def _is_manager(bench: Bench) -> bool:
    message = _query(bench)
    answer = _asked(bench, message)
    fields = msgspec.to_builtins(bench.read(message, answer)) or {}
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


def _asked(bench: Bench, message: Fields, **how: Any) -> Answer:
    """What it answers; a match to which it was invited is over then."""
    bench.refuse_silence()
    answer = bench.ask(message, seconds=bench.limits.join, **how)
    if "role_in_match" in message and answer.status == 200 and answer.error is None:
        told = {"player_id": "P01", "game_result": {"status": "DRAW", "winner_player_id": None}}
        over = bench.message("GAME_OVER", sender=message["sender"], **MATCH | told)
        bench.ask(over, seconds=bench.limits.game_over, **how)
    return answer

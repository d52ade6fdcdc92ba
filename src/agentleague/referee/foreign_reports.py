"""Reports to a foreign manager: told as it wants them, and never again what it may have counted.

What the manager answers decides what follows:

    taken           any answer that is no refusal; what was taken is tried first from there on
    not understood  unknown method, wrong fields (HTTP 404, 422, -32601, -32602, …): it has counted
                    nothing, and is told in the next form (`dialects/negotiation.py`)
    draw refused    it knows the form and refuses the winner of a draw, or refuses a draw in every
                    form: it has counted nothing, and is told null, then "", then "DRAW"
    broken          HTTP 500, -32603, an error in words of its own: it may have counted, and then
                    failed. It is asked about the match (GET_MATCH, GET_SCHEDULE). Only if it says
                    that there is no result yet is it told again: a draw with another winner, and
                    last with the documented fields alone. Otherwise it is not told again.
    silent          nothing came: the match repeats its report, as the documents want it
"""

from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agentleague.dialects import negotiation
from agentleague.dialects.results import OPEN, RUNNING, is_open
from agentleague.dialects.table import PLAIN, base_of
from agentleague.errors import PeerRefused
from agentleague.protocol.messages import LeagueQueryResponse, MatchResultAck
from agentleague.referee.manager_queries import ManagerQueries
from agentleague.roles.effects import Call
from agentleague.roles.stimuli import Answered

# Queries that may say that a match has no result yet, by one of these statuses; those of a schedule
# may never change.
QUERIES = (("GET_MATCH", OPEN), ("GET_SCHEDULE", RUNNING))
REFUSED = frozenset({"REJECTED", "REFUSED", "INVALID"})  # statuses of an answer to a report
BROKEN = frozenset({"ERROR", "FAILED"})


class OpenQuery(Struct, frozen=True):
    """The key of a question to the manager: has this match no result yet?"""

    match_id: str
    attempt: int


class ReportForm(NamedTuple):
    """How a report is written."""

    draw: str | None = None  # the winner of a draw
    is_plain: bool = False  # with the documented fields alone


FORMS = (ReportForm(), ReportForm(""), ReportForm("DRAW"), ReportForm(is_plain=True))


class Told(Struct):
    """The report of a match, in which forms it was told, and what was said to it last."""

    call: Call
    tried: list[ReportForm]
    said: str = ""


class ForeignReports:
    """The reports of one referee at a foreign manager."""

    def __init__(self, queries: ManagerQueries) -> None:
        self._queries = queries
        self._best = FORMS[0]  # the form that was taken last
        self._told: dict[str, Told] = {}  # by match

    def tell(self, call: Call) -> Call:
        """The report of a match as the manager wants it, as far as that is known."""
        report: Any = call.message
        self._told[report.match_id] = Told(call, [self._best])
        return self._write(call, self._best)

    def forget(self, match_id: str) -> None:
        """The match is closed."""
        self._told.pop(match_id, None)

    def answered(self, answer: Answered, now: float) -> list[Call] | None:
        """What to tell or to ask next; nothing: that was all. None: it is taken, or waited for."""
        key: Any = answer.key
        told = self._told[key.match_id]
        if isinstance(key, OpenQuery):
            return self._query_answered(key, answer, now)
        error, status = answer.error, _status(answer)
        told.said = str(error.context.get("said") or error) if error else status
        if negotiation.may_have_counted(error) or status in BROKEN:
            return [self._query(key.match_id, 1, now)]
        report = self._write(told.call, told.tried[-1]).message
        problem = negotiation.misunderstanding(report, error)
        if problem == negotiation.UNFIT or negotiation.is_draw_refused(report, error):
            return self._again(key.match_id, FORMS[:3], now)
        if status in REFUSED:
            return self._again(key.match_id, FORMS[:3], now) or None
        if answer.message:
            self._best = told.tried[-1]
        return [] if problem else None

    def objection(self, answer: Answered, *, is_over: bool) -> str:
        """What the manager has against a report that it is not told again; empty: nothing."""
        key, error = answer.key, answer.error
        if isinstance(key, OpenQuery):
            return (
                f"the manager answered its report: {self._told[key.match_id].said}; it may count "
                "all the same, so it is not reported again"
            )
        if _status(answer) in REFUSED:
            return f"the manager answered its report: {_status(answer)}"
        if not is_over and not isinstance(error, PeerRefused):
            return ""
        more = f"; {error.context['tried']}" if error and "tried" in error.context else ""
        return f"its report was not taken: {error}{more}"

    def _query_answered(self, key: OpenQuery, answer: Answered, now: float) -> list[Call]:
        data = answer.message.data if isinstance(answer.message, LeagueQueryResponse) else None
        if is_open(key.match_id, data, QUERIES[key.attempt - 1][1]):
            return self._again(key.match_id, FORMS, now)
        is_last = key.attempt == len(QUERIES)
        return [] if is_last else [self._query(key.match_id, key.attempt + 1, now)]

    def _query(self, match_id: str, attempt: int, now: float) -> Call:
        key, params = OpenQuery(match_id, attempt), {"match_id": match_id}
        return self._queries.call(key, QUERIES[attempt - 1][0], params, now)

    def _again(self, match_id: str, forms: tuple[ReportForm, ...], now: float) -> list[Call]:
        """The report in the next of these forms that writes it otherwise, if there is one."""
        told = self._told[match_id]
        written = [self._write(told.call, form) for form in told.tried]
        for form in forms:
            again = self._write(told.call, form)
            if again not in written:
                told.tried.append(form)
                return [replace(again, until=now + self._queries.reply_seconds)]
        return []

    def _write(self, call: Call, form: ReportForm) -> Call:
        report: Any = call.message
        result = report.result
        if result.winner is None and form.draw is not None:
            winner = form.draw if result.details.status == "DRAW" else ""  # Else both have lost.
            report = replace(report, result=replace(result, winner=winner))
        to = self._queries.manager
        if form.is_plain:
            to = replace(to, dialect=base_of(to.dialect) + PLAIN)
        return replace(call, message=report, to=to)


def _status(answer: Answered) -> str:
    ack = answer.message
    return ack.status.upper() if isinstance(ack, MatchResultAck) else ""

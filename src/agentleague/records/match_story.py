"""How one match went, line by line, by the facts of GET_MATCH and, of a journal, assignments."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.dialects.complaints import read_note
from agentleague.errors import UNREACHABLE, LeagueError, MatchMismatch
from agentleague.league import queries_matches
from agentleague.league.events import MatchAssigned
from agentleague.league.league import League
from agentleague.league.match_result import STAND
from agentleague.protocol.messages import Exchange, GameResult
from agentleague.protocol.printable import one_line, one_line_json, printable, there_are
from agentleague.records import explanations
from agentleague.records.explanations import NULL_MOVE, Cause, advice, blamed, explained
from agentleague.roles.effects import Event

TRIED = "tried "  # how a note of earlier versions began: in which forms a player was asked
NOTE_MAX = 240  # characters of what is noted of an answer
DETAIL_MAX = 400  # characters of each detail that a game adds to its result


class Contact(Exchange, frozen=True, array_like=False):
    """One question to a player and its answer, with the names of its fields."""


class Assignment(Struct):
    """A match was given to a referee again."""

    epoch: int
    referee_id: str
    why: str = ""


class Draw(Struct):
    """The moves, None where they are too long, and the seed of the numbers."""

    moves: list[tuple[int, str, Any]] | None = None
    seed: str = ""


class Result(GameResult, frozen=True):
    """A result as GET_MATCH has it: without choices that are too long."""

    choices: Any = None


class Ending(Struct, frozen=True):
    """Why, by which rules, and a sentence of advice for each loser."""

    sentence: str
    rules: list[str]
    advice: list[str]


class OrganisersRuling(Struct):
    """The organiser's ruling on a match."""

    verdict: str
    words: str = ""
    reason: str = ""
    winner_player_id: str | None = None


class Facts(Struct):
    """What is known of a match so far."""

    match_id: str
    round_id: int
    game_type: str
    player_A_id: str
    player_A_name: str
    player_B_id: str
    player_B_name: str
    league_id: str = ""
    game_options: dict[str, Any] = {}
    state: str | None = None
    referee_id: str = ""
    referee_name: str = ""
    referees: list[str] = []
    closed: bool = False
    disputes: list[dict[str, str]] = []
    disputed: bool = False
    ruling: OrganisersRuling | None = None
    locks: int = 0
    draw_generation: int = 0
    drawn_anew: bool = False
    result: Result | None = None
    forfeits: list[tuple[str, str]] = []
    verified: bool = True
    unconfirmed: bool = False
    draw: Draw | None = None
    told: str = ""
    transcript: list[Contact] = []
    transcript_left_out: int = 0
    assignments: list[Assignment] = []
    awaited: str = ""  # how long its foreign referee still has, and what happens then

    @property
    def overruled(self) -> OrganisersRuling | None:
        """The ruling that counts in place of the result."""
        return self.ruling if self.ruling and self.ruling.verdict != STAND else None

    def name(self, player_id: str) -> str:
        """A player by name and id."""
        names = {self.player_A_id: self.player_A_name, self.player_B_id: self.player_B_name}
        return named(names.get(player_id, "somebody"), player_id)


def named(name: str, player_id: str) -> str:
    """A player by name and id; a name that others have too ends with the id already."""
    return one_line(name if name.endswith(f"({player_id})") else f"{name} ({player_id})")


def facts_of(league: League, match_id: str, events: Iterable[Event] = ()) -> dict[str, Any]:
    """A match as GET_MATCH has it, in one piece; `events` say why it was given out again."""
    if not league.has_started:
        raise MatchMismatch("the league has not begun: there are no matches yet")
    try:
        facts = queries_matches.match(league, {"match_id": match_id}, None)["match"]
    except MatchMismatch:
        raise MatchMismatch(_unknown(league, match_id)) from None
    record = league.matches.get(match_id)
    if record and record.decided:
        facts["draw"]["moves"] = [list(move) for move in record.decided.moves]
    if record and record.closing:
        facts["transcript"] = list(map(queries_matches.exchange, record.closing.exchanges))
    facts["assignments"] = [
        {"epoch": event.epoch, "referee_id": event.referee_id, "why": event.why}
        for event in events
        if isinstance(event, MatchAssigned) and event.match_id == match_id
    ]
    return with_ending(facts)


class MatchAnswer(Struct):
    """The `data` of a manager's answer to GET_MATCH."""

    match: dict[str, Any]
    total: int = 0  # rows of its transcript


def read_answer(data: Any) -> MatchAnswer:
    """A manager's answer to GET_MATCH."""
    try:
        return msgspec.convert(data, MatchAnswer)
    except msgspec.ValidationError as error:
        raise LeagueError(
            f"the manager's answer has no match ({error}); use --dir with its journal"
        ) from None


def with_ending(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts, and `ending`: why the match ended so, by which rules, what would have helped."""
    ending = ending_of(read(facts))
    return {**facts, "ending": msgspec.to_builtins(ending) if ending else None}


def in_words(
    facts: Mapping[str, Any], *, in_full: bool = False, board: Sequence[str] = ()
) -> list[str]:
    """A match for people, a line an exchange; `in_full` with rules, and the forms of questions."""
    return [printable(line.replace("\n", "?")) for line in _lines(read(facts), in_full, board)]


def read(facts: Mapping[str, Any]) -> Facts:
    """The facts of GET_MATCH. Raises LeagueError if they are none."""
    try:
        return msgspec.convert(dict(facts), Facts)
    except msgspec.ValidationError as error:
        raise LeagueError(f"these are no facts of a match: {error}") from None


def _lines(facts: Facts, in_full: bool, board: Sequence[str]) -> Iterator[str]:
    players = f"{facts.name(facts.player_A_id)} against {facts.name(facts.player_B_id)}"
    yield f"{facts.match_id} of round {facts.round_id}, {facts.game_type}: {players}."
    if facts.state is None:
        yield "It has not begun: its round comes later."
        return
    yield from _referees(facts)
    if facts.transcript or not facts.closed:
        yield from (_exchange(facts, contact, in_full) for contact in facts.transcript)
    else:
        yield "What was said to whom was not kept, only the moves."
        for turn, player_id, move in (facts.draw and facts.draw.moves) or ():
            yield f"  turn {turn + 1}  {facts.name(player_id)}: {one_line_json(move)}"
    if facts.transcript_left_out:
        yield f"  ... and {facts.transcript_left_out} exchanges more, which were not kept."
    yield from _draw(facts)
    yield from _game_details(facts, board)
    if facts.told == "manager":
        yield "No referee was left to tell the players the result; the manager did."
    yield from _doubts(facts)
    yield _last(facts, in_full)
    if facts.ruling:
        yield _ruling(facts.ruling)


def _doubts(facts: Facts) -> Iterator[str]:
    if facts.unconfirmed:
        referee_id = one_line(facts.referee_id)
        yield f"Unconfirmed: it is the word of {referee_id} alone, for which nobody vouches."
    for dispute in facts.disputes:
        yield f"Disputed: {one_line(dispute.get('words', ''))}."
    if (facts.disputed or facts.unconfirmed) and facts.result:
        command = f"league rule {quote(facts.match_id)}"
        yield f"The result stands until the organiser rules: {command} ..."


def _referees(facts: Facts) -> Iterator[str]:
    last = facts.referee_id
    named = f"{facts.referee_name} ({last})" if facts.referee_name else last
    is_first = not facts.referees or facts.referees[0] == last
    before = "" if is_first else f"; {one_line(facts.referees[0])} had it first"
    yield f"Referee: {one_line(named)}{before}."
    later = facts.assignments or [
        Assignment(epoch, referee_id) for epoch, referee_id in enumerate(facts.referees[1:], 2)
    ]
    for assignment in later:
        because = REASSIGNED.get(assignment.why, assignment.why)
        why = f" because {one_line(because)}" if because else ""
        yield f"Given to {one_line(assignment.referee_id)}{why} (epoch {assignment.epoch})."


HARMLESS = {
    "late": "it counts until the phase ends",
    "in it already": "it counts as joined",
    "dropped": "nothing came of it",
}
REASSIGNED = {UNREACHABLE: "the referee before reached neither player"}


def _exchange(facts: Facts, contact: Contact, in_full: bool) -> str:
    asked = one_line(contact.message, 64)
    attempt = f", attempt {contact.attempt}" if contact.attempt > 1 else ""
    move = "" if contact.move is None else f" {one_line_json(contact.move)},"
    verdict = one_line(contact.verdict, 64)
    cause = cause_of(contact) if is_failure(contact) else None
    why = cause.came if cause else HARMLESS.get(contact.verdict)
    forms = ", ".join(read_note(contact.note)[1])
    odd = f"asked as {forms}" if forms else contact.note
    shown = ("as ", *((TRIED, "asked as ") if in_full else ()))
    note = f" ({one_line(odd, NOTE_MAX)})" if odd.startswith(shown) else ""
    verdict += f" ({why})" if why else ""
    after = "" if contact.answered_after is None else f" after {contact.answered_after} ms"
    who = facts.name(contact.player_id)
    return f"{contact.at / 1000:9.3f} s  {who}  {asked}{attempt}:{move} {verdict}{after}{note}"


def cause_of(contact: Contact) -> Cause | None:
    """What came instead of a good answer."""
    return explained(_verdict(contact), contact.note)


def _verdict(contact: Contact) -> str:
    return explanations.detailed(contact.verdict, contact.message, contact.move, contact.note)


def _draw(facts: Facts) -> Iterator[str]:
    if facts.drawn_anew:
        yield (
            "The manager had lost rows of its journal: the match was drawn anew (generation "
            f"{facts.draw_generation}), and what was told of it before does not count."
        )
    if facts.result is None or facts.result.drawn_number is None:
        if facts.locks:
            yield f"Numbers drawn on the way, each from seed and moves: {facts.locks}."
        return
    parity = f" ({facts.result.number_parity})" if facts.result.number_parity else ""
    number = f"{facts.result.drawn_number}{parity}"
    if facts.verified:
        yield f"The number {number} was drawn from the sealed seed and these moves."
    else:
        yield f"The number was {number}, says the referee; it was not drawn by the league."


def _game_details(facts: Facts, board: Sequence[str]) -> Iterator[str]:
    details = (facts.result and facts.result.game_details) or {}
    if details or board:
        yield "At the end, by the game:"
    yield from (f"  {line}" for line in board)
    for name, value in details.items():
        yield f"  {one_line(name, 64)}: {one_line(json.dumps(value), DETAIL_MAX)}"


def ending_of(facts: Facts) -> Ending | None:
    """How a match ended; None without a result."""
    result = facts.result
    if result is None:
        return None
    reason = one_line(result.reason, 500)
    game = explanations.GAMES.get(facts.game_type, explanations.OTHER_GAME)
    if result.no_contest:
        return Ending(f"It counts for neither player: {reason}", ["R-LEASE-05"], [])
    if not facts.verified:
        believed = "as its referee reported it; the league could not check that"
        return Ending(f"{_won(facts, result)}, {believed}", ["R-LEAGUE-12"], [])
    players = (facts.player_A_id, facts.player_B_id)
    losers = [each for each in players if each != result.winner_player_id]
    if result.status == "TECHNICAL_LOSS":
        return _forfeited(facts, losers, reason)
    lucky = [
        f"{facts.name(each)} {game.luck}."
        for each in losers
        if result.status != "DRAW" and game.luck
    ]
    how = reason.removeprefix(f"{result.winner_player_id} won ")
    return Ending(f"{_won(facts, result)}: {how}", [game.ends], lucky)


def _forfeited(facts: Facts, losers: Iterable[str], reason: str) -> Ending:
    causes = dict(facts.forfeits)
    last = {
        each.player_id: (_verdict(each), each.note) for each in facts.transcript if is_failure(each)
    }
    failed = {each: (causes[each], *last.get(each, ("", ""))) for each in losers if each in causes}
    helps = [f"{facts.name(each)} {advice(*trouble)}." for each, trouble in failed.items()]
    if {blamed(cause, verdict) for cause, verdict, _ in failed.values()} == {NULL_MOVE}:
        reason = "no move was sent, only null"
    lost = " and ".join(map(facts.name, failed))
    return Ending(f"{lost} lost without a game (technical loss): {reason}", ["R-MATCH-07"], helps)


def _won(facts: Facts, result: Result) -> str:
    if result.winner_player_id is not None:
        return f"{facts.name(result.winner_player_id)} won"
    return "Nobody won" if result.status == "TECHNICAL_LOSS" else "A draw"


def is_failure(contact: Contact) -> bool:
    """Whether no good answer came; some of these do no harm."""
    return contact.verdict not in ("ok", "late", "pushed", "in it already")


def _last(facts: Facts, in_full: bool) -> str:
    ending = ending_of(facts)
    if ending is None:
        more = f" I{one_line(facts.awaited)[1:]}." if facts.awaited else ""
        if facts.awaited.startswith(("it waits for another referee", "it begins in ")):
            return f"There is no result yet.{more}"
        return f"It is being played: {facts.referee_id} has it, and there is no result yet.{more}"
    if facts.overruled:  # Neither rule nor advice counts any more.
        return f"{ending.sentence}."
    rules = f" ({', '.join(ending.rules)})" if ending.rules and in_full else ""
    return " ".join([f"{ending.sentence}{rules}.", *ending.advice])


def _ruling(ruling: OrganisersRuling) -> str:
    words = one_line(ruling.words, 500)
    counts = "" if ruling.verdict == STAND else "; that counts in the table, not the result above"
    return f"{words[:1].upper()}{words[1:]}{counts}."


def _unknown(league: League, match_id: str) -> str:
    planned = league.planned_round(league.known_rounds)
    last = planned.matches[-1][0] if planned else "R1M1"
    there = there_are(match_id.upper(), league.matches, f"R1M1 to {last}")
    return f"there is no match {one_line(match_id, 64)!r} in this league; {there}"

"""Why a match ended, by which rules of docs/protocol.md, and what would have helped the loser."""

import re
from typing import Any, NamedTuple

from agentleague.dialects.complaints import CAME, read_note
from agentleague.match.answer_checks import STRICT
from agentleague.protocol.printable import one_line


class Cause(NamedTuple):
    """What came instead of a good answer, its rule in docs/protocol.md, and what to change."""

    came: str
    rule: str
    change: str  # follows "should"


# Verdicts of our own: no move instead of a wrong one; no answer to what has no deadline; nobody
# any more where a player joined.
NULL_MOVE, NO_JOIN, GONE = "null", "no join", "gone"
PART_OF = {NULL_MOVE: "E004", NO_JOIN: "E001", GONE: "E009"}
NOBODY = (f"{CAME}the connection was refused", f"{CAME}no connection")  # how a note begins

_CONTENT = (
    "answer with what was asked for: a join has `accept`, a move has `parity_choice`, `choice` or "
    "`move`, in even_odd with the value even or odd, in lower case"
)

_REFUSED = Cause(
    "an answer that was refused",
    "R-MATCH-32",
    "send every field as docs/reference/messages.md has it, and the `auth_token` of the call",
)

_RUNNING = "be running first (start it in a terminal of its own)"
_SEAT = "where nobody can call it, it plays from a seat: league player --outbound"

CAUSES = {  # by verdict
    "E001": Cause(
        "no answer in time",
        "R-MATCH-19",
        "answer before the `deadline` of the call; a slow model needs a time limit of its own",
    ),
    NO_JOIN: Cause(
        "no answer in time",
        "R-MATCH-19",
        "answer an invitation within `join_seconds`, which are 5 unless the league has others",
    ),
    "E003": Cause("an answer with nothing usable in it", "R-MATCH-20", _CONTENT),
    "no content": Cause("an error, or an answer without a join or a move", "R-MATCH-21", _CONTENT),
    "E004": Cause("an illegal move", "R-MATCH-20", "send a legal move, exactly as it is named"),
    NULL_MOVE: Cause(
        "null, which is no move",
        "R-MATCH-20",
        "return a move: null is sent when its function raised an exception or returned nothing; "
        "its own terminal says which",
    ),
    "E009": Cause(
        "no usable answer",
        "R-MATCH-19",
        f"{_RUNNING}, be reachable at the end point that it registered ({_SEAT}), and answer every "
        "POST with HTTP 200 and JSON",
    ),
    GONE: Cause(
        "no usable answer",
        "R-MATCH-19",
        "go on running until the league is over: it was there when the match began, and its own "
        "output says why it ended",
    ),
    "E015": Cause(
        "an answer about another match", "R-MATCH-20", "repeat the `match_id` of the call"
    ),
    "E052": Cause(
        "an error of its own: its strategy failed",
        "R-MATCH-21",
        "answer without an error: its own output says what failed",
    ),
    "declined": Cause(
        "a refusal to play", "R-MATCH-07", "answer GAME_INVITATION with `accept: true`"
    ),
    "rate limited": Cause(
        "a word that it is asked too often",
        "R-MATCH-19",
        "answer the referee of a match without a rate limit",
    ),
    **dict.fromkeys(("E005", "E011", "E012", "E018", "E021"), _REFUSED),
}


_COMPLAINTS = {  # the first that is found in what it said itself, or in what came -> what to change
    r"^no connection: none of its addresses is allowed": (
        "be where its referee may call it, which is not its own fault: start the referee with "
        f"--lan NETWORK/BITS and the player's network; {_SEAT}"
    ),
    r"^the connection was refused|^no connection": (
        f"{_RUNNING}, at the end point that it registered ({_SEAT})"
    ),
    r"^the name of": "be given by a name that can be looked up here, or by an address",
    r"^it does not speak https": "be given by a URL that begins with http://",
    r"^it is not HTTP": "speak HTTP: another program may listen at that port",
    r"^it closed": "send a whole answer: its own output says whether it ended",
    r"^text that is not JSON|^JSON that breaks": "answer with one whole JSON object",
    r"^{": _CONTENT,  # An answer without any complaint.
    r"^its ": "answer every POST with HTTP 200 and JSON",
    r"HTTP 3": "be given by the URL to which it redirects: nobody follows that",
    r"HTTP 429": "answer the referee of a match without a rate limit",
    r"HTTP 5": "answer without breaking: its own log says at what",
    r"HTTP 40[45]": "be given by its whole URL, with the path at which it takes messages",
    r"^HTTP 200": _CONTENT,
    r"-32601|(?i:method)": "take one of the methods of docs/reference/messages.md",
    r"-32602|HTTP 4|(?i:field|missing|required|need|want|expected|extra|permitted|KeyError)": (
        "take the messages of docs/reference/messages.md with or without what it complained of"
    ),
}


_OURS = ("HTTP ", "text that is not JSON", "JSON that breaks")  # how `in_its_words` may begin


def detailed(verdict: str, message: str, move: Any, note: str) -> str:
    """The verdict on an answer, or the one of our own that is part of it."""
    own = GONE if note.startswith(NOBODY) else "" if move is not None else NULL_MOVE
    own = NO_JOIN if message == "GAME_INVITATION" else own
    return own if PART_OF.get(own) == verdict else verdict


def explained(verdict: str, note: str) -> Cause | None:
    """What came, by the verdict on it and by the note of it; None if nobody knows the verdict."""
    known, (said, _) = _REFUSED if STRICT in note else CAUSES.get(verdict), read_note(note)
    came = note.removeprefix(CAME) if note.startswith(CAME) else ""
    heard = one_line(said or came)
    if not heard or verdict == NULL_MOVE or not (said or known):
        return known
    is_own = known is None or (said and verdict == "no content")  # It says itself what is wrong.
    change = CAUSES["E052"].change if is_own or known is None else known.change
    if said or verdict == "E009":
        found = (each for words, each in _COMPLAINTS.items() if re.search(words, heard))
        change = next(found, change)
    if said or known is None:
        quoted = heard if heard.startswith(_OURS) else f"an answer that said: {heard}"
        return Cause(quoted, "R-DIA-09", change)
    if known is _REFUSED:
        change, heard = f"{change}: {heard}", heard.removeprefix(STRICT)
    return Cause(": ".join(dict.fromkeys((known.came, heard))), known.rule, change)


class _GameRules(NamedTuple):
    ends: str  # the rule that says who wins
    moves: str  # the rule that says what is legal
    luck: str  # the advice for a player that lost by the rules; empty if nobody knows any


GAMES = {
    "even_odd": _GameRules(
        "R-GAME-03", "R-GAME-01", "could change nothing: both parities are equally likely"
    ),
    "rock_paper_scissors": _GameRules(
        "R-GAME-07", "R-GAME-06", "could have thrown what beats the other's throws"
    ),
    "tic_tac_toe": _GameRules(
        "R-GAME-11", "R-GAME-10", "could have taken other cells: perfect play never loses"
    ),
}
OTHER_GAME = _GameRules("R-LEAGUE-01", "R-MATCH-07", "")

_VERDICTS = {  # by words of a cause, which counts before the last verdict
    "timeout": "E001",
    "illegal": "E004",
    "reach": "E009",
    "declined": "declined",
    "error of its own": "E052",
    "rate limit": "rate limited",
}


def blamed(cause: str, verdict: str) -> str:
    """The verdict that lost the match, by its cause, else the last one."""
    blamed = next((known for word, known in _VERDICTS.items() if word in cause), verdict)
    return verdict if PART_OF.get(verdict) == blamed else blamed


def advice(cause: str, verdict: str, note: str) -> str:
    """What would have helped a loser, by the cause of its loss and its last failure."""
    if "removed" in cause:
        return "could change nothing: the organiser removed it"
    fault, (said, _) = blamed(cause, verdict), read_note(note)
    found = explained(fault, note if said or fault == verdict else "")
    change = (found or CAUSES["no content"]).change
    if found and fault == "E004":  # The game says which are legal.
        change += found.came.removeprefix(CAUSES[fault].came)
    return f"answered: {one_line(said)}. It should {change}" if said else f"should {change}"

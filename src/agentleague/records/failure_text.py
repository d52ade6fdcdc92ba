"""What goes wrong with an answer of a player: one wording for every place that tells it."""

from typing import NamedTuple


class Cause(NamedTuple):
    """What came instead of an answer, which rule of docs/protocol.md says so, what to change."""

    came: str
    rule: str
    change: str  # It "should" do that.


NULL_MOVE = "null"  # a verdict of its own: not a wrong move, but none

CAUSES = {  # by verdict
    "E001": Cause(
        "no answer in time",
        "R-MATCH-19",
        "answer before the `deadline` of the call; a slow model needs a time limit of its own",
    ),
    "E003": Cause(
        "an answer with nothing usable in it",
        "R-MATCH-20",
        "answer with what was asked for: a join has `accept`, a move has `parity_choice` or `move`",
    ),
    "no content": Cause(
        "an error, or an answer without a join or a move",
        "R-MATCH-21",
        "answer with what was asked for: a join has `accept`, a move has `parity_choice` or `move`",
    ),
    "E004": Cause("an illegal move", "R-MATCH-20", "send one of the legal moves, exactly"),
    NULL_MOVE: Cause(
        "null, which is no move",
        "R-MATCH-20",
        "return a move: null is sent when its function raised an exception or returned nothing; "
        "its own terminal says which",
    ),
    "E009": Cause(
        "no connection, or no usable HTTP answer",
        "R-MATCH-19",
        "be running and reachable at the end point that it registered, and answer every POST with "
        "HTTP 200 and JSON",
    ),
    "E015": Cause(
        "an answer about another match", "R-MATCH-20", "repeat the `match_id` of the call"
    ),
    "E052": Cause(
        "an error of its own: its strategy failed",
        "R-MATCH-21",
        "look at its own output: its strategy raised an exception",
    ),
    "declined": Cause(
        "a refusal to play", "R-MATCH-07", "answer GAME_INVITATION with `accept: true`"
    ),
    "rate limited": Cause(
        "a word that it is asked too often",
        "R-MATCH-19",
        "answer the referee of a match without a rate limit",
    ),
}

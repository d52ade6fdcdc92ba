"""The rules about what a player is only told: rounds, tables, results, errors."""

from typing import Any

from agentleague.conformance.bench import Fields, now
from agentleague.conformance.player_bench import OPPONENT_ID, PLAYER_ID, PlayerBench
from agentleague.conformance.player_choice_rules import JOINS, expect, expect_any
from agentleague.conformance.rules import Broken, NotApplicable, Rules, Tier
from agentleague.conformance.wire import refusal

MUST, SHOULD, ROBUST, PLUS = Tier
ANY_ANSWER = "any answer acknowledges, and without one the league goes on"
NOTICES = Rules("player", needs=(JOINS,))
TABLE = [
    {"rank": 1, "player_id": OPPONENT_ID, "display_name": "Beta", "played": 1, "wins": 1,
     "draws": 0, "losses": 0, "points": 3},
    {"rank": 2, "player_id": PLAYER_ID, "display_name": "Alpha", "played": 1, "wins": 0,
     "draws": 0, "losses": 1, "points": 0},
]  # fmt: skip


def acknowledged(bench: PlayerBench, message: Fields, seconds: float | None = None) -> Fields:
    """What it answers to a notice; the rule is broken if that is no acknowledgement."""
    answer = bench.ask(message, seconds=seconds)
    if answer.status is None or answer.status >= 400 or refusal(answer):
        raise Broken(f"{message['message_type']} is acknowledged", is_late=answer.is_late)
    return bench.said(answer)


def announcement(bench: PlayerBench, **fields: Any) -> Fields:
    """ROUND_ANNOUNCEMENT of a round in which the player has a match."""
    match = bench.match()
    row = {
        "match_id": match.match_id,
        "game_type": "even_odd",
        "player_A_id": PLAYER_ID,
        "player_B_id": OPPONENT_ID,
        "referee_endpoint": bench.referee.url,
    }
    given: Fields = {"round_id": match.round_id, "matches": [row]}
    return bench.from_manager("ROUND_ANNOUNCEMENT", **given | fields)


def league_completed(bench: PlayerBench) -> Fields:
    """LEAGUE_COMPLETED of the kit's league."""
    champion = {"player_id": OPPONENT_ID, "display_name": "Beta", "points": 3}
    return bench.from_manager(
        "LEAGUE_COMPLETED", total_rounds=1, total_matches=1, champion=champion,
        final_standings=TABLE,
    )  # fmt: skip


@NOTICES.rule(
    "notice.round-announcement",
    SHOULD,
    implies=("player.notice.free-round", "player.notice.says-acknowledged"),
    leniency=ANY_ANSWER,
)
def round_announcement(bench: PlayerBench) -> None:
    """A player acknowledges ROUND_ANNOUNCEMENT within 10 seconds.

    R-FORM-12: document 001 section 3.1
    Mend: Answer notify_round with {"status": "ACKNOWLEDGED"}.
    """
    acknowledged(bench, announcement(bench))


@NOTICES.rule("notice.free-round", ROBUST, needs=("player.notice.round-announcement",))
def free_round(bench: PlayerBench) -> None:
    """A player acknowledges a round in which it has no match.

    R-FORM-12: document 001 section 3.1
    Mend: Look for your own id in the matches of a round, and expect that it is not there.
    """
    if refusal(bench.ask(announcement(bench))):
        raise NotApplicable("it does not take ROUND_ANNOUNCEMENT at all")
    acknowledged(bench, announcement(bench, matches=[]))


@NOTICES.rule("notice.standings", SHOULD, leniency=ANY_ANSWER)
def standings(bench: PlayerBench) -> None:
    """A player acknowledges LEAGUE_STANDINGS_UPDATE within 10 seconds.

    R-FORM-12: document 001 section 3.2
    Mend: Answer update_standings with {"status": "ACKNOWLEDGED"}.
    """
    acknowledged(bench, bench.from_manager("LEAGUE_STANDINGS_UPDATE", round_id=1, standings=TABLE))


@NOTICES.rule("notice.round-completed", SHOULD, leniency=ANY_ANSWER)
def round_completed(bench: PlayerBench) -> None:
    """A player acknowledges ROUND_COMPLETED within 10 seconds, also of the last round.

    R-FORM-12: document 001 section 3.3
    Mend: Answer notify_round_completed with {"status": "ACKNOWLEDGED"}.
    """
    for following in (2, None):
        fields: Fields = {"round_id": 1, "matches_played": 1, "next_round_id": following}
        acknowledged(bench, bench.from_manager("ROUND_COMPLETED", **fields))


@NOTICES.rule("notice.says-acknowledged", SHOULD, needs=("player.notice.round-announcement",))
def says_acknowledged(bench: PlayerBench) -> None:
    """A player acknowledges with the `status` ACKNOWLEDGED.

    R-FORM-12: document 001 section 3.1
    Mend: Answer what you are only told with {"status": "ACKNOWLEDGED"} in `result`.
    Leniency: any answer acknowledges
    """
    expect(acknowledged(bench, announcement(bench)), status="ACKNOWLEDGED")


RESULTS: dict[str, Fields] = {
    "win": {},
    "draw": {
        "status": "DRAW",
        "winner_player_id": None,
        "drawn_number": 4,
        "number_parity": "even",
        "choices": {PLAYER_ID: "odd", OPPONENT_ID: "odd"},
        "reason": "Both chose odd, number was 4 (even) - both incorrect",
    },
    "technical loss": {
        "status": "TECHNICAL_LOSS",
        "winner_player_id": OPPONENT_ID,
        "drawn_number": None,
        "number_parity": None,
        "choices": {PLAYER_ID: None, OPPONENT_ID: "odd"},
        "reason": f"{PLAYER_ID} failed to respond within timeout - {OPPONENT_ID} wins by default",
    },
}


def _told(bench: PlayerBench, ending: str, times: int = 1) -> None:
    match = bench.match()
    bench.invite(match)
    bench.choose(match)
    result = {"game_result": RESULTS[ending]} if RESULTS[ending] else {}
    for _ in range(times):
        acknowledged(bench, bench.game_over(match, **result), bench.limits.game_over)


@NOTICES.rule(
    "notice.game-over",
    SHOULD,
    implies=("player.notice.without-winner", "player.notice.game-over-twice"),
)
def game_over(bench: PlayerBench) -> None:
    """A player acknowledges GAME_OVER within 5 seconds.

    R-MATCH-10: document 004 section 5.3
    Mend: Answer notify_match_result with {"status": "ACKNOWLEDGED"}.
    Leniency: whatever is answered to it, the report follows
    """
    _told(bench, "win")


@NOTICES.rule("notice.without-winner", SHOULD, needs=("player.notice.game-over",))
def without_winner(bench: PlayerBench) -> None:
    """A player acknowledges a draw without a winner, and a technical loss without a number.

    R-MSG-07: document 004 section 5.3.2
    Mend: Expect that winner_player_id, drawn_number, number_parity and a choice are null.
    """
    for ending in ("draw", "technical loss"):
        _told(bench, ending)


@NOTICES.rule("notice.game-over-twice", ROBUST, needs=("player.notice.game-over",))
def game_over_twice(bench: PlayerBench) -> None:
    """A player acknowledges the same GAME_OVER a second time.

    R-MATCH-10: document 004 section 5.3
    Mend: Acknowledge it again: the referee did not get your first answer.
    """
    _told(bench, "win", times=2)


@NOTICES.rule("notice.game-error", SHOULD, leniency=ANY_ANSWER)
def game_error(bench: PlayerBench) -> None:
    """A player acknowledges GAME_ERROR.

    R-MATCH-08: document 003 section 4.10.2
    Mend: Answer notify_game_error with {"status": "ACKNOWLEDGED"}.
    """
    match = bench.match()
    bench.invite(match)
    retry = {"retry_count": 1, "max_retries": 3, "next_retry_at": now()}
    error = bench.about(
        "GAME_ERROR", match, error_code="E001", error_description="TIMEOUT_ERROR",
        affected_player=PLAYER_ID, action_required="CHOOSE_PARITY_RESPONSE", retry_info=retry,
        consequence="Technical loss if max retries exceeded",
    )  # fmt: skip
    acknowledged(bench, error)


@NOTICES.rule("notice.about-others", ROBUST)
def about_others(bench: PlayerBench) -> None:
    """A player goes on after GAME_ERROR about its opponent and GAME_OVER of an unknown match.

    R-MATCH-08: document 003 section 4.10.2
    Mend: Take both as news: they may concern the other player, or be from before you started.
    """
    fields: Fields = {"error_code": "E009", "affected_player": OPPONENT_ID}
    expect_any(bench.ask(bench.about("GAME_ERROR", bench.match(), **fields)))
    over = bench.game_over(bench.match())
    expect_any(bench.ask(over, seconds=bench.limits.game_over))
    bench.still_takes("news about others")


@NOTICES.rule("notice.any-order", ROBUST)
def any_order(bench: PlayerBench) -> None:
    """A player goes on when notices come out of order, or twice.

    R-FLOW-01: document 001 section 3
    Mend: Do not rely on the order of notices: a slow one may come last.
    """
    completed = bench.from_manager("ROUND_COMPLETED", round_id=99, matches_played=0)
    table = bench.from_manager("LEAGUE_STANDINGS_UPDATE", round_id=99, standings=[])
    for message in (completed, table, announcement(bench), completed, announcement(bench)):
        expect_any(bench.ask(message))
    bench.still_takes("notices out of order")

"""A player that understood no dialect: the organiser is told once what it said, and what to do."""

from agentleague.protocol.messages import (
    Exchange,
    LeagueQuery,
    LockRequest,
    MatchResultReport,
    ReportedResult,
)
from agentleague.roles.stimuli import Caller
from manager.test_foreign_starts import League
from rules import rule

IN_VAIN = "said HTTP 422: team: \x1bField required [asked as tool, tool+plain, type]"
ALONE = "said HTTP 422: team: Field required"


def played(league, round_id, *rows):
    """What the organiser hears of a match in which P02 was asked so."""
    match_id = f"R{round_id}M1"
    league.role.news.clear()
    asked = (("GAME_INVITATION", n, *row) for n, row in enumerate(rows, start=1))
    transcript = [
        Exchange(0, "P02", message, attempt, verdict, note=note)
        for message, attempt, verdict, note in asked
    ]
    league.report(LockRequest(match_id, 1, 0, [], [("P02", "declined")]))
    league.report(MatchResultReport(match_id, ReportedResult("P01"), transcript=transcript))
    said = [each for each in league.role.news if each.startswith("P02 Bob does")]
    league.settle()
    status = league.ask(LeagueQuery("GET_STATUS"), Caller("127.0.0.1")).data
    return said, status["not_understood"]


@rule("R-DIA-09")
def test_the_organiser_is_told_once_until_it_understands():
    league, in_vain = League(cycles=5, locks=True), ("no content", IN_VAIN)
    row = "P02 Bob, which said: HTTP 422: team: ?Field required"

    (said,), told = played(league, 1, in_vain, in_vain)
    assert said == (
        "P02 Bob does not understand what it is asked. "
        "It said: HTTP 422: team: ?Field required. From now on it is asked once each time, "
        "until it understands. Its author can try it with: league play http://127.0.0.1/Bob "
        "random; see its matches with: league agent P02 --dir DIR"
    )
    assert told == [row]
    assert played(league, 2, in_vain) == ([], [row])
    assert played(league, 3, in_vain, ("ok", "")) == ([], [])
    assert played(league, 4, ("no content", ALONE)) == ([], [])  # No other dialect was tried.
    assert played(league, 5) == ([], [])

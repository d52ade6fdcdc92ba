"""The rules for managers about what follows a round: the table, its end, and what comes next."""

from agentleague.conformance.bench import Fields
from agentleague.conformance.listener import Received, Reply
from agentleague.conformance.manager_agents import (
    COMPLETED,
    ROUND,
    TABLE,
    AgentOfTheKit,
    name_of,
    said_in,
)
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.manager_checks import (
    ENDINGS,
    about_everybody,
    counted,
    expect_counts,
    lacks,
    last_of,
    rows_in,
    settled,
    shown,
    sums,
    table_after,
    until_next,
)
from agentleague.conformance.manager_query_rules import ANSWERS
from agentleague.conformance.manager_registration_rules import MANAGER
from agentleague.conformance.manager_report_rules import TAKEN
from agentleague.conformance.rules import Broken, NotApplicable, NotReached, Tier

MUST, SHOULD, ROBUST, PLUS = Tier
GOES_ON = ("manager.round.is-followed",)
SENT = ("manager.standings.are-sent",)
ENDS = ("manager.round.is-completed",)
FIELDS = ("rank", "player_id", "display_name", "played", *ENDINGS, "points")


def _table(bench: ManagerBench, number: int = 1) -> tuple[Received, list[Fields]]:
    table = table_after(bench, number, bench.players[0])
    return table, rows_in(said_in(table))


def _completed(bench: ManagerBench, number: int, agent: AgentOfTheKit) -> Received:
    bench.over(number)
    key = (COMPLETED, agent.id, number)
    found = bench.heard(
        lambda x: name_of(x) == COMPLETED and said_in(x).get("round_id") == number,
        0 if key in bench.missed else bench.limits.reply,
        [agent],
    )
    if found is None:
        bench.missed.add(key)
        raise Broken(f"{COMPLETED} of round {number} to {agent.id}", last_of(agent))
    return found


@MANAGER.rule(
    "standings.within-5-seconds",
    SHOULD,
    needs=(*TAKEN, *ANSWERS),
    implies=("manager.report.first-counts", "manager.report.counts-once"),
)
def standings_within_5_seconds(bench: ManagerBench) -> None:
    """The table counts a match at most 5 seconds after its report.

    R-FLOW-04: document 004 section 7.1.3
    Mend: Compute the table anew as soon as a report was taken.
    """
    bench.tell(bench.open_match())
    rows = settled(bench)
    if counted(rows) < 2 * len(bench.play.results):
        raise Broken(f"{len(bench.play.results)} matches in the table")


@MANAGER.rule(
    "round.is-not-completed-early",
    MUST,
    needs=TAKEN,
    implies=("manager.round.summary", "manager.round.order"),
)
def round_is_not_completed_early(bench: ManagerBench) -> None:
    """ROUND_COMPLETED comes after all matches of the round were reported.

    R-LEAGUE-27: document 004 section 4.2.3
    Mend: Wait for a report of each match before ending a round.
    """
    number = bench.open_match().round_id
    early = bench.heard(
        lambda x: name_of(x) == COMPLETED and said_in(x).get("round_id") == number,
        bench.limits.quiet,
    )
    if early:
        raise Broken("ROUND_COMPLETED after the last report", early.exchange())


@MANAGER.rule("round.is-followed", MUST, needs=TAKEN)
@about_everybody
def round_is_followed(bench: ManagerBench) -> None:
    """When all matches of a round are reported the next round begins, or the league ends.

    R-FLOW-01: document 001 section 3.3
    Mend: Announce the next round, or LEAGUE_COMPLETED, after the last report of a round.
    """
    bench.finish(1)
    try:
        bench.over(1)
    except NotReached as reason:
        raise Broken(str(reason), last_of(bench.players[0]), is_late=True) from None


@MANAGER.rule("standings.are-sent", MUST, needs=GOES_ON)
def standings_are_sent(bench: ManagerBench) -> None:
    """Every player is sent LEAGUE_STANDINGS_UPDATE when a round is over.

    R-FLOW-01: document 001 section 3.2
    Mend: Send LEAGUE_STANDINGS_UPDATE to each player after the last report of a round.
    """
    for player in bench.sound():
        table_after(bench, 1, player)


@MANAGER.rule(
    "standings.have-everybody",
    SHOULD,
    mend=f"Give each row {', '.join(FIELDS)}; begin with a row for each registered player.",
    needs=SENT,
)
@about_everybody
def standings_have_everybody(bench: ManagerBench) -> None:
    """The table has a row for every player, with all documented fields.

    R-TABLE-05: document 004 section 7.2.2
    Leniency: a field that is missing in a row is taken for 0
    """
    table, rows = _table(bench)
    if sorted(str(x.get("player_id")) for x in rows) != sorted(x.id for x in bench.in_league()):
        raise Broken("one row for each player", table.exchange())
    for row in rows:
        missing = [name for name in FIELDS if name not in row]
        if missing:
            raise Broken(f"`{missing[0]}` in each row", table.exchange())


@MANAGER.rule(
    "standings.points",
    MUST,
    needs=SENT,
    implies=(
        "manager.standings.technical-loss",
        "manager.league.final-table",
        "manager.league.champion",
        "manager.standings.same-when-asked",
        "manager.end.table-stays",
    ),
)
def standings_points(bench: ManagerBench) -> None:
    """A win counts 3 points, a draw 1 and a loss 0.

    R-TABLE-01: document 004 section 7.2.2
    Mend: Count 3, 1 and 0 points, and each match for both of its players.
    """
    table, _ = _table(bench)
    expect_counts(bench, 1, table)


@MANAGER.rule("standings.played", SHOULD, needs=SENT)
@about_everybody
def standings_played(bench: ManagerBench) -> None:
    """`played` is the sum of wins, draws and losses.

    R-TABLE-03: document 004 section 7.2.4
    Mend: Count played for both players of a match, whatever its end.
    """
    table, rows = _table(bench)
    for row in rows:
        if "played" in row and row["played"] != counted([row]):
            raise Broken(f"{row.get('player_id')}: wins + draws + losses", table.exchange())


@MANAGER.rule("standings.order", SHOULD, needs=SENT)
@about_everybody
def standings_order(bench: ManagerBench) -> None:
    """The table is in the order of ranks: who has more points has a better rank.

    R-TABLE-04: document 004 section 7.2.2
    Mend: Sort by points, the most first, and number the rows from 1.
    Leniency: rows are found by their player, wherever they stand
    """
    table, rows = _table(bench)
    ranks = [row.get("rank") for row in rows]
    points = [row.get("points") for row in rows]
    numbers = [each for each in (*ranks, *points) if type(each) is int]
    if len(numbers) < 2 * len(rows) or ranks[:1] != [1]:
        raise Broken("`rank` and `points` in each row, from rank 1", table.exchange())
    if ranks != sorted(ranks) or points != sorted(points, reverse=True):  # type: ignore[type-var]
        raise Broken("the rows with the most points first", table.exchange())


@MANAGER.rule(
    "flow.player-that-refuses", ROBUST, needs=GOES_ON, implies=("manager.league.completed",)
)
@about_everybody
def player_that_refuses(bench: ManagerBench) -> None:
    """A player that answers every message with an error does not stop the league.

    R-FLOW-02: document 004 section 4.1
    Mend: Expect nothing of the answers to ROUND_ANNOUNCEMENT and its like.
    """
    bench.open_match()
    player = bench.sound()[-1]
    number = len(bench.play.rounds)
    with player.answering(refuse):
        try:
            bench.over(number)
        except NotReached:
            raise Broken("the next round all the same", last_of(player)) from None


@MANAGER.rule("standings.same-when-asked", SHOULD, needs=(*SENT, *ANSWERS))
@about_everybody
def standings_same_when_asked(bench: ManagerBench) -> None:
    """Whoever asks for the table gets what the players were sent.

    R-TABLE-08: document 004 section 7.2
    Mend: Answer GET_STANDINGS from the same table as LEAGUE_STANDINGS_UPDATE.
    """
    bench.over(1)
    if any(each.match_id in bench.play.results for each in bench.play.rounds[-1]):
        bench.over(len(bench.play.rounds))
    number = len(bench.play.rounds) - (0 if bench.end else 1)
    _, rows = _table(bench, number)
    if sums(settled(bench)) != sums(rows):
        raise Broken(f"the table of the {TABLE} after round {number}")


@MANAGER.rule(
    "round.is-completed",
    SHOULD,
    needs=GOES_ON,
    implies=("manager.round.order", "manager.round.summary"),
)
def round_is_completed(bench: ManagerBench) -> None:
    """Every player is sent ROUND_COMPLETED.

    R-LEAGUE-27: document 001 section 3.3
    Mend: Send ROUND_COMPLETED to each player after the last report of a round.
    Leniency: the next announcement says as much
    """
    for player in bench.sound():
        _completed(bench, 1, player)


@MANAGER.rule("round.is-completed-for-referees", SHOULD, needs=ENDS)
def round_is_completed_for_referees(bench: ManagerBench) -> None:
    """Every referee is sent ROUND_COMPLETED.

    R-LEAGUE-27: document 004 section 4.2.3
    Mend: Send ROUND_COMPLETED to the referees too.
    """
    for referee in bench.referees:
        _completed(bench, 1, referee)


@MANAGER.rule("round.summary", SHOULD, needs=ENDS)
def round_summary(bench: ManagerBench) -> None:
    """ROUND_COMPLETED sums up the round, and names the next one.

    R-LEAGUE-27, R-MSG-10: document 004 section 4.2.2
    Mend: Say matches_completed, next_round_id and summary: total_matches, wins, draws.
    """
    matches = bench.over(1)
    ended = _completed(bench, 1, bench.players[0])
    said, size = said_in(ended), len(matches)
    results = [bench.play.results[each.match_id] for each in matches]
    expected = {
        "total_matches": size,
        "wins": sum(bool(x.winner) and not x.is_technical for x in results),
        "draws": sum(x.winner is None for x in results),
        "technical_losses": sum(x.is_technical for x in results),
    }
    if lacks(said.get("summary"), expected):
        raise Broken(f"`summary` with {shown(expected)}", ended.exchange())
    if size not in (said.get("matches_completed"), said.get("matches_played")):
        raise Broken(f"`matches_completed` {size}", ended.exchange())
    following = None if bench.end and len(bench.play.rounds) == 1 else 2
    if said.get("next_round_id", ...) != following:
        raise Broken(f"`next_round_id` {shown(following)}", ended.exchange())


@MANAGER.rule("round.order", SHOULD, needs=(*SENT, *ENDS))
def round_order(bench: ManagerBench) -> None:
    """A player is told a round, then its table, then its end, then the next round.

    R-FLOW-01: document 001 section 3.3
    Mend: Send an agent its next message when it has answered the last one.
    """
    bench.over(1)
    for player in bench.sound():
        ended = _completed(bench, 1, player)
        told = [name_of(each) for each in until_next(bench, 1, player)]
        if not {ROUND, COMPLETED} <= set(told) or told.index(ROUND) > told.index(COMPLETED):
            raise Broken("ROUND_COMPLETED between two announcements", ended.exchange())
        if TABLE not in told[: told.index(COMPLETED)] and TABLE in told:
            raise Broken("the table of the round, then ROUND_COMPLETED", ended.exchange())


@MANAGER.rule(
    "standings.technical-loss",
    SHOULD,
    needs=("manager.standings.points",),
    implies=("manager.league.final-table", "manager.end.table-stays"),
)
def technical_loss(bench: ManagerBench) -> None:
    """Who loses by default has a loss and no points, and the other a win.

    R-TABLE-03: document 004 section 7.1.2
    Mend: Count a report with TECHNICAL_LOSS like a win of its `winner`.
    """
    bench.over(1)
    while not (number := _round_with_a_technical_loss(bench)):
        if bench.end:
            raise NotApplicable("with so few players no match was lost by default")
        bench.over(len(bench.play.rounds))
    bench.over(number)
    table, _ = _table(bench, number)
    expect_counts(bench, number, table)


def _round_with_a_technical_loss(bench: ManagerBench) -> int:
    """Its number; 0 if there was none so far."""
    for number, matches in enumerate(bench.play.rounds, 1):
        outcomes = (bench.play.results.get(each.match_id) for each in matches)
        if any(each and each.is_technical for each in outcomes):
            return number
    return 0


def refuse(received: Received) -> Reply:
    """The answer of an agent that does not know what it is told."""
    return received.error(-32601, "Method not found")

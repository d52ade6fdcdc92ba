"""The rules for managers about hangs, restarts and the end of the league."""

from collections.abc import Iterator
from typing import Any

from agentleague.conformance.listener import Received, Reply
from agentleague.conformance.manager_agents import END, ROUND, AgentOfTheKit, name_of, said_in
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.manager_checks import (
    COUNTED,
    IS_TIME,
    about_everybody,
    expect_reason,
    last_of,
    played,
    reason_of,
    rows_in,
    settled,
    shown,
    standings,
    sums,
)
from agentleague.conformance.manager_query_rules import ANSWERS
from agentleague.conformance.manager_registration_rules import MANAGER
from agentleague.conformance.manager_round_rules import STARTS
from agentleague.conformance.manager_table_rules import GOES_ON
from agentleague.conformance.rules import Broken, NotApplicable, NotReached, Tier
from agentleague.conformance.wire_rules import add_wire_rules

MUST, SHOULD, ROBUST, PLUS = Tier
ENDED = ("manager.league.completed",)
ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
BROADCASTS = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", END)
RESTART = ("manager.restart.keeps-tokens", "manager.restart.goes-on")

add_wire_rules(MANAGER, ANSWERS[0])  # while a round is open, as late as possible


@MANAGER.rule("restart.keeps-the-table", ROBUST, needs=ANSWERS, implies=RESTART, is_slow=True)
def restart_keeps_the_table(bench: ManagerBench) -> None:
    """A manager that is killed and started again has the table that it had.

    R-LEAGUE-09: document 001 section 5.1
    Mend: Write each result to disk before you answer its report, and read them at the start.
    """
    before = _restarted(bench)
    answer = bench.ask(bench.query("GET_STANDINGS"))
    if sums(rows_in(bench.said(answer))) != before:
        raise Broken("the table from before the restart", is_late=answer.is_late)


def _restarted(bench: ManagerBench) -> dict[str, tuple[Any, ...]]:
    """Kill the manager and start it again, once; what the table said before."""
    if bench.launch is None:
        raise NotApplicable("only a manager that the kit starts (--command) can be killed")
    bench.open_match()
    if not bench.before_restart:
        bench.before_restart = sums(settled(bench))
        bench.restart()
    if not bench.is_up():
        raise Broken("it listens again after a kill -9 and a start with the same command")
    return bench.before_restart


@MANAGER.rule("restart.keeps-tokens", ROBUST, needs=ANSWERS, is_slow=True)
def restart_keeps_tokens(bench: ManagerBench) -> None:
    """The ids and tokens from before a restart count after it.

    R-LEAGUE-18: document 001 section 2.2
    Mend: Write what you told each agent to disk before you answer its registration.
    """
    _restarted(bench)
    player = bench.players[0]
    answer = bench.ask(bench.query("GET_NEXT_MATCH", query_params={"player_id": player.id}))
    if reason_of(bench, answer) is not None:
        raise Broken(f"an answer to {player.id} and its token, as before")


@MANAGER.rule("restart.goes-on", ROBUST, needs=ANSWERS, is_slow=True)
def restart_goes_on(bench: ManagerBench) -> None:
    """A league goes on after a restart: the reports that are still due are taken.

    R-LEAGUE-09: document 001 section 5.1
    Mend: Read the schedule and who has which match from disk at the start.
    """
    _restarted(bench)
    try:
        bench.tell(bench.open_match())
    except NotReached:
        bench.begin_anew()  # Whether it can run a league is for other rules to say.
        raise Broken("`status` ACCEPTED for a match from before the restart") from None


@MANAGER.rule(
    "flow.player-that-hangs",
    ROBUST,
    needs=GOES_ON,
    implies=("manager.league.completed",),
    is_slow=True,
)
@about_everybody
def player_that_hangs(bench: ManagerBench) -> None:
    """A player that answers nothing does not stop the league.

    R-FLOW-02: document 001 section 1.3
    Mend: Wait 10 seconds at most for the answer to a message, and for all players at once.
    """
    bench.open_match()
    players = bench.sound()
    if len(players) < 2:
        bench.blame()
    player, number = players[-1], len(bench.play.rounds)
    bench.excused.append(player)
    with player.answering(never):
        bench.finish(number)
        seconds = bench.limits.next_step + 2 * bench.limits.reply
        so_far = len(players[0].listener.received)
        found = players[0].listener.wait_for(
            lambda each: name_of(each) in (ROUND, END), seconds, after=so_far
        )
        if found is None:
            raise Broken("the next round all the same", last_of(players[0]))
        bench.over(number)


def never(received: Received) -> Reply:
    """The answer of an agent that hangs."""
    return Reply(is_never=True)


@MANAGER.rule("league.completed", MUST, needs=GOES_ON)
@about_everybody
def league_completed(bench: ManagerBench) -> None:
    """After the last round every player is sent LEAGUE_COMPLETED.

    R-LEAGUE-28: document 004 section 4.3
    Mend: Send LEAGUE_COMPLETED to each player when the last round is over.
    """
    try:
        bench.finished()
    except NotReached as reason:
        raise Broken(str(reason), last_of(bench.players[0]), is_late=True) from None
    for player in bench.sound():
        _end_at(bench, player)


def _end_at(bench: ManagerBench, agent: AgentOfTheKit) -> None:
    seconds = 0 if agent in bench.excused else bench.limits.reply
    found = bench.heard(lambda each: name_of(each) == END, seconds, [agent])
    if found is None and agent not in bench.excused:
        raise Broken(f"{END} to {agent.id}", last_of(agent))


@MANAGER.rule("league.completed-for-referees", SHOULD, needs=ENDED)
def league_completed_for_referees(bench: ManagerBench) -> None:
    """Every referee is sent LEAGUE_COMPLETED.

    R-LEAGUE-28: document 004 section 4.3.4
    Mend: Send LEAGUE_COMPLETED to the referees too.
    """
    bench.finished()
    for referee in bench.referees:
        _end_at(bench, referee)


@MANAGER.rule("schedule.everybody-meets-once", MUST, needs=ENDED)
@about_everybody
def everybody_meets_once(bench: ManagerBench) -> None:
    """Everybody meets everybody exactly once.

    R-LEAGUE-31: document 000 section 2.5.3
    Mend: Make a round robin: n - 1 rounds of n / 2 matches, or n rounds if n is odd.
    """
    bench.finished()
    met = sorted(
        tuple(sorted((each.player_a, each.player_b)))
        for matches in bench.play.rounds
        for each in matches
    )
    ids = sorted(each.id for each in bench.in_league())
    expected = [(a, b) for number, a in enumerate(ids) for b in ids[number + 1 :]]
    if met != expected:
        wrong = sorted({"-".join(each) for each in expected if met.count(each) != 1})
        raise Broken(f"one match of each pair; not so for {', '.join(wrong) or 'others'}")


@MANAGER.rule("league.end-is-complete", SHOULD, needs=ENDED)
@about_everybody
def end_is_complete(bench: ManagerBench) -> None:
    """LEAGUE_COMPLETED says how many rounds and matches there were.

    R-LEAGUE-28: document 004 section 4.3.2
    Mend: Say league_id, total_rounds and total_matches in LEAGUE_COMPLETED.
    """
    end = bench.finished()
    expected = {
        "league_id": bench.players[0].league_id,
        "total_rounds": len(bench.play.rounds),
        "total_matches": sum(map(len, bench.play.rounds)),
    }
    for name, value in expected.items():
        if said_in(end).get(name) != value:
            raise Broken(f"`{name}` {shown(value)}", end.exchange())


@MANAGER.rule("league.champion", MUST, needs=ENDED)
@about_everybody
def league_champion(bench: ManagerBench) -> None:
    """The champion is the player with the most points.

    R-LEAGUE-28: document 004 section 4.3.4
    Mend: Take the first row of the final table as `champion`.
    """
    end = bench.finished()
    champion = said_in(end).get("champion")
    table = played(bench, len(bench.play.rounds))
    best = max(table, key=lambda each: table[each][-1])
    if not isinstance(champion, dict) or champion.get("player_id") != best:
        raise Broken(f"`champion.player_id` {best}", end.exchange())
    if champion.get("points") != table[best][-1]:
        raise Broken(f"`champion.points` {table[best][-1]}", end.exchange())


@MANAGER.rule("league.final-table", SHOULD, needs=ENDED)
@about_everybody
def final_table(bench: ManagerBench) -> None:
    """`final_standings` has every player, in the order of ranks, with what it won.

    R-LEAGUE-28: document 004 section 4.3.2
    Mend: Send the whole table as final_standings.
    """
    end = bench.finished()
    rows = rows_in(said_in(end), "final_standings")
    ranks = [row.get("rank") for row in rows]
    if not rows or ranks != sorted(ranks, key=lambda each: each if type(each) is int else 0):
        raise Broken("`final_standings`, the first rank first", end.exchange())
    found = {str(row.get("player_id")): row.get("points") for row in rows}
    for player, expected in played(bench, len(bench.play.rounds)).items():
        if found.get(player) != expected[-1]:
            raise Broken(f"{player}: {COUNTED.format(*expected)}", end.exchange())


def _broadcasts(bench: ManagerBench) -> Iterator[Received]:
    """The first message of each kind to the first player."""
    bench.started()
    for name in BROADCASTS:
        yield from bench.players[0].all(name)[:1]


@MANAGER.rule(
    "messages.have-the-envelope",
    SHOULD,
    mend=f"Put {', '.join(ENVELOPE)} into every message.",
    needs=STARTS,
)
def messages_have_the_envelope(bench: ManagerBench) -> None:
    """Every message of the manager has the envelope, and `sender` is league_manager.

    R-ENV-01: document 001 section 1.2
    Leniency: a message without an envelope is taken
    """
    for each in _broadcasts(bench):
        said = said_in(each)
        missing = [name for name in ENVELOPE if not isinstance(said.get(name), str)]
        if missing:
            raise Broken(f"`{missing[0]}`", each.exchange())
        if said["protocol"] != "league.v2" or said["sender"] != "league_manager":
            raise Broken("`protocol` league.v2, `sender` league_manager", each.exchange())


@MANAGER.rule(
    "messages.have-the-time-in-utc", SHOULD, needs=("manager.messages.have-the-envelope",)
)
def messages_have_the_time(bench: ManagerBench) -> None:
    """The `timestamp` of a message is UTC, like 2026-01-15T10:30:00Z.

    R-TIME-01: document 004 section 10.4
    Mend: Write the time in UTC, with Z at its end.
    Leniency: the time of a message to us is not judged
    """
    for each in _broadcasts(bench):
        if not IS_TIME.fullmatch(str(said_in(each).get("timestamp"))):
            raise Broken("`timestamp` like 2026-01-15T10:30:00Z", each.exchange())


def _after_the_end(bench: ManagerBench) -> None:
    bench.finished()
    if not bench.is_up():
        raise NotApplicable("the manager ends with its league")


@MANAGER.rule("end.table-stays", PLUS, needs=(*ENDED, *ANSWERS))
@about_everybody
def table_stays(bench: ManagerBench) -> None:
    """The table can be asked for after the end of the league.

    R-TABLE-07: document 004 section 8.2
    Mend: Keep answering GET_STANDINGS when the league is over.
    """
    _after_the_end(bench)
    if sums(standings(bench)) != played(bench, len(bench.play.rounds)):
        raise Broken("the final table")


@MANAGER.rule("end.registration", SHOULD, needs=ENDED)
def registration_after_the_end(bench: ManagerBench) -> None:
    """A manager refuses a registration after the end, with E031.

    R-LEAGUE-20: document 001 section 6.1
    Mend: Answer with the error E031, or REJECTED, when the league is over.
    """
    _after_the_end(bench)
    player = bench.spare("player", "Kit straggler")
    answer = bench.ask(bench.registration(player))
    if bench.is_in(player, answer):
        raise Broken("a refusal with E031, for the league is over")
    expect_reason(bench, answer, ("E031", "E019"), "over|ended|complete|start|closed")


@MANAGER.rule("end.report", SHOULD, needs=ENDED)
def report_after_the_end(bench: ManagerBench) -> None:
    """A report that contradicts the final table is refused, and changes nothing.

    R-LEAGUE-10: document 001 section 5.1
    Mend: Answer a report with the error 5003 when its match is over, also after the end.
    """
    _after_the_end(bench)
    match = bench.play.rounds[-1][0]
    outcome = bench.play.results[match.match_id]
    loser = match.player_b if outcome.winner == match.player_a else match.player_a
    asked = bench.report(match, type(outcome)(loser))
    expect_reason(bench, bench.ask(asked), ("E044", 5003, "E031"), "over|duplicate|already")

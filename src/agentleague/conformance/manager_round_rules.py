"""The rules for managers about the first round: who is told what of it, and who is still let in."""

import re

from agentleague.conformance.listener import Received
from agentleague.conformance.manager_agents import is_about_round, said_in
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.manager_checks import (
    about_everybody,
    announcements,
    expect_reason,
    last_of,
    rows_in,
    shown,
    standings,
)
from agentleague.conformance.manager_registration_rules import (
    BOTH_ARE_IN,
    MANAGER,
    UNICODE_NAME,
)
from agentleague.conformance.rules import Broken, NotApplicable, NotReached, Tier
from agentleague.dialects.starting import WITH_MATCHES, find_matches

MUST, SHOULD, ROBUST, PLUS = Tier
STARTS = ("manager.league.starts",)
SOUND = ("manager.announcement.names-the-matches", "manager.announcement.nobody-plays-twice")


def _first(bench: ManagerBench) -> Received:
    """The announcement by which the kit knows that the league has begun."""
    bench.started()
    found = bench.heard(is_about_round(1), 0, bench.in_league())
    assert found
    return found


@MANAGER.rule("league.starts", MUST, needs=(*BOTH_ARE_IN, "manager.registration.ids-differ"))
@about_everybody
def league_starts(bench: ManagerBench) -> None:
    """Once all agents are registered the manager announces the first round to a player.

    R-FLOW-01: document 001 section 3.1
    Mend: Make the schedule when the last player has registered, and send ROUND_ANNOUNCEMENT.
    """
    try:
        bench.started()
    except NotReached as reason:
        said = (last_of(each) for each in bench.players)
        heard = next((each for each in said if each), None)
        raise Broken(str(reason), heard, is_late=not heard) from None


@MANAGER.rule("announcement.reaches-everybody", MUST, needs=STARTS)
def announcement_reaches_everybody(bench: ManagerBench) -> None:
    """Every player is sent ROUND_ANNOUNCEMENT.

    R-LEAGUE-25: document 004 section 4.1
    Mend: Send ROUND_ANNOUNCEMENT to the contact_endpoint of each registered player.
    """
    announcements(bench)


@MANAGER.rule("announcement.names-the-matches", MUST, needs=STARTS)
@about_everybody
def announcement_names_the_matches(bench: ManagerBench) -> None:
    """An announcement names every match of the round, and two registered players for each.

    R-LEAGUE-25: document 004 section 4.1.2
    Mend: Fill `matches` with match_id, player_A_id and player_B_id of each match.
    """
    known = {each.id for each in bench.in_league()}
    matches = bench.started()
    ids = [each.match_id for each in matches]
    if len(matches) != len(known) // 2 or len(set(ids)) != len(ids) or not all(ids):
        raise Broken(f"{len(known) // 2} matches with an id each", _first(bench).exchange())
    for match in matches:
        if not {match.player_a, match.player_b} <= known:
            raise Broken(f"players of {shown(sorted(known))}", _first(bench).exchange())


@MANAGER.rule("announcement.nobody-plays-twice", MUST, needs=STARTS)
@about_everybody
def nobody_plays_twice(bench: ManagerBench) -> None:
    """In a round nobody plays twice, and nobody against itself.

    R-LEAGUE-31: document 004 section 4.1.4
    Mend: Make rounds in which each player stands once.
    """
    seen: set[str] = set()
    for match in bench.started():
        if {match.player_a, match.player_b} & seen or match.player_a == match.player_b:
            raise Broken(f"{match.player_a} and {match.player_b} once", _first(bench).exchange())
        seen |= {match.player_a, match.player_b}


@MANAGER.rule("announcement.is-complete", SHOULD, needs=STARTS)
@about_everybody
def announcement_is_complete(bench: ManagerBench) -> None:
    """An announcement has the fields of document 001.

    R-LEAGUE-25: document 001 section 3.1
    Mend: Say league_id and round_id, and game_type and referee_endpoint of each match.
    Leniency: what an announcement lacks is not missed
    """
    first = _first(bench)
    said = said_in(first)
    if said.get("league_id") != bench.players[0].league_id or said.get("round_id") != 1:
        raise Broken("the `league_id` of the registration and `round_id` 1", first.exchange())
    for row in rows_in(said, "matches"):
        if row.get("game_type") != "even_odd":
            raise Broken('`game_type` "even_odd" for each match', first.exchange())
        if row.get("referee_endpoint") not in {each.url for each in bench.referees}:
            raise Broken("`referee_endpoint`: that of a registered referee", first.exchange())


@MANAGER.rule("announcement.match-ids", SHOULD, needs=STARTS)
def match_ids(bench: ManagerBench) -> None:
    """The id of a match is R, the round, M and its number: R1M1.

    R-LEAGUE-25: document 004 section 4.1.2
    Mend: Name matches R1M1, R1M2, R2M1 and so on.
    Leniency: an id may be any text
    """
    for match in bench.started():
        if not re.fullmatch(rf"R{match.round_id}M\d+", match.match_id):
            raise Broken(f"ids like R{match.round_id}M1", _first(bench).exchange())


@MANAGER.rule(
    "announcement.same-for-all", SHOULD, needs=("manager.announcement.reaches-everybody",)
)
def same_for_all(bench: ManagerBench) -> None:
    """All players are told the same matches.

    R-LEAGUE-25: document 004 section 4.1.2
    Mend: Send each player the whole list of matches.
    """
    expected = {each.match_id for each in bench.started()}
    for each in announcements(bench):
        rows = rows_in(said_in(each), "matches")
        if {str(row.get("match_id")) for row in rows} != expected:
            raise Broken(f"{shown(sorted(expected))}, as others are told", each.exchange())


@MANAGER.rule("announcement.method", SHOULD, needs=STARTS)
def announcement_method(bench: ManagerBench) -> None:
    """A manager calls an agent in JSON-RPC with the method of document 001 and an id.

    R-RPC-08, R-MSG-02: document 001 section 3.1
    Mend: Send {jsonrpc: 2.0, id, method: notify_round, params: the message}.
    Leniency: we take the message type as method, and bare messages too
    """
    first = _first(bench)
    fields = first.fields() or {}
    if (fields.get("jsonrpc"), fields.get("method")) != ("2.0", "notify_round"):
        raise Broken('`jsonrpc` "2.0" and `method` "notify_round"', first.exchange())
    if type(fields.get("id")) not in (int, str):
        raise Broken("`id`, a number or a text", first.exchange())


@MANAGER.rule("assignment.referee-is-told", MUST, needs=SOUND)
@about_everybody
def referee_is_told(bench: ManagerBench) -> str | None:
    """A referee is told of each match that it has to run, or is given it when it asks.

    R-LEAGUE-26: document 000 section 2.5.4
    Mend: Send START_MATCH or ROUND_ANNOUNCEMENT to the contact_endpoint of the referee.
    """
    matches = bench.started()
    at_once = min(len(matches), len(bench.referees))  # Each said that it runs one at once.
    told = bench.told_of(matches, at_once)
    if len(told) >= at_once:
        return None
    asked = [bench.ask(bench.query("GET_MATCHES", referee)) for referee in bench.referees]
    if sum(len(find_matches(answer.fields())) for answer in asked) < at_once:
        untold = next(each for each in matches if each not in told)
        raise Broken(f"a message about {untold.match_id} to a referee", _first(bench).exchange())
    return "only when the referee asks, with GET_MATCHES"


@MANAGER.rule("assignment.names-the-players", SHOULD, needs=("manager.assignment.referee-is-told",))
@about_everybody
def assignment_names_the_players(bench: ManagerBench) -> None:
    """A referee is told who plays, and where it can call the players.

    R-LEAGUE-26, R-REG-04: document 000 section 2.5.4
    Mend: Name each player's id and contact_endpoint in what gives a match to a referee.
    Leniency: our referees look the players up at the ports of the documents
    """
    urls = {each.id: each.url for each in bench.in_league()}
    for match, told in bench.told_of(bench.started(), 1).items():
        if not isinstance(told.message, WITH_MATCHES):
            raise NotReached(f"what told of {match.match_id} names no players")
        row = next(row for row in told.message.matches if row.match_id == match.match_id)
        seats = {row.player_A_id: row.player_A_endpoint, row.player_B_id: row.player_B_endpoint}
        expected = {each: urls.get(each) for each in (match.player_a, match.player_b)}
        if seats != expected:
            raise Broken(f"the ids and end points of {' and '.join(expected)}", told.exchange())


@MANAGER.rule("assignment.is-spread", SHOULD, needs=("manager.assignment.referee-is-told",))
@about_everybody
def assignment_is_spread(bench: ManagerBench) -> None:
    """No referee runs more matches at once than its `max_concurrent_matches`.

    R-LEASE-08: document 000 section 2.5.4
    Mend: Give a referee a further match when it has reported the last one.
    """
    matches = bench.started()
    if len(matches) < 2:
        raise NotApplicable("a round has one match only")
    if bench.play.results:
        raise NotReached("matches were reported already, so nobody can say how many ran at once")
    told = bench.told_of(matches, min(len(matches), len(bench.referees)))
    if len({bench.referee_of(each).id for each in told}) < len(told):
        raise Broken("one match for each referee at once; they said that they run no more")


@MANAGER.rule("registration.late", SHOULD, needs=STARTS)
def registration_late(bench: ManagerBench) -> None:
    """A manager refuses a player that registers after the start, with E019.

    R-LEAGUE-20: document 004 section 9.1.3
    Mend: Answer with `status` REJECTED and "Registration closed - league already started".
    """
    bench.open_match()
    player = bench.spare("player", "Kit latecomer")
    answer = bench.ask(bench.registration(player))
    if bench.is_in(player, answer):
        raise Broken("a refusal with E019, for the league runs")
    expect_reason(bench, answer, ("E019",), "start|late|closed")


@MANAGER.rule(
    "registration.with-its-token", SHOULD, needs=(*STARTS, "manager.registration.gives-a-token")
)
def registration_with_its_token(bench: ManagerBench) -> None:
    """A player that registers again with its token keeps its id while the league runs.

    R-REG-05: document 001 section 9.4
    Mend: Look up the auth_token of a registration before refusing it as late.
    """
    bench.open_match()
    player = bench.sound()[-1]
    before = player.id
    answer = bench.ask(bench.registration(player) | {"auth_token": player.token})
    if not bench.is_in(player, answer) or player.id != before:
        player.id = before
        raise Broken(f"ACCEPTED as {before}")


@MANAGER.rule(
    "registration.name-is-shown", SHOULD, needs=("manager.registration.name-in-unicode", *STARTS)
)
def name_is_shown(bench: ManagerBench) -> None:
    """A player is shown under the name that it registered with, in any script.

    R-LEAGUE-15: document 004 section 3.3.2
    Mend: Keep display_name as it came, in UTF-8.
    """
    bench.started()
    named = [each for each in bench.in_league() if each.name == UNICODE_NAME]
    if not named:
        raise NotReached("no player of that name is in the league")
    if UNICODE_NAME not in str(standings(bench)):
        raise Broken(f"`display_name` {shown(UNICODE_NAME)} in the table")


@MANAGER.rule(
    "announcement.tells-the-commitment", PLUS, needs=("manager.announcement.reaches-everybody",)
)
def announcement_tells_the_commitment(bench: ManagerBench) -> None:
    """The draw of each match is committed to before its round is announced.

    R-LEAGUE-13: ours
    Mend: Add `draw_commitment` to each match of ROUND_ANNOUNCEMENT.
    """
    told = announcements(bench)
    rows = [row for each in told for row in rows_in(said_in(each), "matches")]
    if not any(row.get("draw_commitment") for row in rows):
        raise Broken("`draw_commitment` of the receiver's own match", told[0].exchange())

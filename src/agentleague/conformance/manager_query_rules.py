"""The rules for managers about queries: what is told to whom, and what is refused."""

from typing import Any

from agentleague.conformance.bench import Fields
from agentleague.conformance.manager_bench import ManagerBench
from agentleague.conformance.manager_checks import (
    FALSE_HASH,
    MISSING,
    NO_TOKEN,
    WRONG_TOKEN,
    about_everybody,
    expect_reason,
    lacks,
    reason_of,
    rows_in,
    shown,
)
from agentleague.conformance.manager_registration_rules import MANAGER
from agentleague.conformance.manager_round_rules import SOUND, STARTS
from agentleague.conformance.rules import Broken, Tier
from agentleague.conformance.wire_rules import FIRST, add_first_rules

MUST, SHOULD, ROBUST, PLUS = Tier
ANSWERS = ("manager.query.standings",)


def _told(bench: ManagerBench, query_type: str, **params: Any) -> Fields:
    """What a query is answered with; breaks the rule if it is refused."""
    bench.started()
    answer = bench.ask(bench.query(query_type, query_params=params))
    found = reason_of(bench, answer)
    if found is not None:
        code = found.code or found.number or "without a code"
        raise Broken(f"an answer to {query_type}, and no refusal ({code})")
    return bench.said(answer)


def _within(said: Fields, name: str) -> Any:
    data = said.get("data")
    return data.get(name) if isinstance(data, dict) and name in data else said.get(name)


add_first_rules(MANAGER, FIRST)


@MANAGER.rule("query.standings", MUST, needs=STARTS)
@about_everybody
def query_standings(bench: ManagerBench) -> None:
    """A manager answers GET_STANDINGS with a row for each player.

    R-TABLE-07: document 004 section 8.2
    Mend: Answer league_query with `data.standings`, a list of rows.
    """
    rows = rows_in(_told(bench, "GET_STANDINGS"))
    if {str(row.get("player_id")) for row in rows} != {each.id for each in bench.in_league()}:
        raise Broken("`standings` with a row for each player")


@MANAGER.rule("query.answer-is-documented", SHOULD, needs=ANSWERS)
def query_answer_is_documented(bench: ManagerBench) -> None:
    """The answer to a query repeats `query_type`, and says `success` and `data`.

    R-LEAGUE-29, R-MSG-15: document 004 section 8.2.2
    Mend: Answer with message_type LEAGUE_QUERY_RESPONSE, query_type, success and data.
    Leniency: the content is found in `data` and beside it
    """
    said = _told(bench, "GET_STANDINGS")
    expected = {
        "message_type": "LEAGUE_QUERY_RESPONSE",
        "query_type": "GET_STANDINGS",
        "success": True,
    }
    for name, value in expected.items():
        if said.get(name) != value:
            raise Broken(f"`{name}` {shown(value)}")
    if not isinstance(said.get("data"), dict):
        raise Broken("`data`, an object")


@MANAGER.rule("query.repeats-the-conversation", SHOULD, needs=ANSWERS)
def query_repeats_the_conversation(bench: ManagerBench) -> None:
    """The answers to a query and to a registration have the `conversation_id` of the request.

    R-ERR-06: document 004 section 10.2
    Mend: Copy conversation_id from the request into the answer.
    Leniency: the conversation of an answer is not read
    """
    asked = bench.control()
    if bench.said(bench.ask(asked)).get("conversation_id") != asked["conversation_id"]:
        raise Broken(f"`conversation_id` {asked['conversation_id']}")
    registered = bench.players[0].exchange
    assert registered
    if str(bench.said(registered.answer).get("conversation_id")).encode() not in registered.sent:
        raise Broken("the `conversation_id` of the registration", registered)


@MANAGER.rule("query.schedule", SHOULD, needs=ANSWERS)
def query_schedule(bench: ManagerBench) -> None:
    """A manager answers GET_SCHEDULE with the matches.

    R-LEAGUE-29: document 004 section 8.1.2
    Mend: Answer GET_SCHEDULE with the rounds and their matches in `data`.
    """
    said = str(_told(bench, "GET_SCHEDULE"))
    for match in bench.started():
        if repr(match.match_id) not in said:
            raise Broken(f"{match.match_id} among the matches")


@MANAGER.rule("query.schedule-of-a-round", SHOULD, needs=("manager.query.schedule",))
def query_schedule_of_a_round(bench: ManagerBench) -> None:
    """A manager answers GET_SCHEDULE with `round_id` with the matches of that round alone.

    R-LEAGUE-29: document 004 section 8.1.1
    Mend: Leave out the other rounds where query_params.round_id is given.
    """
    first = bench.started()
    said = str(_told(bench, "GET_SCHEDULE", round_id=1))
    if not all(repr(match.match_id) in said for match in first):
        raise Broken("the matches of round 1")
    whole = str(_told(bench, "GET_SCHEDULE"))
    if len(said) >= len(whole) and "R2M1" in said:
        raise Broken("no match of round 2")


@MANAGER.rule(
    "query.next-match", SHOULD, needs=(*ANSWERS, *SOUND, "manager.registration.gives-a-token")
)
@about_everybody
def query_next_match(bench: ManagerBench) -> None:
    """A manager answers GET_NEXT_MATCH with the player's next match and its opponent.

    R-LEAGUE-29: document 004 section 8.2.1
    Mend: Answer with data.next_match: match_id, round_id, opponent_id, referee_endpoint.
    """
    match = bench.open_match()
    seats = [
        next(each for each in bench.players if each.id == seat)
        for seat in (match.player_a, match.player_b)
    ]
    asker, opponent = sorted(seats, key=lambda each: bool(each.fault))
    answer = bench.ask(bench.query("GET_NEXT_MATCH", asker, query_params={"player_id": asker.id}))
    expected = {"match_id": match.match_id, "opponent_id": opponent.id, "round_id": match.round_id}
    if lacks(_within(bench.said(answer), "next_match"), expected):
        raise Broken(f"`next_match` with {shown(expected)}")


@MANAGER.rule("query.player-stats", SHOULD, needs=(*ANSWERS, "manager.registration.gives-a-token"))
def query_player_stats(bench: ManagerBench) -> None:
    """A manager answers GET_PLAYER_STATS with what the player has won and lost.

    R-LEAGUE-29: document 004 section 8.1.2
    Mend: Answer GET_PLAYER_STATS with data.player_stats.
    """
    bench.started()
    said = _told(bench, "GET_PLAYER_STATS", player_id=bench.players[0].id)
    if not isinstance(_within(said, "player_stats"), dict) and "wins" not in str(said):
        raise Broken("`player_stats`, an object")


@MANAGER.rule("query.status", PLUS, needs=ANSWERS)
def query_status(bench: ManagerBench) -> None:
    """A manager answers GET_STATUS with the state of the league.

    R-LEAGUE-29, R-LEAGUE-24: document 001 section 7.1
    Mend: Answer GET_STATUS with `status`: RUNNING_LEAGUE and the like.
    """
    bench.open_match()
    said = _told(bench, "GET_STATUS")
    if _within(said, "status") != "RUNNING_LEAGUE":
        raise Broken("`data.status` RUNNING_LEAGUE")


@MANAGER.rule("query.agents", PLUS, needs=ANSWERS)
@about_everybody
def query_agents(bench: ManagerBench) -> None:
    """A manager answers GET_AGENTS with the players and the referees.

    R-QUERY-01: ours
    Mend: Answer GET_AGENTS with data.agents, a list.
    """
    rows = rows_in(_told(bench, "GET_AGENTS"), "agents")
    if len(rows) < len(bench.in_league()):
        raise Broken("`data.agents`, with a row for each agent")


@MANAGER.rule("query.unknown-type", SHOULD, needs=ANSWERS)
def query_of_unknown_type(bench: ManagerBench) -> None:
    """A manager refuses a query of an unknown type, with 6002.

    R-LEAGUE-30: document 001 section 7.1
    Mend: Answer with the error 6002 (E046) where query_type is none of the documents'.
    """
    bench.started()
    answer = bench.ask(bench.query("GET_WEATHER_FORECAST"))
    expect_reason(bench, answer, ("E046", 6002), "query.?type|unknown|unsupported")


@MANAGER.rule("query.without-type", SHOULD, needs=ANSWERS)
def query_without_type(bench: ManagerBench) -> None:
    """A manager refuses a query without `query_type`, with E003.

    R-MSG-04: document 004 section 10.5 rule 3
    Mend: Answer with the error E003 (-32602) where query_type is missing.
    """
    asked = bench.control()
    del asked["query_type"]
    expect_reason(bench, bench.ask(asked), (*MISSING, "E046", 6002), "query_type")


@MANAGER.rule("query.unknown-player", SHOULD, needs=ANSWERS)
def query_about_an_unknown_player(bench: ManagerBench) -> None:
    """A query about a player who is not in the league fails with E005.

    R-LEAGUE-30: document 004 section 8.2.1
    Mend: Answer with the error E005, or `success` false, where player_id is unknown.
    """
    bench.started()
    asked = bench.query("GET_PLAYER_STATS", query_params={"player_id": "P98"})
    expect_reason(bench, bench.ask(asked), ("E005", 3002), "player")


@MANAGER.rule("query.without-token", SHOULD, needs=("manager.query.next-match",))
def query_without_token(bench: ManagerBench) -> None:
    """A manager tells a player's next match to nobody without a token, with E011.

    R-LEAGUE-30: document 001 section 1.4
    Mend: Refuse GET_NEXT_MATCH without auth_token with the error 6001, E011.
    """
    asked = _about_the_first(bench)
    del asked["auth_token"]
    expect_reason(bench, bench.ask(asked), NO_TOKEN, "token")


@MANAGER.rule("query.wrong-token", SHOULD, needs=("manager.query.next-match",))
def query_with_wrong_token(bench: ManagerBench) -> None:
    """A manager refuses a query whose token it gave to nobody, with 6001.

    R-ERR-09: document 001 section 7.1
    Mend: Compare auth_token with the token that the player was given; else error 6001, E012.
    """
    asked = _about_the_first(bench)
    asked["auth_token"] = f"tok_{bench.players[0].id}_{FALSE_HASH}"
    expect_reason(bench, bench.ask(asked), WRONG_TOKEN, "token")


def _about_the_first(bench: ManagerBench) -> Fields:
    bench.started()
    return bench.query("GET_NEXT_MATCH", query_params={"player_id": bench.players[0].id})


@MANAGER.rule("query.changes-nothing", ROBUST, needs=ANSWERS)
def query_changes_nothing(bench: ManagerBench) -> None:
    """Queries change nothing: the same query gives the same table.

    R-LEAGUE-29: document 001 section 7.1
    Mend: Compute nothing anew when the table is asked for.
    """
    bench.started()
    tables = [rows_in(_told(bench, "GET_STANDINGS")) for _ in range(3)]
    if tables[0] != tables[-1]:
        raise Broken("the same table as before")

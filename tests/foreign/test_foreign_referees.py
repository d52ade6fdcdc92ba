"""Foreign referees run the matches of our league, each in its own way."""

import asyncio
from collections import Counter
from random import Random

import msgspec
import pytest

from agentleague.league.events import RefereeRegistered, RoundScheduled
from agentleague.protocol.messages import GameOver, LeagueStandingsUpdate
from foreign.league import play
from rules import rule

# Every way of being started and of reporting that was seen, with the things that trip a caller.
SHAPES = [
    "start=start",
    "start=assign,unknown=404,report=name",
    "start=assignment,call=type,unknown=inside,register=type",
    "start=run,names=1,answer=late,report=word",
    "start=announce,unknown=rpc,token=no",
    "start=start,call=type,unknown=404,answer=result,report=flat",
    "start=announce,unknown=ok,answer=ok,report=points",
    "start=start,call=message,unknown=500,register=message,report=zero",
    "start=assignment,call=bare,unknown=400,register=bare,report=bare",
    "call=mcp,names=a,register=mcp,busy=yes",
    "call=own,names=url,unknown=404,answer=result",
    "strict=fields,names=a,unknown=422,register=alias,token=no",
    "start=run,answer=result,report=seat",
    "start=announce,call=type,unknown=type,answer=ok",
    "start=command,names=object,report=named,sender=same,register=tool",
    "start=own,unknown=lists,names=a,report=seats,token=own,league=own",
    "start=command,call=type,unknown=404,where=asked,token=own,report=unnamed",
    "start=own,call=type,unknown=lists,where=asked,report=words,register=type",
]
SPOKEN = {
    "start=start": "start_match/tool",
    "start=announce,unknown=ok,answer=ok,report=points": "notify_round/tool",
    "start=assignment,call=bare,unknown=400,register=bare,report=bare": "match_assignment/bare",
    "strict=fields,names=a,unknown=422,register=alias,token=no": "start_match/tool+a",
    "call=own,names=url,unknown=404,answer=result": "start_match/mcp",
}
HALF = len(SHAPES) // 2
TOKENS = ["yes", "no", "own"]
WHERE = ["told", "asked"]
LEAGUES = ["ours", "own"]
WON = ("WIN", "DRAW")
STARTS = ["start", "assign", "assignment", "run", "command", "announce"]
CALLS = ["tool", "type", "message", "bare", "mcp", "own"]
UNKNOWN = ["rpc", "lists", "type", "inside", "400", "404", "405", "422", "500", "501"]
ANSWERS = ["started", "ok", "result", "late"]
REPORTS = ["documented", "name", "word", "flat", "zero", "bare", "points", "seat"]
REPORTS += ["named", "seats", "words", "unnamed"]
NAMES = ["A", "a", "1", "url", "object"]


def crossed(random):
    """A shape that nobody thought of."""
    traits = {
        "start": random.choice(STARTS),
        "call": random.choice(CALLS),
        "unknown": random.choice(UNKNOWN),
        "answer": random.choice(ANSWERS),
        "report": random.choice(REPORTS),
        "names": random.choice(NAMES),
        "token": random.choice(TOKENS),
        "where": random.choice(WHERE),
        "league": random.choice(LEAGUES),
    }
    return ",".join(f"{name}={value}" for name, value in traits.items())


def played_with(directory, shapes, **rules):
    """A league with as many matches a round as there are referees, so that each has one."""
    odd = [f"moves=odd,number={n}" for n in range(len(shapes))]
    return asyncio.run(play(directory, odd, good=len(shapes), referees=shapes, ours=False, **rules))


def moves_of(played):
    shapes = played.shapes()
    return {each: "odd" if each in shapes else "even" for each in played.league.roster.players}


def assert_right(played):
    """Every match was played once, and its result follows from the moves of its players."""
    moves, results = moves_of(played), {d.match_id: d.result for d in played.decided()}
    for match_id, file in played.league.matches.items():
        result, (one, other) = results[match_id], file.players
        assert file.epoch == 1, (match_id, file.referee_id)
        if moves[one] == moves[other]:
            assert (result.status, result.winner_player_id) == ("DRAW", None), match_id
        else:
            assert (result.status, result.winner_player_id in file.players) == ("WIN", True)
        if result.drawn_number is not None and result.winner_player_id:
            parity = "odd" if result.drawn_number % 2 else "even"
            assert moves[result.winner_player_id] == parity
        assert not file.disputes, file.disputes
    assert (played.findings.complete, played.findings.difference) == (True, None)
    assert len(played.findings.believed) == len(results)


def assert_all_had_some(played, shapes):
    rounds = [event for event in played.events if isinstance(event, RoundScheduled)]
    had = {match.referee_id for event in rounds for match in event.matches}
    assert len(had) == len(shapes)
    assert all(referee_id in played.league.roster.dialects for referee_id in had)


@rule("R-START-01", "R-START-02", "R-START-03", "R-LEAGUE-12")
@pytest.mark.parametrize("shapes", [SHAPES[:HALF], SHAPES[HALF:]])
def test_referees_of_every_shape_that_was_seen_bring_a_league_to_its_end(tmp_path, shapes):
    # A referee that says ok to everything has as long before it is told otherwise.
    played = played_with(tmp_path, shapes, join_seconds=2.0, move_seconds=3.0)

    assert_right(played)
    assert_all_had_some(played, shapes)
    spoken = played.league.roster.dialects
    for referee in played.league.roster.referees.values():
        known = SPOKEN.get(referee.display_name, spoken[referee.agent_id])
        assert spoken[referee.agent_id] == known


@rule("R-MSG-07", "R-REG-03", "R-REG-12")
def test_referees_that_write_null_share_a_path_or_listen_late_run_their_matches(tmp_path):
    shapes = ["register=shared,sends=null", "register=nulls,listens=2,start=announce,unknown=rpc"]

    played = played_with(tmp_path, shapes)

    assert_right(played)
    assert_all_had_some(played, shapes)
    assert played.league.roster.referees["REF01"].display_name == "R7"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_referees_crossed_at_random_do_too(tmp_path, seed):
    random = Random(seed)
    shapes = [crossed(random) for _ in range(5)]

    played = played_with(tmp_path, shapes)

    assert_right(played)
    assert_all_had_some(played, shapes)


# How foreign referees speak to players: all that was seen, and its neighbours.
SPEAKERS = [
    "league=own,calls=type,reads=choice",
    "calls=wrapped,sends=null,reads=top",
    "league=own,calls=type,sends=nested,reads=push",
    "calls=lower,sends=game,reads=strict",
    "league=own,calls=beside,sends=none,reads=top",
    "calls=bare,sends=own,reads=choice",
    "calls=wrapped,sends=nested,reads=strict",
]


@rule("R-START-07", "R-PLAYER-05", "R-GUEST-05")
def test_our_players_play_under_referees_that_speak_to_them_in_every_way_that_was_seen(tmp_path):
    players = 2 * len(SPEAKERS)

    played = asyncio.run(play(tmp_path, [], good=players, referees=SPEAKERS, ours=False))

    assert_right(played)
    assert_all_had_some(played, SPEAKERS)


def crossed_speaker(random):
    """One that speaks to players as nobody thought of; who waits for pushes calls by types."""
    reads = random.choice(["result", "choice", "top", "strict", "push"])
    by_type = ["type", "lower", "beside"]
    traits = {
        "league": random.choice(["own", "given"]),
        "calls": random.choice(
            by_type if reads == "push" else ["tool", "wrapped", "bare", *by_type]
        ),
        "sends": random.choice(["all", "nested", "null", "game", "own", "none", "where"]),
        "reads": reads,
    }
    return ",".join(f"{name}={value}" for name, value in traits.items())


@pytest.mark.parametrize(
    ("seed", "referees"), [(1, 8), pytest.param(2, 24, marks=pytest.mark.slow)]
)
def test_our_players_play_under_referees_that_are_crossed_at_random(tmp_path, seed, referees):
    random = Random(seed)
    shapes = [crossed_speaker(random) for _ in range(referees)]

    played = asyncio.run(play(tmp_path, [], good=2 * referees, referees=shapes, ours=False))

    assert_right(played)
    assert_all_had_some(played, shapes)


@rule("R-FLOW-04", "R-TABLE-08")
@pytest.mark.parametrize("referees", [[], ["start=start"]])
def test_each_player_hears_how_its_match_ended_before_a_table_counts_it(tmp_path, referees):
    over, early, shown = Counter(), [], set()

    def watch(player_id, message):
        if isinstance(message, GameOver):
            over[player_id] += 1
        elif isinstance(message, LeagueStandingsUpdate):
            rows = msgspec.json.decode(msgspec.json.encode(message.standings))
            played = {row["player_id"]: row["played"] for row in rows}
            shown.add(sum(played.values()) // 2)
            if played[player_id] > over[player_id]:
                early.append(player_id)

    ours = not referees
    rules = {"watch": watch, "standings_seconds": 0.0}
    asyncio.run(play(tmp_path, [], good=4, referees=referees, ours=ours, **rules))

    assert (early, max(shown)) == ([], 6)
    # One match at a time: the table of the first goes out before the second can end.
    assert ours or {1, 3, 5} <= shown


@rule("R-ACCESS-02")
def test_referees_that_know_no_code_wait_and_work_when_they_are_let_in(tmp_path):
    """They register once and are never started again, with their token or without."""
    shapes = ["numbers=0+57+100", "start=announce,unknown=rpc,token=no,report=name"]
    options = {"lowest": 0, "highest": 100}

    played = played_with(tmp_path, shapes, referee_code="lusab-bagod-gutuh", game_options=options)

    waited = [each for each in played.events if isinstance(each, RefereeRegistered)]
    assert [event.waiting for event in waited] == [True, True]
    assert_right(played)
    assert_all_had_some(played, shapes)


@rule("R-START-05")
def test_a_match_that_both_lost_is_no_draw_in_the_table_and_verify_agrees(tmp_path):
    shapes = ["lost=1", "lost=1,report=seats,answer=result", "lost=1,report=seats"]

    played = played_with(tmp_path, shapes)

    lost = [file for file in played.league.matches.values() if file.result.status not in WON]
    assert {(file.result.winner_player_id, file.referee_id) for file in lost} == {
        (None, "REF01"),
        (None, "REF02"),
        (None, "REF03"),
    }
    rows = played.league.table.rows()
    assert sum(row.technical_losses for row in rows) == 2 * len(lost) == 6
    assert all(row.points == 3 * row.wins + row.draws for row in rows)
    assert (played.findings.complete, played.findings.difference) == (True, None)


@rule("R-START-03", "R-LEASE-01")
def test_what_breaks_the_rules_is_disputed_and_what_is_dropped_goes_to_another(tmp_path):
    """The first drops a match; the second gives player A a match in which both are right."""
    shapes = ["fails=1,start=command,names=object,token=own", "rule=A,answer=late,report=unnamed"]
    rules = {"join_seconds": 0.5, "move_seconds": 0.5, "reply_seconds": 0.5, "retries": 0}
    rules |= {"join_retries": 0, "game_over_seconds": 0.5}

    played = asyncio.run(play(tmp_path, [], good=4, referees=shapes, ours=False, **rules))

    matches = played.league.matches
    disputed = [file for file in matches.values() if file.disputes]
    assert matches["R1M1"].referees == ["REF01", "REF02"]
    assert {file.disputes[0].referee_id for file in disputed} == {"REF02"}
    assert "by the rules nobody won" in disputed[0].disputes[0].why
    assert all(file.closed for file in matches.values())
    assert (played.findings.complete, played.findings.difference) == (True, None)

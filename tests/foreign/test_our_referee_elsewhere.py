"""Our referees and players in foreign leagues."""

import asyncio
import json
import sys
from pathlib import Path
from random import Random, randrange

import pytest

from agentleague.roles.settings import PlayerSettings, RefereeSettings
from agentleague.runtime.processes import Place, open_player, open_referee
from foreign.league import PLAYERS
from hostile.contest import place
from rules import rule

FOREIGN_LEAGUES = Path(__file__).with_name("leagues.py")
SECONDS = 120
BY_HAND = ("call=choose,unknown=404,answer=choice,moves=odd", "call=type,unknown=rpc")
MOVES = {"P01": "odd", "P02": "even", "P03": "even"}  # of the two by hand, and of ours

# Every way to register, to start a match, and to say who plays, that was seen.
SHAPES = [
    "start=start_match",
    "form=type,unknown=404,start=START_MATCH,seats=letters,yes=registered",
    "form=league,unknown=ok,start=assign_match,seats=numbers,where=asked",
    "form=lower,unknown=500,start=announce",
    "form=message,unknown=400,start=MATCH_ASSIGNMENT,call=message,seats=list",
    "form=bare,unknown=ok,start=MATCH_ASSIGNMENT,call=bare,seats=map,yes=flat",
    "form=mcp,unknown=rpc,start=run_match,call=mcp,result=answer",
    "form=path,unknown=404,start=run_match,result=answer,threads=no",
    "form=api,unknown=405,start=start_match,threads=no,seats=letters",
    "form=named,unknown=404,start=announce,seats=letters,where=asked,strict=fields",
    "form=role,unknown=422,start=assign_match,call=mcp,seats=list",
]
# Every way to take somebody in, to be asked for matches, and to read a report; `fails`: it counts,
# and then answers with an error.
MORE_SHAPES = [
    "yes=unnamed,needs=version+agent_type,form=type,unknown=rpc,reads=flat,start=START_MATCH",
    "yes=empty,form=league,unknown=404,needs=endpoint,draw=DRAW,refuses=400,start=announce",
    "yes=id,form=message,unknown=ok,call=message,draw=empty,start=get_assigned_matches",
    "form=type,unknown=404,seats=list,fails=500,start=get_next_match",
    "form=tool,seats=letters,draw=DRAW,fails=rpc,start=GET_MATCHES",
    "form=bare,unknown=400,call=bare,start=MATCH_ASSIGNMENT,fails=error",
    "form=lower,unknown=500,strict=fields,draw=DRAW,open=yes,refuses=500,start=assign_match",
]
FORMS = ["tool", "league", "type", "lower", "message", "bare", "mcp"]
FORMS += ["path", "api", "named", "role"]
UNKNOWN = ["rpc", "ok", "400", "404", "405", "422", "500", "501"]
STARTS = ["start_match", "assign_match", "run_match", "START_MATCH", "MATCH_ASSIGNMENT", "announce"]
MORE = ["threads=no", "strict=fields", "yes=registered", "yes=flat", "where=asked"]


def crossed(random):
    """A shape that nobody thought of."""
    traits = {
        "form": random.choice(FORMS),
        "unknown": random.choice(UNKNOWN),
        "start": random.choice(STARTS),
        "call": random.choice(["flat", "message", "mcp", "bare"]),
        "seats": random.choice(["documented", "letters", "numbers", "list"]),
    }
    return ",".join([random.choice(MORE), *(f"{name}={value}" for name, value in traits.items())])


async def play(shapes, by_hand=BY_HAND, program=FOREIGN_LEAGUES, **how):
    """A league of each of these shapes, with two foreign players, our player and our referee."""
    players = await asyncio.create_subprocess_exec(
        sys.executable, str(PLAYERS), "-", *by_hand, stdout=asyncio.subprocess.PIPE
    )
    urls = [(await players.stdout.readline()).decode().strip() for _ in by_hand]
    by_hand = f"players={'+'.join(urls)}"
    leagues = await asyncio.create_subprocess_exec(
        sys.executable,
        *(str(program), "3", *(f"{shape},{by_hand}" for shape in shapes)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**20,
    )
    ours = []
    try:
        for _ in shapes:
            manager = (await leagues.stdout.readline()).decode().strip()
            ours += await join(manager, urls, **how)
        await asyncio.wait([agent.ended for agent in ours], timeout=SECONDS)
        assert [agent.url for agent in ours if not agent.ended.done()] == []
        told, _ = await leagues.communicate(b"")  # They have told all they know.
    finally:
        for process in (players, leagues):
            if process.returncode is None:
                process.kill()
            await process.wait()
        for agent in ours:
            await agent.stop()
    in_the_end = told.splitlines()[len(shapes) :]
    return dict(zip(shapes, map(json.loads, in_the_end), strict=True))


async def join(manager, urls, where=None, is_given=False):
    """A referee and a player of ours; the referee may be told where players are."""
    player = await open_player(
        lambda url: PlayerSettings(manager_url=manager, endpoint=url, display_name="Ann"),
        lambda turn: "even",
        where or place(),
    )
    given = {f"P0{n}": url for n, url in enumerate([*urls, player.url], 1)} if is_given else {}
    referee = await open_referee(
        lambda url: RefereeSettings(manager_url=manager, endpoint=url, player_endpoints=given),
        place(),
    )
    return [referee, player]


def check(matches):
    """Every pair met once, and what its manager was told of it follows from the rules."""
    pairs = [match["players"] for match in matches.values()]
    assert pairs == [["P01", "P02"], ["P01", "P03"], ["P02", "P03"]]
    for match in matches.values():
        (result,) = match["results"]
        a, b = match["players"]
        assert result["details"]["choices"] == {a: MOVES[a], b: MOVES[b]}
        parity = ("even", "odd")[result["details"]["drawn_number"] % 2]
        right = [who for who in (a, b) if MOVES[who] == parity]
        winner = right[0] if len(right) == 1 else None
        assert result["winner"] == winner
        assert result["score"] == {
            who: 3 if who == winner else 0 if winner else 1 for who in (a, b)
        }


@rule("R-GUEST-01", "R-GUEST-02", "R-GUEST-03")
def test_our_referee_runs_the_matches_of_every_kind_of_foreign_league_that_was_seen():
    for shape, matches in asyncio.run(play(SHAPES)).items():
        print(shape)
        check(matches)


@rule("R-DIA-10", "R-GUEST-03", "R-GUEST-06", "R-GUEST-07")
def test_it_registers_asks_for_matches_and_reports_once_as_each_league_wants_it():
    for shape, matches in asyncio.run(play(MORE_SHAPES)).items():
        print(shape)
        check(matches)


NOWHERE = "where=nowhere,seats=letters,start=assign_match"


@rule("R-GUEST-08")
def test_it_finds_players_of_whom_no_manager_says_where_they_are():
    (matches,) = asyncio.run(play([NOWHERE], is_given=True)).values()
    check(matches)

    host = f"127.{randrange(1, 250)}.{randrange(250)}.{randrange(2, 250)}"  # Its ports are free.
    by_hand = [f"{shape},at={host}:810{number}" for number, shape in enumerate(BY_HAND, 1)]
    where = Place(8103, hosts=(host,))
    (matches,) = asyncio.run(play([f"{NOWHERE},host={host}"], by_hand, where=where)).values()
    check(matches)


@pytest.mark.parametrize("seed", [1, 2])
def test_it_does_so_in_leagues_crossed_at_random(seed):
    random = Random(seed)

    for shape, matches in asyncio.run(play([crossed(random) for _ in range(5)])).items():
        print(shape)
        check(matches)

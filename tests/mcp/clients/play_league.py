"""A client of others plays a league as a model in a host would: play_league.py KIND URL."""

import asyncio
import json
import sys

from connect import connected


async def main(kind, url):
    """Play to the end, then print what was seen on the way."""
    moves = []
    async with connected(kind, url) as client:
        tools, prompt = await client.listed("tools"), await client.prompt("play")
        joined = await client.call("join_league", name=kind)
        shown, seat = {"status": "waiting"}, joined["seat"]
        while shown["status"] != "league_over":
            shown = await client.call("wait_for_turn", seat=seat)
            if shown["status"] == "your_turn":
                move = {"move": shown["legal_moves"][-1], "turn_id": shown["turn_id"]}
                moves.append(await client.call("submit_move", seat=seat, **move))
        table = await client.call("get_standings", seat=seat)
        match = await client.call("get_match", match_id=moves[0]["match_id"])
        shown_table = await client.read("league://standings")
    told = {
        "tools": tools,
        "prompt": prompt,
        "joined": joined,
        "moves": moves,
        "final": shown["final"],
    }
    print(json.dumps({**told, "table": table, "match": match, "resource": shown_table}))


asyncio.run(main(*sys.argv[1:]))

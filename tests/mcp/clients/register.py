"""A client of others registers a player and asks as that player: register.py KIND URL."""

import asyncio
import json
import sys

from connect import Refused, connected


async def main(kind, url):
    """Print what there is, who it became, and what it was told with its token and without."""
    meta = {"display_name": kind, "contact_endpoint": "http://127.0.0.1:9/mcp"}
    async with connected(kind, url) as client:
        lists = {each: await client.listed(each) for each in ("tools", "resources", "prompts")}
        joined = await client.call("register_player", player_meta=meta)
        try:
            refused = await client.call("league_query", query_type="GET_NEXT_MATCH")
        except Refused as error:
            refused = str(error)
        told = {"version": client.version, **lists, "joined": joined, "refused": refused}
    async with connected(kind, url, joined["auth_token"]) as client:
        status = await client.call("league_query", query_type="GET_STATUS")
    print(json.dumps({**told, "status": status}))


asyncio.run(main(*sys.argv[1:]))

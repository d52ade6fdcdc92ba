"""A player asks its manager: from its function, from hooks, before, between and after matches."""

import asyncio
import threading
from dataclasses import replace
from functools import partial

import pytest

from agentleague import Player, play_league
from agentleague.errors import LeagueError
from agentleague.roles.settings import PlayerSettings
from agentleague.runtime.local_league import AgentGroup, LocalWorkers
from agentleague.runtime.processes import open_player
from agentleague.transport.guard import Guard
from commands import BIN, SECONDS, first_line, free_port, started
from foreign.http_agent import serve
from hostile.contest import place


def an_asking_player(said):
    """Asks in its function, after each match, and when the league is over."""
    player = Player("Ann")

    @player.plays("even_odd")
    async def choose(turn):
        match = await asyncio.to_thread(player.next_match)
        said["moves"].append((turn.match_id, match["match_id"], turn.player_id, player.player_id))
        return "even"

    @player.on_result
    def match_ended(match):
        said["results"].append([player.stats(), player.stats(match["opponent_id"])])

    @player.on_league_end
    def over(what):
        said["status"], said["table"] = player.status(), player.standings()
        said["rounds"], said["second"] = player.schedule(), player.schedule(round_id=2)
        said["left"] = [player.next_match()]
        said["match"] = player.query("GET_MATCH", match_id="R1M1")["match"]
        with pytest.raises(LeagueError, match="no match 'R99M1'"):
            player.query("GET_MATCH", match_id="R99M1")
        said["refused"] = True

    return player


async def play_beside(url, others, play):
    """Play with a referee and so many other players."""
    group = partial(AgentGroup, manager_url=url, game="even_odd", seed="1")
    workers = [LocalWorkers(group("referee", 0, 1)), LocalWorkers(group("player", 0, others))]
    try:
        playing = asyncio.create_task(asyncio.to_thread(play))
        for each in workers:
            await each.start()
        await playing
    finally:
        for each in workers:
            await each.stop()


def test_a_player_asks_while_it_plays_and_when_the_league_is_over(tmp_path, capsys):
    said = {"moves": [], "results": []}
    player, port = an_asking_player(said), free_port()
    manager = started(
        *(BIN / "league", "manager", "--port", port, "--dir", tmp_path / "cup"),
        *("--players", 26),  # More than a page of the table, and of the schedule.
    )
    first_line(manager)

    asyncio.run(
        play_beside(f"http://127.0.0.1:{port}/mcp", 25, lambda: player.run(port, 0, state=tmp_path))
    )

    assert len(said["moves"]) == 25
    assert all(a == b and me == mine for a, b, me, mine in said["moves"])
    assert {own["display_name"] for own, _ in said["results"]} == {"Ann"}
    assert len({other["display_name"] for _, other in said["results"]}) == 25
    assert (said["status"]["status"], said["left"]) == ("LEAGUE_COMPLETED", [None])
    assert len(said["table"]) == 26
    assert [len(each["matches"]) for each in said["rounds"]] == [13] * 25
    assert said["second"] == said["rounds"][1:2]
    assert said["match"]["state"] == "FINISHED"
    assert said["refused"]
    assert "tok_" not in "".join(capsys.readouterr())


class DocumentManager:
    """A foreign manager that answers as document 001 has it: without `data`, all at once."""

    ROWS = ({"rank": 1, "player_id": "P07", "points": 3}, {"rank": 2, "player_id": "P08"})

    def __init__(self):
        self.queries, self.hangs, self.registers = [], threading.Event(), threading.Event()
        self.server = serve(lambda path, body: (200, self.hear(body)))
        self.url = f"http://127.0.0.1:{self.server.server_port}/mcp"

    def hear(self, body):
        asked = body.get("params", {})
        result = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "ACCEPTED"}
        result |= {"player_id": "P07", "auth_token": "abc", "league_id": "theirs"}
        self.registers.wait(SECONDS)
        if asked.get("message_type") == "LEAGUE_QUERY":
            self.queries.append(asked)
            result = {"message_type": "LEAGUE_QUERY_RESPONSE", "query_type": asked["query_type"]}
            if asked["query_type"] == "GET_STANDINGS":
                result |= {"standings": [*self.ROWS], "current_round": 1, "total": 9}
            elif asked["query_type"] == "GET_SCHEDULE":
                result["rounds"] = [{"round": 1}]
            elif asked["query_type"] == "GET_NEXT_MATCH":
                result["next_match"] = {"match_id": "M1"}
            elif asked["query_type"] == "GET_STATUS":
                self.hangs.wait(SECONDS)
            else:
                error = {"code": -32602, "message": "no such player"}
                return {"jsonrpc": "2.0", "error": error, "id": body.get("id")}
        return {"jsonrpc": "2.0", "result": result, "id": body.get("id")}

    def stop(self):
        self.hangs.set()
        self.server.shutdown()
        self.server.server_close()


async def asked_at(manager, questions, where=None):
    """What these questions came to, asked by a player that is registered there."""
    player = Player("Ann")
    agent = await open_player(
        lambda own: PlayerSettings(manager_url=manager.url, endpoint=own, display_name="Ann"),
        lambda turn: "odd",
        where or place(),
    )
    player.attach(agent)
    try:
        with pytest.raises(LeagueError, match="has not registered: nobody answers at http://"):
            await asyncio.to_thread(player.status)  # Its answer is still on the way.
        manager.registers.set()
        await asyncio.wait_for(agent.registered, SECONDS)
        return await asyncio.to_thread(questions, player)
    finally:
        await agent.stop()


def test_a_foreign_manager_is_asked_in_the_documents_words_and_its_shape_is_understood():
    manager = DocumentManager()

    def questions(player):
        shown = [player.standings(), player.schedule(), player.next_match()]
        errors = []
        for ask in (player.stats, lambda: player.status(seconds=0.1)):
            with pytest.raises(LeagueError) as caught:
                ask()
            errors.append(str(caught.value))
        manager.stop()
        with pytest.raises(LeagueError, match=r"the manager at http://.* did not answer"):
            player.standings()
        return shown, errors

    (table, rounds, match), errors = asyncio.run(asked_at(manager, questions))

    assert [row["player_id"] for row in table] == ["P07", "P08"]
    assert (rounds, match) == ([{"round": 1}], {"match_id": "M1"})
    assert errors[0].startswith("the manager refused GET_PLAYER_STATS: ")
    assert errors[0].endswith("no such player")
    assert errors[1] == "the manager did not answer within 0.1 seconds"
    own = [query for query in manager.queries if query["sender"] == "player:P07"]
    by_type = {query["query_type"]: query for query in own}
    assert by_type["GET_NEXT_MATCH"]["query_params"] == {"player_id": "P07"}
    assert {(query["auth_token"], query["league_id"]) for query in own} == {("abc", "theirs")}


def test_a_question_with_its_token_goes_only_where_the_player_itself_may_call():
    class Moved(Guard):
        """Allows its manager until the name leads elsewhere."""

        is_moved = False

        def allows(self, address, endpoint=None):
            return not self.is_moved and super().allows(address, endpoint)

    manager, guard = DocumentManager(), Moved()

    def questions(player):
        guard.is_moved = True
        with pytest.raises(LeagueError, match="does not call"):
            player.standings()

    asyncio.run(asked_at(manager, questions, replace(place(), guard=guard)))
    manager.stop()

    assert manager.queries == []


def test_who_is_in_no_league_is_told_when_to_ask():
    with pytest.raises(LeagueError, match=r"Ann is in no league: ask when player\.run\(\) plays"):
        Player("Ann").standings()


def test_in_memory_there_are_a_table_and_a_status_and_no_manager():
    player, seen = Player("Ann"), []

    @player.plays("even_odd")
    def choose(turn):
        seen.append((player.status()["matches_completed"], player.stats()["played"]))
        assert [row["player_id"] for row in player.standings()] != []
        with pytest.raises(LeagueError, match="play_league has no manager, and no answer to GET_S"):
            player.schedule()
        return "even"

    play_league([player, "random"], seed=1, cycles=2)

    assert seen == [(0, 0), (1, 1)]
    assert player.player_id == ""

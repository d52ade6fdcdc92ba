"""GET_AGENTS and GET_AGENT: who is here, and what they do."""

import msgspec
import pytest

from agentleague.errors import NotRegistered, WrongType
from agentleague.league.events import (
    DialectLearnt,
    LeagueStarted,
    MatchAssigned,
    MatchClosed,
    PlayerRemoved,
    PlayerReturned,
    TokenRenewed,
)
from agentleague.league.queries import respond
from agentleague.protocol.messages import LeagueQuery
from league.decisions import Decisions
from league.querying import BYTES_MAX, ask, size
from rules import rule


def agent(decisions, agent_id, asker=None):
    return ask(decisions, "GET_AGENT", asker, agent_id=agent_id)["agent"]


def suspend(decisions, player_id):
    """Close the player's match with as many silences as it takes."""
    (file,) = decisions.league.matches.of_player[player_id]
    silences = {player_id: (decisions.league.limits.silences_max, False)}
    decisions.lock([], [(player_id, "said nothing")], match_id=file.match_id)
    decisions.record(MatchClosed(file.match_id, 1, silences=silences))


@rule("R-QUERY-01")
def test_players_come_in_the_order_of_their_registration_and_then_referees():
    decisions = Decisions(3, 2).start()

    answer = ask(decisions, "GET_AGENTS")

    assert answer["total"] == 5
    assert [row["agent_id"] for row in answer["agents"]] == ["P01", "P02", "P03", "REF01", "REF02"]
    assert answer["agents"][1] == {
        "agent_id": "P02",
        "kind": "player",
        "display_name": "Agent 2",
        "state": "ACTIVE",
        "activity": "IN_MATCH",
        "matches": 1,
        "open_matches": 1,
    }
    assert answer["agents"][3] == {
        "agent_id": "REF01",
        "kind": "referee",
        "display_name": "Ref01",
        "state": "ACTIVE",
        "activity": None,
        "matches": None,
        "open_matches": 1,
        "endpoint": "http://127.0.0.1:80/REF01/mcp",
    }
    assert answer["agents"][4]["open_matches"] == 0


@rule("R-QUERY-01")
@pytest.mark.parametrize(
    ("params", "ids"),
    [
        ({"kind": "referee"}, ["REF01"]),
        ({"kind": "player", "offset": 1}, ["P02", "P03"]),
        ({"limit": 2}, ["P01", "P02"]),
        ({"name": "agent 2"}, ["P02"]),
        ({"name": "p03"}, ["P03"]),
        ({"name": "Agent 2", "kind": "referee"}, []),
        ({"offset": 4}, []),
        ({"offset": 10**30}, []),
    ],
)
def test_a_page_of_agents(params, ids):
    assert [row["agent_id"] for row in ask(Decisions(3), "GET_AGENTS", **params)["agents"]] == ids


@rule("R-QUERY-01")
@pytest.mark.parametrize("kind", ["manager", "", 1, True, ["player"], {}])
def test_there_are_two_kinds_of_agents(kind):
    with pytest.raises(WrongType, match=r"query_params\.kind must be 'player' or 'referee'"):
        ask(Decisions(2), "GET_AGENTS", kind=kind)


@rule("R-QUERY-01")
def test_the_name_of_an_agent_is_a_text():
    with pytest.raises(WrongType, match=r"query_params\.name must be an id or a display name"):
        ask(Decisions(2), "GET_AGENTS", name=1)


@rule("R-QUERY-02")
def test_an_agent_is_registered_then_active_then_shut_down():
    before, during, after = Decisions(2), Decisions(2).start(), Decisions(2).play_to_the_end()

    for decisions, state in ((before, "REGISTERED"), (during, "ACTIVE"), (after, "SHUTDOWN")):
        assert {row["state"] for row in ask(decisions, "GET_AGENTS")["agents"]} == {state}


@rule("R-QUERY-02")
def test_a_player_that_answers_nobody_is_suspended_and_goes_on():
    decisions = Decisions(2, cycles=2).start()

    suspend(decisions, "P01")

    assert agent(decisions, "P01")["state"] == "SUSPENDED"
    assert agent(decisions, "P01")["activity"] == "WAITING_FOR_ROUND"
    assert agent(decisions, "P02")["state"] == "ACTIVE"
    stats = ask(decisions, "GET_PLAYER_STATS", "P01")["player_stats"]
    assert (stats["state"], stats["activity"]) == ("SUSPENDED", "WAITING_FOR_ROUND")


@rule("R-QUERY-02")
def test_a_player_that_was_removed_is_shut_down_and_stays_in_the_list():
    decisions = Decisions(3).start()

    decisions.record(PlayerRemoved("P02"))

    assert agent(decisions, "P02")["state"] == "SHUTDOWN"
    assert agent(decisions, "P02")["activity"] is None
    assert ask(decisions, "GET_AGENTS")["total"] == 4


@rule("R-QUERY-02")
def test_what_a_player_does_now_follows_its_match():
    decisions = Decisions(3, cycles=2)
    before = agent(decisions, "P02")["activity"]
    decisions.start()

    playing, resting = agent(decisions, "P02")["activity"], agent(decisions, "P01")["activity"]
    decisions.lock([(0, "P02", "even"), (0, "P03", "odd")])
    decided = agent(decisions, "P02")["activity"]
    decisions.report(decisions.league.matches["R1M1"].decided.result.winner_player_id)
    closed = agent(decisions, "P02")["activity"]

    assert (before, playing, resting) == (None, "IN_MATCH", "WAITING_FOR_ROUND")
    assert (decided, closed) == ("WAITING_FOR_RESULT", "WAITING_FOR_ROUND")


@rule("R-QUERY-03")
@pytest.mark.parametrize(
    ("asker", "shown"), [(None, False), ("P01", False), ("P02", True), ("REF01", True)]
)
def test_a_players_end_point_is_shown_to_itself_and_to_referees(asker, shown):
    decisions = Decisions(2).start()

    rows = ask(decisions, "GET_AGENTS", asker)["agents"]
    stats = ask(decisions, "GET_PLAYER_STATS", asker or "P01", player_id="P02")["player_stats"]

    assert ("endpoint" in rows[1]) == shown
    assert ("endpoint" in agent(decisions, "P02", asker)) == shown
    assert ("contact_endpoint" in stats) == shown
    assert rows[2]["endpoint"] == "http://127.0.0.1:80/REF01/mcp"


@rule("R-QUERY-04")
def test_all_of_a_player():
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P02"])

    shown = agent(decisions, "P02")

    assert shown == {
        "agent_id": "P02",
        "kind": "player",
        "display_name": "Agent 2",
        "state": "ACTIVE",
        "activity": "WAITING_FOR_ROUND",
        "matches": 1,
        "open_matches": 0,
        "version": "1.0.0",
        "rank": 2,
        "player_id": "P02",
        "played": 1,
        "wins": 0,
        "draws": 0,
        "losses": 1,
        "technical_losses": 1,
        "points": 0,
        "why": "0 points",
        "last_matches": ask(decisions, "GET_SCHEDULE")["rounds"][0]["matches"],
    }


@rule("R-QUERY-04")
def test_all_of_a_referee():
    decisions = Decisions(4, 2).start()
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "lease"))

    shown = agent(decisions, "REF02")

    assert shown == {
        "agent_id": "REF02",
        "kind": "referee",
        "display_name": "Ref02",
        "state": "ACTIVE",
        "activity": None,
        "matches": None,
        "open_matches": 2,
        "endpoint": "http://127.0.0.1:80/REF02/mcp",
        "version": "1.0.0",
        "locks": True,
        "max_concurrent_matches": 64,
        "at_matches": ["R1M1", "R1M2"],
    }
    assert agent(decisions, "REF01")["at_matches"] == []


@rule("R-QUERY-04")
def test_before_the_start_a_player_has_no_rank():
    shown = agent(Decisions(2), "P01")

    assert (shown["rank"], shown["played"], shown["why"]) == (0, 0, None)
    assert shown["last_matches"] == []


@rule("R-QUERY-04")
def test_an_agent_that_was_removed_before_the_start_is_in_no_table():
    decisions = Decisions(3)
    decisions.record(PlayerRemoved("P02"), LeagueStarted(["P01", "P03"]))
    decisions.schedule(1)

    assert (agent(decisions, "P02")["rank"], agent(decisions, "P02")["state"]) == (0, "SHUTDOWN")
    assert ask(decisions, "GET_PLAYER_STATS", "P02")["player_stats"]["rank"] == 0


@rule("R-QUERY-04")
def test_without_an_id_it_is_the_asker():
    assert ask(Decisions(2), "GET_AGENT", "P02")["agent"]["agent_id"] == "P02"
    assert ask(Decisions(2), "GET_AGENT", "REF01")["agent"]["agent_id"] == "REF01"


@rule("R-QUERY-04")
def test_an_agent_who_is_not_there_is_not_found():
    for agent_id in ["P99", "", "x" * 1000, None, 1, True, ["P01"], {"P01": 1}]:
        with pytest.raises(NotRegistered, match=r"^Agent ID .* not found in registry$") as refused:
            ask(Decisions(2), "GET_AGENT", "P01", agent_id=agent_id)

        assert len(str(refused.value)) < 120


@pytest.fixture(scope="module")
def crowd():
    """Ten thousand players whose names are as long as names can be, in their first round."""
    return Decisions(10_000, 30, name=lambda number: f"{number:05}" + "🦊" * 45).start()


@rule("R-QUERY-07")
def test_ten_thousand_agents_are_read_in_pages_of_at_most_10_kb(crowd):
    seen = []

    while page := ask(crowd, "GET_AGENTS", "REF01", offset=len(seen))["agents"]:
        seen += [row["agent_id"] for row in page]

    assert seen == [*crowd.league.roster.players, *crowd.league.roster.referees]
    for offset in (0, 5_000, 9_990, 10_029):
        assert size(crowd, "GET_AGENTS", "REF01", offset=offset) <= BYTES_MAX


@rule("R-QUERY-07")
@pytest.mark.parametrize(
    ("query_type", "params"),
    [
        ("GET_STANDINGS", {"offset": 9_000}),
        ("GET_SCHEDULE", {"offset": 49_990_000}),
        ("GET_SCHEDULE", {"round_id": 1}),
        ("GET_NEXT_MATCH", {"player_id": "P9999"}),
        ("GET_PLAYER_STATS", {"player_id": "P9999"}),
        ("GET_STATUS", {}),
        ("GET_AGENT", {"agent_id": "P9999"}),
        ("GET_AGENT", {"agent_id": "REF30"}),
        ("GET_MATCH", {"match_id": "R1M5000"}),
        ("GET_MATCH", {"match_id": "R9999M5000"}),
        ("GET_METRICS", {}),
    ],
)
def test_every_answer_about_ten_thousand_has_at_most_10_kb(crowd, query_type, params):
    assert size(crowd, query_type, "REF01", **params) <= BYTES_MAX


@rule("R-QUERY-07")
def test_a_player_with_a_long_name_and_twenty_matches_has_at_most_10_kb():
    decisions = Decisions(24, name=lambda number: f"{number:05}" + "🦊" * 45).play_to_the_end()

    assert len(agent(decisions, "P07")["last_matches"]) == 20
    for query_type in ("GET_AGENT", "GET_PLAYER_STATS"):
        assert size(decisions, query_type, "P07") <= BYTES_MAX
    assert len(msgspec.json.encode(agent(decisions, "P07"))) > 2_000


@rule("R-QUERY-08")
def test_an_agent_that_was_tried_is_marked_reachable_or_not():
    decisions = Decisions(2)
    query = LeagueQuery("GET_AGENTS")

    answer = respond(decisions.league, query, None, {"P01": True, "REF01": False})

    marks = {row["agent_id"]: row.get("reachable") for row in answer.data["agents"]}
    assert marks == {"P01": True, "P02": None, "REF01": False}


@rule("R-DIA-08")
def test_an_agent_that_does_not_speak_as_we_do_is_shown_with_how_it_speaks():
    decisions = Decisions(2)
    decisions.record(DialectLearnt("P02", "type"))

    rows = {row["agent_id"]: row for row in ask(decisions, "GET_AGENTS")["agents"]}

    assert rows["P02"]["speaks"] == agent(decisions, "P02")["speaks"] == "message type as method"
    assert "speaks" not in rows["P01"]


@rule("R-LEAGUE-32")
def test_a_player_that_came_back_without_its_token_is_shown_until_it_shows_it():
    decisions = Decisions(2, 1)
    decisions.record(PlayerReturned("P01", "digest", 2))

    assert agent(decisions, "P01")["lost_token"] is True
    assert "lost_token" not in agent(decisions, "P02")
    decisions.record(TokenRenewed("P01", "other", 3, "http://127.0.0.1:80/P01/mcp"))
    assert "lost_token" not in agent(decisions, "P01")


@rule("R-QUERY-03", "R-QUERY-09")
@pytest.mark.parametrize("query_type", ["GET_PLAYER_DIRECTORY", "GET_REGISTRATIONS"])
def test_where_players_are_is_told_to_referees(query_type):
    decisions = Decisions(3)
    where = {each.agent_id: each.endpoint for each in decisions.league.roster.players.values()}

    told = ask(decisions, query_type, "REF01")

    assert told["players"] == where
    assert told["registrations"][0] == {
        "player_id": "P01",
        "display_name": "Agent 1",
        "contact_endpoint": where["P01"],
    }
    assert ask(decisions, query_type, "P02")["players"] == {"P02": where["P02"]}
    assert ask(decisions, query_type)["players"] == {}
    assert list(ask(decisions, query_type, "REF01", player_id="P03")["players"]) == ["P03"]
    assert ask(decisions, query_type, "REF01", offset=1, limit=1)["players"].keys() == {"P02"}


@rule("R-QUERY-07", "R-QUERY-09")
def test_a_directory_of_long_names_and_end_points_has_at_most_10_kb():
    decisions = Decisions(100, name=lambda number: f"{number:03}" + "\x01" * 47)
    for player_id, member in decisions.league.roster.players.items():
        endpoint = "http://" + "x" * 249
        decisions.league.roster.players[player_id] = msgspec.structs.replace(
            member, endpoint=endpoint
        )

    assert size(decisions, "GET_PLAYER_DIRECTORY", "REF01") <= BYTES_MAX

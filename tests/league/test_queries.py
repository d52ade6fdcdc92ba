"""Answers to LEAGUE_QUERY."""

import msgspec
import pytest
from msgspec import UNSET

from agentleague.errors import (
    NotRegistered,
    NotStarted,
    TokenMissing,
    UnknownLeague,
    UnknownQuery,
    WrongType,
)
from agentleague.league import queries
from agentleague.league.events import LeagueEnded, LeaguePaused, LeagueStarted, PlayerRemoved
from agentleague.protocol.messages import LeagueQuery
from league.decisions import Decisions
from league.querying import BYTES_MAX, ask, size
from rules import rule

BEGUN = ["GET_MATCH", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_SCHEDULE", "GET_STANDINGS"]
BEGUN += ["GET_STAGE"]


@rule("R-TABLE-07")
def test_the_standings_have_rows_round_and_total():
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P01"])

    assert ask(decisions, "GET_STANDINGS") == {
        "standings": [
            {
                "rank": 1,
                "player_id": "P02",
                "display_name": "Agent 2",
                "played": 1,
                "wins": 1,
                "draws": 0,
                "losses": 0,
                "technical_losses": 0,
                "points": 3,
            },
            {
                "rank": 2,
                "player_id": "P01",
                "display_name": "Agent 1",
                "played": 1,
                "wins": 0,
                "draws": 0,
                "losses": 1,
                "technical_losses": 1,
                "points": 0,
            },
        ],
        "current_round": 1,
        "total": 2,
    }


@rule("R-LEAGUE-29")
def test_the_schedule_has_all_rounds_with_what_is_known_of_each_match():
    decisions = Decisions(3).start()
    decisions.play("R1M1", forfeits=["P02"])

    answer = ask(decisions, "GET_SCHEDULE")

    assert (answer["total_rounds"], answer["total"]) == (3, 3)
    assert answer["rounds"] == [
        {
            "round_id": 1,
            "matches": [
                {
                    "match_id": "R1M1",
                    "player_A_id": "P02",
                    "player_B_id": "P03",
                    "draw_commitment": decisions.adjudicator.commitment("R1M1"),
                    "status": "TECHNICAL_LOSS",
                    "winner_player_id": "P03",
                }
            ],
            "byes": ["P01"],
        },
        {
            "round_id": 2,
            "matches": [{"match_id": "R2M1", "player_A_id": "P03", "player_B_id": "P01"}],
            "byes": ["P02"],
        },
        {
            "round_id": 3,
            "matches": [{"match_id": "R3M1", "player_A_id": "P01", "player_B_id": "P02"}],
            "byes": ["P03"],
        },
    ]


@rule("R-LEAGUE-29")
def test_the_schedule_of_one_round():
    decisions = Decisions(4).start()

    answer = ask(decisions, "GET_SCHEDULE", round_id=2)

    assert (answer["total_rounds"], answer["total"]) == (3, 2)
    (only,) = answer["rounds"]
    assert (only["round_id"], only["byes"]) == (2, [])
    assert [match["match_id"] for match in only["matches"]] == ["R2M1", "R2M2"]


@rule("R-LEAGUE-29")
def test_a_match_that_is_announced_and_not_decided_has_its_commitment_alone():
    (first,) = ask(Decisions(2).start(), "GET_SCHEDULE")["rounds"]

    assert set(first["matches"][0]) == {
        *("match_id", "player_A_id", "player_B_id", "draw_commitment")
    }


@rule("R-LEAGUE-29")
def test_the_next_match_of_a_player():
    decisions = Decisions(4).start()

    own = ask(decisions, "GET_NEXT_MATCH", "P02")["next_match"]
    others = ask(decisions, "GET_NEXT_MATCH", "P02", player_id="P01")["next_match"]

    assert own == {
        "match_id": "R1M1",
        "round_id": 1,
        "opponent_id": "P01",
        "referee_endpoint": "http://127.0.0.1:80/REF01/mcp",
        "game_type": "even_odd",
    }
    assert others == {**own, "opponent_id": "P02"}


@rule("R-LEAGUE-29")
def test_after_its_match_a_players_next_one_is_in_the_next_round_without_referee_yet():
    decisions = Decisions(4).start()
    decisions.play("R1M1")

    following = ask(decisions, "GET_NEXT_MATCH", "P01")["next_match"]

    assert (following["match_id"], following["round_id"]) == ("R2M1", 2)
    assert (following["opponent_id"], following["referee_endpoint"]) == ("P03", None)


@rule("R-LEAGUE-29")
def test_after_the_last_match_there_is_none():
    decisions = Decisions(2).start()
    decisions.play("R1M1")

    assert ask(decisions, "GET_NEXT_MATCH", "P01") == {"next_match": None}
    assert ask(Decisions(3).play_to_the_end(), "GET_NEXT_MATCH", "P01") == {"next_match": None}


@rule("R-LEAGUE-29")
def test_a_player_that_has_a_bye_plays_in_the_round_after():
    assert ask(Decisions(3).start(), "GET_NEXT_MATCH", "P01")["next_match"]["round_id"] == 2


@rule("R-LEAGUE-29")
@pytest.mark.parametrize(("asker", "params"), [("P02", {}), (None, {"player_id": "P02"})])
def test_the_numbers_of_a_player(asker, params):
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P02"])

    answer = ask(decisions, "GET_PLAYER_STATS", asker, **params)

    assert answer["player_stats"] == {
        "rank": 2,
        "player_id": "P02",
        "display_name": "Agent 2",
        "played": 1,
        "wins": 0,
        "draws": 0,
        "losses": 1,
        "technical_losses": 1,
        "points": 0,
        "state": "ACTIVE",
        "activity": "WAITING_FOR_ROUND",
        **({"contact_endpoint": "http://127.0.0.1:81/P02/mcp"} if asker else {}),
        "matches": [
            {
                "match_id": "R1M1",
                "player_A_id": "P01",
                "player_B_id": "P02",
                "draw_commitment": decisions.league.matches["R1M1"].commitment,
                "status": "TECHNICAL_LOSS",
                "winner_player_id": "P01",
            }
        ],
    }


@rule("R-LEAGUE-29")
def test_the_status_is_there_at_any_time():
    before, after = Decisions(3, 2), Decisions(3, 2).play_to_the_end()

    assert ask(before, "GET_STATUS", "P01") == {
        "status": "WAITING_FOR_REGISTRATIONS",
        "current_round": 0,
        "total_rounds": 0,
        "matches_completed": 0,
        "total_matches": 0,
        "players": 3,
        "referees": 2,
        "you": "P01",
        "league_id": "league_2026_even_odd_office",
        "game_type": "even_odd",
        "stages": ["round_robin"],
        "stage": 0,
        "round_in_words": "round 0 of 0",
        "is_length_known": False,
        "paused": False,
        "aborted": False,
        "rounds_completed": 0,
        "ending": "",
        "champion": None,
        "champions": [],
        "champion_name": None,
        "disputed_matches": [],
        "ruled_matches": [],
        "misused_tokens_of": [],
        "latecomers": [],
        "waiting_referees": [],
        "set_aside_referees": [],
        "unconfirmed_matches": [],
        "accepted_losses": [],
        "last_results": [],
    }
    results = {
        match["match_id"]: {**match, "names": after.league.names_of(record.players)}
        for each in ask(after, "GET_SCHEDULE")["rounds"]
        for match in each["matches"]
        for record in [after.league.matches[match["match_id"]]]
    }
    assert ask(after, "GET_STATUS") == {
        "status": "LEAGUE_COMPLETED",
        "current_round": 3,
        "total_rounds": 3,
        "matches_completed": 3,
        "total_matches": 3,
        "players": 3,
        "referees": 2,
        "you": None,
        "league_id": "league_2026_even_odd_office",
        "game_type": "even_odd",
        "stages": ["round_robin"],
        "stage": 1,
        "round_in_words": "round 3 of 3",
        "is_length_known": True,
        "paused": False,
        "aborted": False,
        "rounds_completed": 3,
        "ending": "",
        "champion": "P02",
        "champions": ["P02"],
        "champion_name": "Agent 2",
        "disputed_matches": [],
        "ruled_matches": [],
        "misused_tokens_of": [],
        "latecomers": [],
        "waiting_referees": [],
        "set_aside_referees": [],
        "unconfirmed_matches": [],
        "accepted_losses": [],
        "last_results": [results[match_id] for match_id in ("R3M1", "R2M1")],
    }


@rule("R-LEAGUE-29")
def test_the_status_says_whether_the_league_is_paused_or_was_aborted():
    decisions = Decisions(2).start()
    decisions.record(LeaguePaused())

    paused = ask(decisions, "GET_STATUS")
    decisions.record(LeagueEnded("P01", aborted=True))
    aborted = ask(decisions, "GET_STATUS")

    assert (paused["status"], paused["paused"], paused["aborted"]) == (
        "RUNNING_LEAGUE",
        True,
        False,
    )
    assert (aborted["status"], aborted["paused"], aborted["aborted"]) == (
        "LEAGUE_COMPLETED",
        False,
        True,
    )


@rule("R-LEAGUE-29")
def test_a_player_that_was_removed_or_is_in_an_aborted_league_has_no_next_match():
    decisions = Decisions(4).start()
    decisions.record(PlayerRemoved("P01"))
    assert ask(decisions, "GET_NEXT_MATCH", "P01") == {"next_match": None}
    assert ask(decisions, "GET_NEXT_MATCH", "P02")["next_match"]

    decisions.record(LeagueEnded("P01", aborted=True))

    assert ask(decisions, "GET_NEXT_MATCH", "P02") == {"next_match": None}


@rule("R-LEAGUE-30")
@pytest.mark.parametrize("query_type", BEGUN)
def test_before_the_start_there_is_nothing_to_say_of_matches(query_type):
    with pytest.raises(NotStarted, match="has not begun") as refused:
        ask(Decisions(2), query_type, "P01")

    assert refused.value.code == "E030"


@rule("R-LEAGUE-30")
@pytest.mark.parametrize("query_type", BEGUN)
def test_a_league_that_was_aborted_before_its_start_has_nothing_to_say_of_matches(query_type):
    decisions = Decisions(2)
    decisions.record(LeagueEnded("", aborted=True))

    with pytest.raises(NotStarted, match="ended before it had begun"):
        ask(decisions, query_type, "P01")


@rule("R-LEAGUE-30")
@pytest.mark.parametrize("query_type", sorted(set(queries.QUERIES) - set(BEGUN)))
def test_before_the_start_there_are_status_agents_and_measures(query_type):
    assert ask(Decisions(2), query_type, "P01")


@rule("R-LEAGUE-30")
@pytest.mark.parametrize("query_type", ["GET_WEATHER", "", "get_standings", "x" * 64])
def test_an_unknown_query_is_told_what_there_is(query_type):
    for decisions in (Decisions(2), Decisions(2).start()):
        with pytest.raises(UnknownQuery) as refused:
            ask(decisions, query_type)

        assert (refused.value.code, refused.value.number) == ("E046", 6002)
        assert refused.value.context["known"] == sorted(queries.QUERIES)
        assert ", ".join(sorted(queries.QUERIES)) in str(refused.value)
        with pytest.raises(UnknownQuery):  # It is refused, with document 001's number.
            queries.respond(decisions.league, LeagueQuery(query_type.replace("st", "x")), None)


@rule("R-LEAGUE-30")
def test_a_player_who_is_not_there_is_not_found():
    for asker, params in [
        ("P01", {"player_id": "P99"}),
        ("P01", {"player_id": None}),
        ("P01", {"player_id": 1}),
        ("P01", {"player_id": ["P01"]}),  # what no dictionary could hold
        ("P01", {"player_id": {"P01": 1}}),
        ("P01", {"player_id": "x" * 1000}),
        ("REF01", {}),  # a referee has no matches of its own
        (None, {}),
    ]:
        for query_type in ["GET_NEXT_MATCH", "GET_PLAYER_STATS"]:
            with pytest.raises(
                NotRegistered, match=r"^Player ID .* not found in registry$"
            ) as refused:
                ask(Decisions(2).start(), query_type, asker, **params)

            assert refused.value.code == "E005"
            assert len(str(refused.value)) < 120


@rule("R-LEAGUE-30")
def test_pages_are_counted_from_0_in_integers():
    for value in [-1, -(10**30), "1", 1.0, True, None, []]:
        for field in ["offset", "limit"]:
            for query_type, more in [
                ("GET_STANDINGS", {}),
                ("GET_SCHEDULE", {}),
                ("GET_AGENTS", {}),
                ("GET_MATCH", {"match_id": "R1M1"}),
            ]:
                decisions = Decisions(2).start()
                decisions.play("R1M1")

                with pytest.raises(
                    WrongType, match=f"query_params.{field} must be an integer"
                ) as refused:
                    ask(decisions, query_type, **more, **{field: value})

                assert refused.value.context["field"] == f"query_params.{field}"


@rule("R-LEAGUE-30")
def test_only_rounds_of_the_schedule_can_be_asked_for():
    for round_id in [0, 4, -1, "1", 1.0, True, []]:
        with pytest.raises(WrongType, match="round_id must be 1 to 3") as refused:
            ask(Decisions(4).start(), "GET_SCHEDULE", round_id=round_id)

        assert refused.value.context["field"] == "query_params.round_id"


NAMES = {
    "letters": lambda number: f"{number:04}" + "x" * 46,
    "foxes": lambda number: f"{number:04}" + "🦊" * 46,
    "quotes": lambda number: f"{number:04}" + '"' * 46,
}


@rule("R-LEAGUE-29")
def test_the_documents_keys_stand_beside_data_and_ours_in_data_alone():
    decisions = Decisions(2).start()

    status = queries.respond(decisions.league, LeagueQuery("GET_STATUS"), None)
    agents = queries.respond(decisions.league, LeagueQuery("GET_AGENTS"), None)

    assert (status.status, status.players, status.you) == ("RUNNING_LEAGUE", 2, None)
    assert status.data["paused"] is False
    assert agents.total == agents.data["total"] == 3
    assert "agents" not in msgspec.to_builtins(agents)


@rule("R-TABLE-07")
@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_500_is_read_in_pages_of_at_most_10_kb(name):
    decisions = Decisions(500, name=NAMES[name]).start()
    decisions.play_round()
    rows = []

    while len(rows) < 500:
        page = ask(decisions, "GET_STANDINGS", offset=len(rows))
        assert page["standings"]
        assert page["total"] == 500
        assert size(decisions, "GET_STANDINGS", offset=len(rows)) <= BYTES_MAX
        rows += page["standings"]

    assert rows == [msgspec.to_builtins(row) for row in decisions.league.table.rows()]
    assert ask(decisions, "GET_STANDINGS", offset=500)["standings"] == []


@rule("R-LEAGUE-29")
@pytest.mark.parametrize(("players", "cycles", "pages"), [(500, 1, 40), (3, 200, 38), (40, 1, 49)])
def test_the_schedule_is_read_in_pages_of_at_most_10_kb(players, cycles, pages):
    decisions = Decisions(players, cycles=cycles).start()
    while decisions.league.round_id < min(60, decisions.league.total_rounds):
        for match_id in decisions.league.open_matches.copy():
            losers = decisions.league.matches[match_id].players[:1]
            decisions.play(match_id, forfeits=losers if players < 10 else [])
        decisions.schedule(decisions.league.round_id + 1)
    seen = []

    for _ in range(pages):
        page = ask(decisions, "GET_SCHEDULE", offset=len(seen))
        assert size(decisions, "GET_SCHEDULE", offset=len(seen)) <= BYTES_MAX
        seen += [match["match_id"] for each in page["rounds"] for match in each["matches"]]

    expected = [
        match_id
        for number in range(1, decisions.league.total_rounds + 1)
        for match_id, _ in decisions.league.planned_round(number).matches
    ]
    assert len(seen) > pages * 10
    assert seen == expected[: len(seen)]


@rule("R-TABLE-07")
@pytest.mark.parametrize("name", NAMES)
def test_a_table_that_is_cut_has_the_first_ranks_and_the_asker(name):
    decisions = Decisions(100, name=NAMES[name]).start()
    last = decisions.league.table.rows()[-1].player_id

    for asker, own in (("P02", 2), (last, 100)):
        rows = ask(decisions, "GET_STANDINGS", asker)["standings"]
        *first, end = (row["rank"] for row in rows)

        assert first == list(range(1, len(rows)))
        assert end == max(own, len(rows))
        assert size(decisions, "GET_STANDINGS", asker) <= BYTES_MAX


@rule("R-TABLE-07")
def test_the_asker_stands_in_its_place_among_those_who_share_its_rank(monkeypatch):
    monkeypatch.setattr("league.decisions.TIE_BREAKS", ["wins"])
    decisions = Decisions(100)
    decisions.record(LeagueStarted(list(decisions.league.roster.players), "c" * 64))
    decisions.schedule(1)
    table = [row.player_id for row in decisions.league.table.rows()]

    for asker in ("P02", "P99"):
        shown = [row["player_id"] for row in ask(decisions, "GET_STANDINGS", asker)["standings"]]
        assert asker in shown
        assert shown == sorted(shown, key=table.index)


@rule("R-TABLE-07")
def test_a_page_is_what_was_asked_for_within_its_bounds():
    for params, ranks in [
        ({"limit": 2}, [1, 2]),
        ({"offset": 3, "limit": 2}, [4, 5]),
        ({"offset": 29}, [30]),
        ({"limit": 0}, []),
        ({"offset": 10**9}, []),
        ({"offset": 10**30}, []),
        ({"limit": 10**9}, list(range(1, 26))),  # never more than a page
    ]:
        rows = ask(Decisions(30).start(), "GET_STANDINGS", **params)["standings"]

        assert [row["rank"] for row in rows] == ranks


@rule("R-LEAGUE-30")
def test_what_is_about_one_player_needs_a_token():
    decisions = Decisions(2).start()
    refused = set()

    for query_type in queries.QUERIES:
        try:
            queries.respond(decisions.league, LeagueQuery(query_type), None)
        except TokenMissing:
            refused.add(query_type)

    assert refused == {"GET_NEXT_MATCH", "GET_PLAYER_STATS"}
    assert queries.respond(decisions.league, LeagueQuery("GET_NEXT_MATCH"), "P01").success


@rule("R-LEAGUE-30")
def test_another_league_is_refused_and_the_rest_is_answered_with_why():
    league = Decisions(2).start().league

    with pytest.raises(UnknownLeague):
        queries.respond(league, LeagueQuery("GET_STATUS", league_id="league_other"), None)
    answer = queries.respond(league, LeagueQuery("GET_AGENTS", query_params={"limit": -1}), None)
    assert (answer.success, answer.data, answer.error.error_code) == (False, UNSET, "E003")
    assert "query_params.limit" in answer.error.error_description


@rule("R-QUERY-09")
def test_a_foreign_referee_may_have_a_league_id_of_its_own():
    league = Decisions(2, locks=False).start().league
    query = LeagueQuery("GET_STATUS", league_id="league_of_its_own")

    assert queries.respond(league, query, "REF01").success
    for other in (None, "P01"):
        with pytest.raises(UnknownLeague):
            queries.respond(league, query, other)


@rule("R-QUERY-09")
def test_a_query_is_known_in_any_case_and_without_get():
    league = Decisions(2).start().league

    for asked, name in [
        ("get_standings", "standings"),
        ("standings", "standings"),
        ("getStandings", "standings"),
        ("SCHEDULE", "rounds"),
        ("player-directory", "registrations"),
        ("GET_PLAYERS", "registrations"),
    ]:
        answer = queries.respond(league, LeagueQuery(asked), None)
        assert (answer.query_type, name in answer.data) == (asked, True)
    with pytest.raises(TokenMissing):
        queries.respond(league, LeagueQuery("next match"), None)


@rule("R-LEAGUE-29")
def test_a_player_is_shown_its_last_twenty_matches_within_10_kb():
    decisions = Decisions(30).play_to_the_end()

    answer = ask(decisions, "GET_PLAYER_STATS", "P07")

    assert len(answer["player_stats"]["matches"]) == 20
    assert answer["player_stats"]["state"] == "SHUTDOWN"
    assert size(decisions, "GET_PLAYER_STATS", "P07") <= BYTES_MAX

"""Refused registrations are told to the organiser, once for each agent and reason."""

from agentleague.errors import MissingField, UnknownMethod
from agentleague.manager.refusals import MORE
from agentleague.manager.step import ManagerLimits
from agentleague.protocol.messages import (
    LeagueQuery,
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from manager.test_role_abuse import ask
from memory_league import SECRETS, MemoryLeague

URL = "http://66.6.6.6:9000/mcp"


def refused_by(league, name="Eve", source="66.6.6.6", **meta):
    """What the organiser hears of a player that is not let in."""
    league.manager.news.clear()
    ask(league, LeagueRegisterRequest(PlayerMeta(name, URL, **meta)), source=source)
    return list(league.manager.news)


def wait(league, seconds):
    over = []
    league.clock.call_at(league.clock.now() + seconds, lambda: over.append(True))
    league.clock.run(lambda: bool(over))


def test_a_player_that_cannot_play_is_named_with_the_reason():
    said = refused_by(MemoryLeague(2, 1), game_types=["chess"])

    assert said == [
        "Refused player 'Eve' from 66.6.6.6: this league plays 'even_odd', and game_types has only "
        "['chess']; add 'even_odd' if the agent knows it (E042)."
    ]


def test_a_referee_without_the_join_code_is_named_and_no_code_is_told():
    league = MemoryLeague(2, 1, join_code="sesame")
    meta = RefereeMeta("Owl", URL, "1", ["even_odd"], 2, join_code="open")

    ask(league, RefereeRegisterRequest(meta))

    (said,) = league.manager.news
    assert said.startswith("Refused referee 'Owl' from 66.6.6.6: referee_meta.join_code is not")
    assert "open" not in said
    assert "sesame" not in said


def test_an_agent_that_asks_again_is_named_again_only_after_a_while_or_for_another_reason():
    league = MemoryLeague(2, 1)
    assert refused_by(league, game_types=["chess"])

    assert refused_by(league, game_types=["chess"]) == []
    assert "E018" in refused_by(league, protocol_version="3.0.0")[0]
    wait(league, ManagerLimits().refusal_seconds)
    assert "E042" in refused_by(league, game_types=["chess"])[0]


def test_many_that_are_refused_are_summed_up():
    league = MemoryLeague(2, 1, limits=ManagerLimits(refusals_max=3))

    said = [refused_by(league, f"Eve {n}", game_types=["chess"]) for n in range(6)]

    assert [len(each) for each in said] == [1, 1, 1, 1, 0, 0]
    assert said[3] == [MORE]


def test_the_name_of_a_refused_agent_steers_no_terminal_and_shows_no_token():
    name = "\x1b[2J tok_0123456789abcdef"

    (said,) = refused_by(MemoryLeague(2, 1), name, game_types=["chess"])

    assert "\x1b" not in said
    assert "0123456789abcdef" not in said


def test_other_questions_that_are_refused_are_no_news():
    league = MemoryLeague(2, 1)

    ask(league, LeagueQuery("GET_NEXT_MATCH"))

    assert list(league.manager.news) == []


def test_the_reason_is_told_to_its_end():
    (said,) = refused_by(
        MemoryLeague(2, 1), game_types=[f"game {n} {'of many ' * 6}" for n in range(5)]
    )

    assert len(said) > 300
    assert said.endswith("; add 'even_odd' if the agent knows it (E042).")


def test_what_could_not_be_read_is_told_too_once_for_each_reason():
    manager, error = MemoryLeague(2, 1).manager, MissingField("missing field 'display_name'")

    for _ in range(3):
        manager.registration_unread("66.6.6.6", error, 100.0)
    manager.registration_unread("66.6.6.6", UnknownMethod("'join' is no message"), 100.0)

    assert list(manager.news) == [
        "Refused a registration from 66.6.6.6: missing field 'display_name' (E003).",
        "Refused a registration from 66.6.6.6: 'join' is no message (E051).",
    ]


def test_the_organiser_alone_can_ask_who_was_refused_and_how_often():
    league = MemoryLeague(2, 1, limits=ManagerLimits(refusals_max=3, refusals_shown=2))
    for name in ("Ann", "Bob", "Bob", "Cid", "Dan", "Bob"):
        refused_by(league, name, game_types=["chess"])

    everybody = ask(league, LeagueQuery("GET_STATUS")).data
    told = ask(league, LeagueQuery("GET_STATUS"), SECRETS.admin_token).data["refused_registrations"]

    assert "refused_registrations" not in everybody
    assert (everybody["players_wanted"], everybody["referees_wanted"]) == (2, 1)
    assert [row.partition(":")[0] for row in told] == [
        "player 'Bob' from 66.6.6.6",
        "player 'Dan' from 66.6.6.6",
    ]
    assert told[0].endswith("(E042), 3 times by now")

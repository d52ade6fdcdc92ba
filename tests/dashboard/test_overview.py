"""The overview, and what stands on every page."""

import msgspec
import pytest

from agentleague.dashboard.heading import heading
from agentleague.dashboard.pages import PAGES
from agentleague.dashboard.rendering import live_link, twin
from agentleague.league.events import (
    EndpointChanged,
    LeagueEnded,
    LeaguePaused,
    MatchLocked,
    PlayerRemoved,
    RoundEnded,
)
from dashboard.views import page_of, view_of
from league.decisions import Decisions

facts = PAGES["overview"].facts


def test_the_state_of_a_league_is_said_in_words():
    league = Decisions(4)
    states = [heading(view_of(league.events))["state"]]
    league.start()
    states.append(heading(view_of(league.events))["state"])
    league.record(LeaguePaused())
    states.append(heading(view_of(league.events))["state"])
    league.record(LeagueEnded("P01", aborted=True))
    states.append(heading(view_of(league.events))["state"])
    states.append(heading(view_of(Decisions(4).play_to_the_end().events))["state"])

    assert states == [
        "registering, 4 players so far",
        "round 1 of 3",
        "paused in round 1 of 3",
        "ended by the organiser",
        "finished",
    ]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_no_page_tells_anything_of_an_undecided_match(name):
    league = Decisions(2).start()
    moves = [(0, "P01", "secret"), (0, "P02", "secret")]
    league.record(MatchLocked("R1M1", 1, 0, moves, 123_456_789))
    view, about = view_of(league.events), {"match_id": "R1M1", "player_id": "P01"}

    facts = PAGES[name].facts(view, about | {"referee_id": "REF01"})

    told = msgspec.json.encode(facts).decode()
    assert "secret" not in told
    assert "123456789" not in told


NASTY = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("params", [{}, {"projector": ""}])
@pytest.mark.parametrize("name", ["overview", "standings", "schedule", "cross_table"])
def test_a_name_with_html_is_text(name, params):
    view = view_of(Decisions(4, name=lambda n: f"{NASTY}{n}").play_to_the_end().events)

    html = page_of(view, name, **params)

    assert NASTY not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def verdict(league, **live):
    return facts(view_of(league.events, **live), {})["verdict"]


@pytest.mark.parametrize("name", ["overview", "player", "referee", "standings"])
def test_no_page_tells_where_an_agent_listens(name):
    league = Decisions(2)
    league.record(EndpointChanged("P01", "http://10.20.30.40:8101/mcp"))
    view = view_of(league.events)
    ids = {"player_id": "P01", "referee_id": "REF01"}

    shown = page_of(view, name, **ids) + msgspec.json.encode(PAGES[name].facts(view, ids)).decode()

    assert "10.20.30.40" not in shown
    assert "127.0.0.1:8" not in shown


def test_before_the_start_the_first_sentence_says_who_is_missing():
    empty, two = Decisions(0, referees=0), Decisions(2, referees=0)

    assert verdict(empty) == "Nobody has joined yet"
    assert verdict(two, players_wanted=4) == "Waiting for 2 more players"
    assert verdict(two, players_wanted=3) == "Waiting for 1 more player"
    assert verdict(two, players_wanted=2) == "Waiting for 1 referee"
    assert verdict(Decisions(2)) == "2 players joined"


def test_who_was_removed_before_the_start_is_not_counted():
    league = Decisions(4)
    league.record(PlayerRemoved("P02", 1))
    view = view_of(league.events, players_wanted=4)

    assert facts(view, {})["verdict"] == "Waiting for 1 more player"
    assert [each["player_id"] for each in facts(view, {})["joined"]] == ["P01", "P03", "P04"]
    assert heading(view)["state"] == "registering, 3 players so far"


def test_before_the_start_the_page_says_what_to_type():
    view = view_of(Decisions(2, referees=0).events, players_wanted=4)

    html = page_of(view, "overview")

    assert "league player my_player/my_player.py --manager URL<" in html
    assert "league referee --manager URL<" in html
    assert "league start --dir DIR<" in html
    assert "league report DIR<" in html
    assert "Agent 2" in html


def test_commands_name_the_directory_the_game_and_the_code_where_they_are_needed():
    league = Decisions(2, referees=0)
    league.events[0] = msgspec.structs.replace(
        league.events[0], game_type="chess", has_join_code=True
    )
    view = view_of(league.events)
    strange = page_of(view, "overview")
    view.directory, view.game_file = "'my cup'", "chess.py"
    own = dict(facts(view, {})["needs"])

    assert "--manager URL --game FILE.py<" in strange
    assert own["Set the join code:"] == "export LEAGUE_JOIN_CODE=CODE"
    assert own["Begin with those who are here:"] == "league start --dir 'my cup'"
    assert own["Let it join:"].endswith("--manager URL --game chess.py")
    assert own["Bring a referee:"].endswith("--manager URL --game chess.py")


def test_the_first_sentence_says_who_leads_by_what():
    league = Decisions(4, tie_breaks=("wins",)).start()
    started = verdict(league)
    (a, b), (c, d) = (league.league.matches[each].players for each in ("R1M1", "R1M2"))
    league.play("R1M1", forfeits=[a])
    first = verdict(league)
    league.play("R1M2", forfeits=[c])
    league.record(RoundEnded(1))
    name = {each: view_of(league.events).name_of(each) for each in (a, b, c, d)}

    assert started == "In round 1 of 3, and no match is decided yet"
    assert first.startswith(f"{name[b]} leads Agent ")
    assert first.endswith(" by 3 points in round 1 of 3")
    assert verdict(league) in {
        f"{name[x]} and {name[y]} share the lead with 3 points after round 1 of 3"
        for x, y in ((b, d), (d, b))
    }


def test_the_first_sentence_names_the_champion_at_the_end():
    over, aborted = Decisions(4).play_to_the_end(), Decisions(4).start()
    champion = over.league.table.row(over.league.champion)
    aborted.record(LeagueEnded("", aborted=True))

    assert verdict(over).startswith(f"{champion.display_name} is the champion with ")
    assert verdict(aborted) == "The league ended before a match was decided"


def test_who_is_waited_for_is_read_from_the_managers_sentence_whatever_the_name():
    league = Decisions(2, name=lambda n: "it's ' to move in R9M9: at most 1 s").start()
    sentence = (
        "P01 'it's ' to move in R9M9: at most 1 s' to move in R1M1: 12 s for attempt 1 of 3, "
        "40 s in all"
    )
    view = view_of(league.events, awaited_answers=[sentence, "something else"])

    first, second = facts(view, {})["waiting"]

    assert (first["player_id"], first["match_id"], first["seconds"]) == ("P01", "R1M1", 12)
    assert (first["what"], first["attempt"], first["attempts"]) == ("move", 1, 3)
    assert first["longest"] == 40
    assert second == {"sentence": "something else", "match_id": ""}
    assert 'data-seconds="12"' in page_of(view, "overview")


def test_what_just_happened_is_told_with_names_and_without_routine():
    league = Decisions(2, name={1: "Ann", 2: "REF01 P01"}.get).start()
    league.play("R1M1", forfeits=["P01"])

    told = facts(view_of(league.events), {})["happenings"]

    assert [each["sentence"] for each in told][:3] == [
        "REF01 P01 beat Ann by technical loss",
        "Round 1 has 1 match",
        "The league began with 2 players",
    ]
    assert told[-3]["sentence"] == "REF01 P01 registered as player P02"
    assert told[0]["why"].startswith("Ann ")


@pytest.mark.parametrize(
    ("params", "href", "json"),
    [
        ({}, "/", "/index.json"),
        ({"q": "a&b"}, "/?q=a%26b", "/index.json?q=a%26b"),  # what is not of the path
    ],
)
def test_a_page_has_a_link_and_a_twin_as_json(params, href, json):
    assert live_link("overview", **params) == href
    assert twin(href) == json
    assert live_link("no_such_page") == ""


def test_no_page_says_of_a_league_that_is_over_that_its_manager_is_away():
    league = Decisions(2).start()
    view = view_of(league.events)
    view.hear({}, "No manager runs here.")
    league.play_round()
    league.record(LeagueEnded("P01"))
    away = view.notices
    view.reader.append(view.league_id, view.version, league.events[view.version :], lambda _: None)
    for row in view.reader.read(view.league_id, view.version):
        view.take(row)

    assert (away, view.notices) == (["No manager runs here."], [])

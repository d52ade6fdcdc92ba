"""`league ratings`, and what `league standings` says of strength and luck."""

import json
import re

import pytest

from agentleague.cli.commands.ratings import print_chances, print_ratings
from agentleague.league.events import RoundEnded
from agentleague.records.ratings import Decided, RatedLeague, statistics
from cli.screen import Screen
from cli.test_standings import league, printed
from league.decisions import LEAGUE_ID, Decisions
from records.journals import played, written


@pytest.fixture(scope="module")
def cup(tmp_path_factory):
    return written(tmp_path_factory.mktemp("cups") / "cup", played(players=4, cycles=4))


def test_ratings_prints_ranges_intervals_and_a_line_for_each_player(cup):
    lines = printed("ratings", cup).splitlines()

    assert lines[0] == f"{LEAGUE_ID}: strength by 24 matches"
    rows = [line for line in lines if "Agent" in line and "o" in line.rpartition(" ")[2]]
    assert len(rows) == 4
    assert all("=o" in row or "o=" in row for row in rows)
    assert any("too close to call" in line for line in lines)
    assert any("even_odd is a game of luck" in line for line in lines)


def test_json_has_the_numbers_of_the_table(cup):
    facts = json.loads(printed("ratings", cup / "journal.sqlite", "--json"))
    text = printed("ratings", cup)

    for row in facts["rows"]:
        assert f"{row['low_95']:+} to {row['high_95']:+}" in text
    assert sum(row["first"] for row in facts["rows"]) == pytest.approx(1)


def test_several_leagues_are_one_ranking_and_forfeits_can_be_left_out(cup, tmp_path):
    late = Decisions(4).start()
    late.play("R1M1", forfeits=["P02"])
    other = written(tmp_path / "other", late.events, "other")

    both = json.loads(printed("ratings", cup, other, "--json"))
    played = json.loads(printed("ratings", cup, other, "--without-forfeits", "--json"))

    assert both["leagues"] == [LEAGUE_ID, LEAGUE_ID]
    assert (both["matches"], played["matches"]) == (25, 24)


def test_a_league_that_is_named_twice_is_not_counted_twice(cup, tmp_path):
    season = tmp_path / "spring"
    first = written(season / "001", Decisions(4).play_to_the_end().events, "first")
    (season / "season.toml").write_text("leagues = 2")

    for places, there in (((cup, cup), cup), ((first, season), first), ((season, first), first)):
        refused = league("ratings", *places)

        assert refused.exit_code == 2
        assert f"{there} and {there} are one league" in refused.stderr


def test_standings_have_ratings_beside_points(cup):
    rows = json.loads(printed("standings", "--dir", cup, "--ratings", "--json"))
    facts = json.loads(printed("ratings", cup, "--json"))
    by_id = {row["player_id"]: row for row in facts["rows"]}

    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert all(row["rating"] == by_id[row["player_id"]]["rating"] for row in rows)
    assert f"{rows[0]['rating']:+}" in printed("standings", "--dir", cup, "--ratings")


def test_statistics_follow_the_table(cup):
    both = json.loads(printed("standings", "--dir", cup, "--statistics", "--json"))
    text = printed("standings", "--dir", cup, "--statistics")

    assert both["statistics"] == json.loads(printed("ratings", cup, "--json"))
    assert [row["rank"] for row in both["standings"]] == [1, 2, 3, 4]
    assert text.index("final table") < text.index("strength by 24 matches")


def test_statistics_have_the_chance_of_each_rank_of_few_players(cup, capsys):
    facts = json.loads(printed("ratings", cup, "--json"))
    told = printed("standings", "--dir", cup, "--statistics").split("Chance of each rank")[1]

    for row in facts["rows"]:
        (line,) = (each for each in told.splitlines() if row["name"] in each)
        cells = [int(each) for each in line.partition(row["name"])[2].split()]
        assert cells == [round(100 * each) for each in row["chances"]]
    for unfit in ({"parts": 2}, {"rows": facts["rows"] * 4}, {"rows": []}):
        print_chances(facts | unfit)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("option", ["--ratings", "--statistics"])
def test_a_manager_is_not_asked_for_what_only_the_journal_has(option):
    refused = league("standings", "--manager", "8000", option)

    assert refused.exit_code == 2
    assert f"type, with the directory of the manager: league standings --dir DIR {option}" in (
        refused.stderr
    )


def test_before_the_first_match_there_is_nothing_to_rate(tmp_path):
    empty = written(tmp_path / "cup", Decisions(4).start().events)

    assert "Too few matches to say anything" in printed("ratings", empty)
    assert "Agent 1" in printed("standings", "--dir", empty, "--ratings")


def test_where_no_league_is_it_says_so(tmp_path):
    refused = league("ratings", tmp_path)

    assert refused.exit_code == 1
    assert "there is no league in" in refused.stderr


def test_who_is_clearly_weaker_is_marked(tmp_path):
    league = Decisions(2, cycles=12).start()
    for round_id in range(1, 13):
        league.play(f"R{round_id}M1", forfeits=["P02"])
        league.record(RoundEnded(round_id))
        if round_id < 12:
            league.schedule(round_id + 1)
    lines = printed("ratings", written(tmp_path / "cup", league.events)).splitlines()

    (gap,) = (n for n, line in enumerate(lines) if line.strip() == "--- weaker than Agent 1 ---")
    assert ("Agent 1" in lines[gap - 1], "Agent 2" in lines[gap + 1]) == (True, True)
    assert "Agent 1 is clearly ahead of all others." in lines
    assert any(line.startswith("12 technical losses count as lost") for line in lines)


def test_the_table_says_how_many_more_matches_would_tell_neighbours_apart_if_any_would(capsys):
    players = ("Ann", "Bob", "Cy")
    names = {f"P0{n}": (name, "") for n, name in enumerate(players, 1)}
    won = [Decided(("P01", other), "P01", "WIN") for other in ("P02", "P03")] * 2
    level = [Decided(("P02", "P03"), winner, "WIN") for winner in ("P02", "P03")]
    for is_luck in (False, True):
        print_ratings(statistics([RatedLeague("cup", "chess", names, won + level, is_luck)]))

    told, of_luck = capsys.readouterr().out.split("cup: strength by 6 matches")[1:]
    ann, bob, cy = (next(line for line in told.splitlines() if name in line) for name in players)
    assert "First      More" in told
    assert re.search(r" %  +[0-9]+  ", ann)
    assert " %  > 10,000  " in bob
    assert re.search(r" %  +-", cy)
    assert "More" not in of_luck


def test_of_a_long_table_the_hint_can_be_typed_as_it_is(tmp_path):
    decisions = Decisions(42).start()
    for number in range(1, 22):
        decisions.play(f"R1M{number}")
    many = written(tmp_path / "the cup", decisions.events)

    screen = Screen("ratings", many, "--without-forfeits", size=(200, 60))

    hint = f"see all with: league ratings '{many}' --without-forfeits --all"
    assert f"… 2 more players; {hint}" in screen.ended()[0]


def test_in_a_narrow_terminal_columns_leave_and_no_number_is_cut(cup):
    told = {}
    for columns in (120, 80, 50):
        screen = Screen("ratings", cup, size=(columns, 40))
        assert screen.ended()[1] == 0
        told[columns] = screen.text

    assert ["=o" in each for each in told.values()] == [True, False, False]
    assert ["o the rating" in each for each in told.values()] == [True, False, False]
    assert ["Matches" in each for each in told.values()] == [True, True, False]
    assert all("95 % from, to" in each for each in told.values())
    assert all("0 is the middle of all players." in each for each in told.values())


def test_groups_that_never_met_have_tables_of_their_own_and_that_is_said_first(capsys):
    names = {f"P0{n}": (f"Player {n}", "") for n in range(1, 5)}
    games = [Decided(pair, pair[0], "WIN") for pair in (("P01", "P02"), ("P03", "P04"))] * 3
    print_ratings(statistics([RatedLeague("cup", "chess", names, games)]))

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("These are 2 groups that never met")
    assert [line for line in lines if "strength by" in line] == [
        f"cup: strength by 6 matches, group {n} of 2" for n in (1, 2)
    ]
    assert sum(line.startswith(" 1 (1-") for line in lines) == 2


def test_without_a_match_the_table_is_empty(capsys):
    print_ratings(statistics([RatedLeague("cup", "chess", {}, [])]))

    assert "cup: strength by 0 matches" in capsys.readouterr().out

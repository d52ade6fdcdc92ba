"""`league season`: a series of leagues, whose agents stay, and its table."""

import json
import shutil
import signal
import time
from pathlib import Path

import pytest

from agentleague.cli.commands import season as command
from agentleague.records.reading import event_of, open_league
from agentleague.records.seasons import has_begun, read_season, season_leagues
from agentleague.runtime.state_files import write_secrets
from cli.in_process import league as in_process
from cli.test_repair import damage
from cli.test_standings import printed
from commands import BIN, free_port, league, read_until, started
from crash.cup import until
from league.decisions import Decisions
from memory_league import MemoryLeague
from records.journals import played, written

SETTINGS = """\
leagues = 2
pause_seconds = 0.5
[league]
players = 2
cycles = 60
port = {port}
dashboard = false
"""


def typed(*words):
    """What a command does that may refuse."""
    return in_process(*words, check=False)


def a_season(directory, *leagues, text="leagues = 3\n"):
    """A season in which these leagues were played."""
    directory.mkdir()
    (directory / "season.toml").write_text(text)
    for number, each in enumerate(leagues, start=1):
        written(directory / f"{number:03}", each, f"league_{number}")
    return directory


def test_staying_agents_play_a_season_as_themselves_though_its_manager_is_killed(tmp_path):
    season, state, port = tmp_path / "spring", tmp_path / "state", free_port()
    league("season", season, "--new")
    (season / "season.toml").write_text(SETTINGS.format(port=port))
    manager = started(BIN / "league", "season", season)
    read_until(manager, "Waiting for 2 players")
    where = ("--manager", port, "--stay", "--state", state, "--port", 0)
    again = typed("season", season)
    assert f"stop it first, or look at it with: league watch --dir {season}/001\n" in again.stderr
    agents = [
        started(BIN / "league", "player", "--strategy", "random", "--name", "Ann", *where),
        started(BIN / "league", "player", "--strategy", "random", "--name", "Bob", *where),
        started(BIN / "league", "referee", *where),
    ]
    until(lambda: open_league(season / "001")[0].rounds_ended >= 5, "some rounds are over")
    manager.send_signal(signal.SIGKILL)
    manager.wait()
    assert not has_begun(season / "002")

    done = league("season", season)

    first, second = (open_league(each)[0] for each in season_leagues(season))
    assert first.rounds_ended == second.rounds_ended == 60
    names = [
        {each: one.roster.players[each].display_name for each in one.entrants}
        for one in (first, second)
    ]
    assert names[0] == names[1]
    assert set(names[0].values()) == {"Ann", "Bob"}
    assert set(names[0]) == {"P01", "P02"}
    assert set(second.roster.known_by.values()) <= {"token", "claim"}
    assert len(second.roster.known_by) == 2
    assert "2 of 2 leagues over" in done.stdout
    for agent in agents:
        agent.send_signal(signal.SIGINT)
        assert agent.wait(20) == 0
    checked = league("verify", season).stdout
    assert checked.count("all is true. The champion") == 2
    assert f"2 leagues of {season}: who came back, and what ratings they brought" in checked


def test_a_season_without_a_league_is_nothing_to_verify(tmp_path):
    season = a_season(tmp_path / "spring")

    ran = typed("verify", season)

    assert ran.returncode == 2
    assert f"no league of {season} has begun" in ran.stderr


def test_the_table_of_a_season_has_a_column_for_each_league(tmp_path):
    season = a_season(tmp_path / "spring", *2 * [Decisions(3).play_to_the_end().events])

    text, facts = printed("standings", season), json.loads(printed("season", season, "--json"))

    assert "0 of 3 leagues over, by points of all leagues" in text
    assert text == printed("season", season, "--table")
    assert [row["player_id"] for row in facts["table"]] != []
    assert facts["rule"] == "sum"
    for row in facts["table"]:
        assert row["total"] == sum(each["points"] for each in row["leagues"])
    assert len(json.loads(printed("ratings", season, "--json"))["leagues"]) == 2


@pytest.mark.parametrize(("best", "words"), [(1, "the best league"), (2, "the best 2 leagues")])
def test_the_table_says_how_many_leagues_count(tmp_path, best, words):
    text = f"leagues = 3\nrule = 'best'\nbest = {best}\n"
    season = a_season(tmp_path / "spring", Decisions(2).play_to_the_end().events, text=text)

    assert f"over, by points of {words}\n" in printed("season", season, "--table")


def test_what_one_league_alone_has_is_asked_of_a_league_and_not_of_a_season(tmp_path):
    season = a_season(tmp_path / "spring", Decisions(3).play_to_the_end().events)

    for words, said in (
        (("standings", "--dir", season, "--statistics"), "league ratings"),
        (("start", "--dir", season), "is a season; name one of its leagues"),
        (("verify", season, "--receipt", f"1:{64 * '0'}"), "is a season; name one of its leagues"),
    ):
        ran = typed(*words)
        assert ran.returncode != 0
        assert said in ran.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("leagues = 0", "leagues must be a whole number from 1 to 999, not 0"),
        ("rule = 'sum'", "leagues must be a whole number from 1 to 999, and is missing"),
        ("leagues = 2\nruel = 'sum'", "no setting 'ruel'; did you mean rule? Settings of its"),
        ("leagues = 2\nplayers = 4", "no setting 'players'; settings of its leagues go below ["),
        ("leagues = 2\nrule = 'bst'", """rule must be "sum", "best" or "rating", not 'bst'"""),
        ("leagues = 2\nrule = 'best'", 'rule = "best" needs the number of leagues that count, suc'),
        ("leagues = 2\nbest = 2", 'best goes with rule = "best" only'),
        ("leagues = 2\nleague = 2", "league must be a table, [league], not 2"),
        ("leagues = 2\neach = {2 = 3}", "each must be tables by the number of a league, such as"),
        ("leagues = 2\n[each.two]\nplayers = 4", "[each.two] must name a league"),
        (
            "leagues = 2\n[each.3]\nplayers = 4",
            "[each.3] must name a league, from each.1 to each.2",
        ),
        ("leagues = 2\n[each.0]\nplayers = 4", "[each.0] must name a league"),
        ("leagues = 2\n[each.'\N{SUPERSCRIPT TWO}']", "must name a league"),
        ("leagues = 2\n[each.'\\u001b[31m']".replace("'", '"'), "[each.?[31m] must name"),
        ("leagues =", "cannot be"),
        ("leagues = 2\n[league]\nplayrs = 4", "did you mean 'players'?"),
        ("leagues = 2\n[each.2]\nplayers = 1", "league 2: players must be"),
        ("leagues = 2\n[each.2]\nstart_at = '2020-01-01T10:00:00Z'", "league 2: start_at is past"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(tmp_path, text, said):
    season = a_season(tmp_path / "spring", text=text)

    refused = typed("season", season)

    assert refused.returncode == 2
    assert said in refused.stderr
    assert not season_leagues(season)


def test_what_one_league_has_of_its_own_stands_in_place_of_what_would_contradict_it(tmp_path):
    shared = "start_after_seconds = 9.0\nformat = 'swiss'\nformat_options = {rounds = 3}\n"
    own = "[each.2]\nstart_at = '2126-12-01T18:00:00Z'\nformat = 'knockout'\n"
    season = a_season(tmp_path / "spring", text=f"leagues = 3\n[league]\n{shared}{own}")
    settings = read_season(season)

    assert settings.of(2) == {"start_at": "2126-12-01T18:00:00Z", "format": "knockout"}
    assert settings.of(3) == settings.of(1) == settings.league
    assert settings.league["format_options"] == {"rounds": 3}


@pytest.mark.parametrize(
    ("own", "has_cycles"),
    [
        ("format = 'knockout'", False),
        ("format = 'round_robin'", True),
        ("stages = [{format = 'swiss', advance = 2}, {format = 'knockout'}]", False),
        ("stages = [{format = 'round_robin', advance = 2}, {format = 'knockout'}]", True),
        ("players = 4", True),
        ("stages = 3", True),
    ],
)
def test_the_cycles_of_all_leagues_are_for_those_that_have_a_round_robin(tmp_path, own, has_cycles):
    text = f"leagues = 2\n[league]\ncycles = 2\n[each.2]\n{own}\n"
    settings = read_season(a_season(tmp_path / "spring", text=text))

    assert ("cycles" in settings.of(2)) == has_cycles


def test_a_league_that_is_missing_or_there_twice_is_said_and_nothing_begins_in_its_place(tmp_path):
    league = Decisions(2).play_to_the_end().events
    season = a_season(tmp_path / "spring", league, league)
    (season / "0001").mkdir()  # That is nothing of it.
    (season / "001").rename(season / "003")
    missing = [typed(*words) for words in (("season", season), ("standings", season))]
    (season / "003").rename(season / "001")
    shutil.rmtree(season / "002")
    shutil.copytree(season / "001", season / "002")
    twice = [typed(*words) for words in (("season", season), ("ratings", season))]

    assert {each.returncode != 0 for each in missing + twice} == {True}
    assert all(f"none in {season / '001'}; put that back" in each.stderr for each in missing)
    assert all("002 is a copy of" in each.stderr for each in twice)
    assert not (season / "003").exists()


def test_only_the_season_goes_on_with_a_league_of_it(tmp_path, monkeypatch):
    events = Decisions(2).start().events
    season = a_season(tmp_path / "the season", events, events)
    shutil.copytree(season / "002", season / "final")  # A name that no league of it has.
    again = f"league season '{season}'"

    status = typed("status", "--dir", season / "002")
    refused = [typed("manager", "--dir", season / each) for each in ("002", "003")]
    monkeypatch.chdir(season / "002")
    refused.append(typed("manager", "--dir", "."))
    other = typed("status", "--dir", season / "final")

    assert f"start it with: {again}" in status.stdout + status.stderr
    assert [each.returncode for each in refused] == [2] * 3
    assert all(f"go on with: {again}" in each.stderr for each in refused)
    assert not (season / "003").exists()
    assert "start it with: league manager --dir" in other.stdout + other.stderr


def test_a_season_goes_on_without_rows_that_are_lost_if_that_is_accepted(tmp_path):
    own = "port = 0\nplayers = 4\ndashboard = false\n[each.2]\nseeding = 'rating'\n"
    text = f"leagues = 2\n[league]\n{own}"
    season, cup = a_season(tmp_path / "spring", text=text), written(tmp_path / "cup", played())
    write_secrets(cup, None)
    damage(cup, len(played()) - 1)
    league("repair", cup, "--to", season / "001")

    refused = typed("season", season)
    manager = started(BIN / "league", "season", season, "--accept-loss")

    assert "the same command with --accept-loss" in refused.stderr
    assert "Going on after a loss" in read_until(manager, "Waiting for 4 players")  # The next.
    manager.send_signal(signal.SIGINT)
    assert manager.wait(20) == 0


@pytest.mark.slow
def test_a_league_whose_time_had_passed_goes_on_after_its_manager_was_killed(tmp_path):
    ended = MemoryLeague(2, 1).fill().play()
    text = f"leagues = 2\n[league]\nport = {free_port()}\ndashboard = false\n"
    season = a_season(tmp_path / "spring", text=text)
    events = [event_of(row) for row in ended.journal.read("league_test")]
    written(season / "001", events, "league_1")
    (season / "season.toml").write_text(f"{text}[each.2]\nstart_at = '2020-01-01T10:00:00Z'\n")
    for _ in range(2):
        manager = started(BIN / "league", "season", season)
        read_until(manager, "Waiting for")
        manager.send_signal(signal.SIGKILL)
        manager.wait()

    assert has_begun(season / "002")


def test_a_stop_in_the_pause_says_how_to_go_on(tmp_path, monkeypatch):
    ended = MemoryLeague(2, 1).fill().play()
    events = [event_of(row) for row in ended.journal.read("league_test")]
    text = "leagues = 2\npause_seconds = 60.0\n"
    season = a_season(tmp_path / "spring", events, text=text)

    def stop(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "wall", lambda: 1_763_200_801.7)
    monkeypatch.setattr(time, "sleep", stop)
    done = typed("season", season)

    assert "League 2 begins in 59 s. Stop" in done.stderr
    assert f"nothing is lost. Continue with: league season {season}" in done.stderr


def test_a_season_is_written_once_and_says_when_nothing_was_played(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "league season spring" in typed("season", "spring", "--new").stderr

    again, empty, unrated, nothing = (
        typed("season", "spring", "--new"),
        typed("season", "spring", "--table"),
        typed("ratings", "spring"),
        typed("season", "autumn"),
    )

    assert "exists already" in again.stderr
    assert "no league of spring has begun" in empty.stderr
    assert unrated.stderr.startswith("Error: no league of spring has begun")
    assert "begin one with: league season autumn --new" in nothing.stderr
    assert Path("spring/season.toml").read_text().count("league season spring") == 1

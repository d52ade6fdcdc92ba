"""`league bracket`, `league formats` and `league init --format`: formats as a person meets them."""

import json
import tomllib

import pytest

from agentleague.cli.commands import demo
from agentleague.league.formats.stages import FORMATS, misfit, planned_by
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.settings import read_settings
from cli.in_process import league
from cli.screen import Screen
from cli.two_sources import keep, served
from league.staged import Staged

KNOCKOUT = {"format": "knockout"}
FOUR_IN_GROUPS = ("--players", "4", "--format", "groups", "--format-options")


def printed(decisions, directory, *words):
    return league("bracket", keep(decisions, directory), *words).stdout


def test_a_bracket_is_drawn_from_left_to_right(tmp_path):
    shown = printed(Staged(4, KNOCKOUT).begin().play_on(1), tmp_path)

    assert (
        shown.splitlines()[2:]
        == [
            "Semi-finals       Final",
            "  1 Agent 1 ✓1┐",
            "              ├─  1 Agent 1    ┐",
            "  4 Agent 4  0┘                │",
            "                               ├─",
            "  2 Agent 2 ✓1┐                │",
            "              ├─  2 Agent 2    ┘",
            "  3 Agent 3  0┘",
            "",
            "The number before a name is the seed, the one after it the games won; ✓ goes on.",
        ]
        or shown
    )


def test_a_tie_that_the_seed_decided_is_marked(tmp_path):
    decisions = Staged(2, KNOCKOUT | {"replays": 0}).begin()
    decisions.decide("R1M1")

    shown = printed(decisions.play_on(), tmp_path)

    assert "  1 Agent 1 *0┐" in shown.replace("     ", "")
    assert "* level after all games: the better seed goes on." in shown


def test_a_swiss_before_a_knockout_says_who_goes_on_and_by_what(tmp_path):
    stages = {"format": "swiss", "rounds": 2, "advance": 3}, KNOCKOUT

    shown = printed(Staged(5, *stages).begin().play_on(2), tmp_path, "--stage", "1")

    assert shown.count("▸") == 4
    assert "▸ goes on; at equal points at the cut (P03 and P04): Buchholz decides" in shown


def test_early_rounds_of_a_large_bracket_and_the_match_for_third_place_are_listed(tmp_path):
    decisions = Staged(40, KNOCKOUT | {"third_place": 1}, name="ח{:02} \x1b[1m<b>".format)

    shown = printed(decisions.begin().play_on(), tmp_path)

    assert shown.count("Round of 64") == 32
    assert "Match for third place" in shown
    assert "\x1b" not in shown
    assert "├─ ח01" in shown
    assert max(map(len, shown.splitlines())) <= 120


def test_a_name_that_is_cut_in_a_bracket_says_so(tmp_path):
    decisions = Staged(4, KNOCKOUT, name="A name of some length {:03}".format)

    shown = printed(decisions.begin().play_on(), tmp_path)

    assert "1 A name of some length 0… ✓1" in shown
    assert "├─ A name of some length 0…\n" in shown


def test_rounds_of_a_swiss_that_find_no_room_are_named(tmp_path):
    decisions = Staged(100, {"format": "swiss", "rounds": 10}).begin().play_on()

    shown = printed(decisions, tmp_path)

    assert " R3 " in shown
    assert "Not shown: R1, R2; use a wider terminal, or --json." in shown


# The last rounds before those that are drawn, as many as fit, and whether their matches do.
@pytest.mark.parametrize(
    ("columns", "rounds", "has_matches"),
    [(50, ["32", "16"], False), (80, ["32", "16"], True), (120, ["32"], True)],
)
def test_the_last_rounds_are_listed_with_their_winners(tmp_path, columns, rounds, has_matches):
    decisions = Staged(100, KNOCKOUT | {"replays": 0}, name="A name of some length {:03}".format)

    screen = Screen("bracket", keep(decisions.begin().play_on(), tmp_path), size=(columns, 200))
    shown, exit_code = screen.ended()

    assert exit_code == 0
    ties = [line for line in shown.splitlines() if line.startswith(" Round of ")]
    assert list(dict.fromkeys(line[10:12] for line in ties)) == rounds
    assert all("✓ " in line for line in ties)
    assert "… 96 ties of earlier rounds; see all with: " in shown
    assert any(line.endswith(" R3M16") for line in ties) == has_matches


def test_a_swiss_has_a_column_for_each_round_and_marks_byes(tmp_path):
    shown = printed(Staged(5, {"format": "swiss", "rounds": 3}).begin().play_on(1), tmp_path)

    assert "R1" in shown
    assert "Buchh." in shown
    assert " bye " in shown
    assert "…" in shown
    assert "+P03 won against P03" in shown
    assert "+P03 " in shown.split("+P03 won")[0]
    assert "Byes: the points that were given for them." in shown


def test_groups_ladders_and_stages_to_come(tmp_path):
    stages = [{"format": "groups", "advance": 1}, {"format": "ladder", "rounds": 3}]
    decisions = Staged(4, *stages).begin()
    directory = keep(decisions, tmp_path / "running")

    running = league("bracket", directory).stdout
    to_come = league("bracket", directory, "--stage", "2").stdout
    no_stage = league("bracket", directory, "--stage", "3", check=False)

    assert "Group B" in running
    assert running.count("would go on") == 2
    assert to_come.endswith("ladder, to come (stage 2 of 2); who is in it is not known yet.\n")
    assert (no_stage.returncode, "stages 1 to 2" in no_stage.stderr) == (1, True)

    over = keep(decisions.play_on(), tmp_path / "over")
    first, last = league("bracket", over, "--stage", "1"), league("bracket", over)
    assert first.stdout.count("goes on") == 2
    assert f"See the first stage with: league bracket --dir {over} --stage 1\n" in last.stderr
    assert "--stage 1" not in first.stderr
    ladder = last.stdout
    assert "Elo" in ladder
    assert "▁" in ladder
    found = json.loads(league("bracket", over, "--json").stdout)
    assert [row["player_id"] for row in found["rows"]] == ["P01", "P02"]


def test_a_running_manager_is_asked_for_the_same(tmp_path):
    decisions = Staged(8, KNOCKOUT).begin()

    with served(decisions) as url:
        asked = league("bracket", "--manager", url).stdout

    assert asked == printed(decisions, tmp_path)


def test_the_status_names_formats_and_the_round(tmp_path):
    decisions = Staged(4, {"format": "groups", "advance": 1}, KNOCKOUT).begin().play_on(1)

    shown = league("status", keep(decisions, tmp_path)).stdout

    assert "groups, then knockout" in shown
    assert "2, final (stage 2 of 2: knockout)" in shown
    assert "2 of 3 so far" in shown


def test_formats_are_listed_with_what_they_are_for_and_their_options():
    names = [each["name"] for each in json.loads(league("formats", "--json").stdout)]
    shown, one = league("formats").stdout, league("formats", "knockout").stdout

    assert names == [*FORMATS]
    assert all(name in shown for name in names)
    assert all(option in one for option in FORMATS["knockout"].options)
    unknown = league("formats", "swis", check=False)
    assert (unknown.returncode, "did you mean 'swiss'?" in unknown.stderr) == (2, True)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_for_a_format_can_be_used_as_it_is(name, tmp_path):
    file = tmp_path / "cup.toml"

    league("init", file, "--format", name)

    settings = read_settings(ManagerSettings, file=file, environment={}, options={}).make(
        ManagerSettings
    )
    stages = planned_by(settings)
    followed = ["knockout"] if name == "groups" else []
    assert [each.format for each in stages] == [name, *followed]
    assert misfit(stages, 8) is None
    assert ("stages" in tomllib.loads(file.read_text())) == bool(followed)
    for option in FORMATS[name].options:
        assert f"{option} = " in file.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("init", "x.toml", "--format", "swis"), "did you mean 'swiss'?"),
        (("init", "x.toml", "--format", "swiss", "--for", "player"), "is for managers"),
        (
            ("demo", "--players", "3", "--format", "groups"),
            "--format does not fit 3 players: 2 groups need at least 4 players, not 3.",
        ),
        (
            ("demo", "--players", "3", "--stages", '[{"format": "groups"}]'),
            "--stages do not fit 3 players: stage 1 (groups): 2 groups need at least 4 players",
        ),
        (
            ("demo", *FOUR_IN_GROUPS, '{"groups": 3}'),
            "--format-options do not fit 4 players: 3 groups need at least 6 players, not 4.",
        ),
        (("demo", "--format", "knockout", "--format-options", '{"best": 3}'), "mean 'best_of'?"),
        (("demo", "--format", "round_robin", "--stages", '[{"format": "swiss"}]'), "leave one out"),
        (("demo", "--format", "knokout"), "not 'knokout'; did you mean 'knockout'?"),
        (("manager", "--format", "ladder"), "set rounds, matches or seconds"),
        (("manager", "--format-options", '{"rounds": 2}'), "has no option 'rounds'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(words, said, tmp_path):
    done = league(*words, cwd=tmp_path, check=False)

    assert done.returncode == 2
    assert said in done.stderr
    assert not [*tmp_path.iterdir()]


def test_a_demo_of_a_ladder_ends_by_itself_and_is_shown_by_rating():
    table = json.loads(league("demo", "--format", "ladder", "--json", "-q").stdout)

    assert table["total_rounds"] == 10
    elos = [row["elo"] for row in table["final_standings"]]
    assert elos == sorted(elos, reverse=True)


@pytest.mark.parametrize(("name", "is_drawn"), [("knockout", True), ("swiss", False)])
def test_a_demo_that_keeps_nothing_draws_the_bracket_with_which_it_ends(name, is_drawn):
    shown = league("demo", "--format", name, "--players", "3", "-q").stdout

    assert ("├─" in shown and "winner of" not in shown) == is_drawn


def test_a_demo_of_groups_that_keeps_nothing_says_how_to_see_them():
    done = league("demo", "--format", "groups", "--players", "4")

    assert "To see the groups, too, play it with --keep.\n" in done.stderr


def test_a_demo_draws_no_bracket_that_is_too_large(monkeypatch):
    monkeypatch.setattr(demo, "DRAWN_MAX", 2)

    assert "├─" not in league("demo", "--format", "knockout", "--players", "3", "-q").stdout


def test_a_demo_that_keeps_its_directory_names_the_command_that_draws_it(tmp_path):
    done = league("demo", "--format", "knockout", "--players", "2", "--dir", tmp_path / "cup")

    assert f"bracket --dir {tmp_path / 'cup'}" in done.stderr
    assert "├─" not in done.stdout

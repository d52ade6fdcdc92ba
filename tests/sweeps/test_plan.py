"""The plan of a sweep: which leagues it names, and what is said of a slip in it."""

import pytest

from agentleague.cli.player_files import load_for
from agentleague.runtime.settings import SettingError
from agentleague.sweeps.plan import EXAMPLE, read_plan
from sweeps.plans import SMALL, plan_of
from tables import each_row

PLAYER = "def choose(turn):\n    return turn.rng.choice(['even', 'odd'])\n"


def test_the_leagues_are_the_product_of_all_that_is_named_seeds_last(tmp_path):
    plan = plan_of(tmp_path)

    leagues = [plan.league(number) for number in range(1, plan.leagues + 1)]

    assert [(each.game, each.setting.options, each.seed) for each in leagues] == [
        (game, f'{{"cycles":{cycles}}}', seed)
        for game in ("even_odd", "rock_paper_scissors")
        for cycles in (1, 2)
        for seed in (5, 3)
    ]
    assert {tuple(sorted(each.players)) for each in leagues} == {(0, 1, 2)}


def test_they_are_played_seed_by_seed_and_each_once(tmp_path):
    plan = plan_of(tmp_path)

    order = list(plan.order())

    assert [plan.league(number).seed for number in order] == [5] * 4 + [3] * 4
    assert sorted(order) == list(range(1, 9))


def test_every_combination_of_so_many_players_has_leagues_of_its_own(tmp_path):
    plan = plan_of(tmp_path, f"players_per_league = 2\n{SMALL}")

    assert plan.sets == [(0, 1), (0, 2), (1, 2)]
    assert plan.leagues == 2 * 2 * 3 * 2


@each_row(
    "written, seeds",
    [("3", [1, 2, 3]), ("[9, 4]", [9, 4]), ("{ first = 7, last = 9 }", [7, 8, 9])],
)
def test_seeds_are_a_number_a_list_or_a_range(written, seeds, tmp_path):
    assert list(plan_of(tmp_path, SMALL.replace("[5, 3]", written)).seeds) == seeds


def test_players_are_seeded_by_the_seed_of_their_league_or_as_they_stand(tmp_path):
    drawn, fixed = (plan_of(tmp_path, f"{s}\n{SMALL}") for s in ("", 'seeding = "order"'))
    numbers = range(1, 9)

    assert {tuple(fixed.league(number).players) for number in numbers} == {(0, 1, 2)}
    assert [drawn.league(n).players for n in numbers] == [
        drawn.league(n % 2 or 2).players for n in numbers
    ]
    assert len({tuple(drawn.league(number).players) for number in numbers}) == 2


def test_a_format_may_be_stages_each_with_its_options(tmp_path):
    stages = '[{ format = "round_robin", advance = [2, 3] }, { format = "round_robin" }]'
    text = SMALL.replace('format = "round_robin"\ncycles = [1, 2]', f"stages = {stages}")

    settings = plan_of(tmp_path, text).settings

    assert [each.format for each in settings] == ["round_robin+round_robin"] * 2
    assert [each.options for each in settings] == ['[{"advance":2},{}]', '[{"advance":3},{}]']


def test_a_player_named_twice_has_two_names(tmp_path):
    (tmp_path / "mine.py").write_text(PLAYER)
    players = '["random", "mine.py", "random"]'

    plan = plan_of(tmp_path, f'players = {players}\ngames = ["even_odd"]\nseeds = 1\n')

    assert plan.names == ["random", "mine", "random-3"]


def test_the_example_is_a_plan(tmp_path):
    plan = plan_of(tmp_path, EXAMPLE.format(file="plan.toml"))

    assert plan.leagues == 2 * 2 * 20


def test_what_the_results_depend_on_is_known_by_the_text_that_changed(tmp_path):
    text = 'players = ["random", "mine.py"]\ngames = ["even_odd"]\nseeds = 1\n'
    (tmp_path / "mine.py").write_text(PLAYER)
    before = plan_of(tmp_path, text).identity()

    assert plan_of(tmp_path, f"# A remark.\n{text}").identity() == before
    (tmp_path / "mine.py").write_text(f"{PLAYER}\n")
    changed = plan_of(tmp_path, text).identity()
    assert {name for name in before if before[name] != changed[name]} == {"mine.py"}


def test_of_the_files_beside_a_player_those_that_it_imports_must_not_change(tmp_path):
    text = 'players = ["random", "mine/player.py"]\ngames = ["even_odd"]\nseeds = 1\n'
    (tmp_path / "mine" / "parts").mkdir(parents=True)
    (tmp_path / "mine" / "player.py").write_text(f"from parts import habits\n{PLAYER}")
    for file in ("parts/habits.py", "plot.py"):
        (tmp_path / "mine" / file).write_text("")
    before = plan_of(tmp_path, text).identity()

    for file in ("parts/habits.py", "plot.py"):
        (tmp_path / "mine" / file).write_text("# changed\n")
    changed = plan_of(tmp_path, text).identity()

    assert {name for name in before if before[name] != changed[name]} == {"mine/parts/habits.py"}


FORMAT = 'format = "round_robin"\ncycles = [1, 2]'
WRONG = [  # what is replaced in the plan, by what, and what is said
    ('["random", "fixed", "frequency"]', '["random"]', "line 1: players must be from 2 to 1,000"),
    ('["random", "fixed", "frequency"]', '"random"', "line 1: players must be a list of texts"),
    ("fixed", "fixd", "line 1: players cannot be: no strategy 'fixd' is installed; did you mean"),
    ("fixed", "perfect", "line 1: players cannot be: the strategy perfect plays tic_tac_toe, not"),
    (
        '"fixed", "frequency"',
        '"perfect", "none.py"',
        "line 1: players cannot be: the strategy perfect plays tic_tac_toe, not even_odd; there is",
    ),
    ('"even_odd", ', '"even_odd", "even_odd", ', "line 2: games names one twice; leave it out"),
    ("[1, 2]", "[1, 1]", "line 4: formats names one twice; leave it out"),
    ("fixed", "none.py", "line 1: players cannot be: there is no file"),
    ("fixed", "broken.py", "broken.py cannot be loaded: ZeroDivisionError"),
    ("players =", "player =", "line 1: player is no field of a plan; did you mean players?"),
    ("even_odd", "chess", "line 2: games cannot be: no game 'chess' is installed; there are"),
    ("games =", "# games =", "games is missing; write for example: games = "),
    ("[5, 3]", "[5, 5]", "line 3: seeds names one twice"),
    ("[5, 3]", "0", "line 3: seeds cannot be 0; write seeds = 100, seeds = [7, 11] or"),
    ("[5, 3]", "true", "line 3: seeds cannot be True"),
    ("[5, 3]", "[]", "line 3: seeds cannot be []"),
    ("[5, 3]", "[5, 9_223_372_036_854_775_808]", "1, last = 100 }, of at most 18 digits"),
    ("[5, 3]", f"{{ first = 1, last = {10**30} }}", "1, last = 100 }, of at most 18 digits"),
    ("[5, 3]", "{ first = 2, last = 1 }", "line 3: seeds cannot be {"),
    ("[5, 3]", "{ first = 1, last = 9_999_999 }", "line 3: seeds make 39,999,996 leagues, over"),
    ("seeds = [5, 3]", "", "line 1: seeds is missing; write seeds = 100"),
    ("[5, 3]", "[5, 3", "is not TOML: "),
    ("seeds", "players_per_league = 4\nseeds", "line 3: players_per_league must be from 2 to 3"),
    ("seeds", 'seeding = "rating"\nseeds', "line 3: seeding must be one of random, order"),
    ("round_robin", "swis", "line 4: formats cannot be: there is no format 'swis'"),
    ("[1, 2]", "[1, 0]", "line 4: formats cannot be: the option 'cycles' of round_robin must be a"),
    ("[1, 2]", "[]", "line 4: formats cannot be: the option 'cycles' has no value"),
    ("[1, 2]", "true", "line 4: formats cannot be: the option 'cycles' of round_robin must be a"),
    ("cycles =", "cycle =", "line 4: formats cannot be: the format round_robin has no option"),
    ("cycles", '[[formats]]\nformat = "round_robin"\nrounds', "line 6: formats cannot be: the"),
    (
        '"round_robin"\ncycles = [1, 2]',
        '"ladder"\nseconds = 9',
        "line 4: formats cannot be: no time",
    ),
    ("cycles = [1, 2]", "stages = [1]", "line 4: formats cannot be: the format round_robin has no"),
    (FORMAT, "stages = [1]", "line 4: formats cannot be: a stage is a table, as in: stages = ["),
    (FORMAT, "stages = 1", "line 4: formats cannot be: a stage is a table, as in: stages = ["),
    (
        FORMAT,
        'stages = [{ format = "round_robin", advance = 1 }, { format = "knockout" }]',
        "line 4: formats cannot be: 3 players cannot play that: stage 2 (knockout): ",
    ),
    ("seeds", "formats = []\nseeds", "is not TOML: "),
]


@each_row("old, new, said", WRONG)
def test_a_slip_is_named_with_its_line_and_what_to_write(old, new, said, tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    assert old in SMALL

    with pytest.raises(SettingError) as raised:
        plan_of(tmp_path, SMALL.replace(old, new, 1))

    assert said in str(raised.value)
    assert "plan.toml" in str(raised.value)


def test_a_plan_that_is_not_there_can_be_written(tmp_path):
    with pytest.raises(SettingError, match=r"no file .*write one with: league sweep --new"):
        read_plan(tmp_path / "none.toml", load_for)

"""Settings from a file, the environment and options: which counts, and what is said of a slip."""

from pathlib import Path

import pytest

from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.settings import SettingError, check_table, read_settings, read_table


def read(cls=ManagerSettings, *, file=None, environment=(), **options):
    given = read_settings(cls, file=file, environment=dict(environment), options=options)
    return given.make(cls) if cls is not PlayerSettings else given


@pytest.fixture
def cup(tmp_path, monkeypatch):
    """Writes the file of settings."""
    monkeypatch.chdir(tmp_path)

    def write(text, encoding="utf-8"):
        Path("cup.toml").write_text(text, encoding=encoding)
        return Path("cup.toml")

    return write


def test_without_anything_given_the_defaults_hold():
    assert read() == ManagerSettings()


def test_options_count_more_than_the_environment_and_that_more_than_the_file(cup):
    file = cup("cycles = 2\nretries = 2\njoin_retries = 2\n")
    environment = {"LEAGUE_RETRIES": "4", "LEAGUE_JOIN_RETRIES": "4"}

    settings = read(file=file, environment=environment, join_retries="5")

    assert (settings.cycles, settings.retries, settings.join_retries) == (2, 4, 5)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("players", "30", 30),
        ("move_seconds", "2.5", 2.5),
        ("move_seconds", "10", 10.0),
        ("unsigned_pushes", "false", False),
        ("unique_names", "reject", "reject"),
        ("lan", "10.1.0.0/16, 10.2.0.0/16", ["10.1.0.0/16", "10.2.0.0/16"]),
        ("tie_breaks", "wins,player_id", ["wins", "player_id"]),
        ("game_options", '{"best_of": 5}', {"best_of": 5}),
        ("join_code", "sésame 1", "sésame 1"),
        ("league_id", "cup_2026-a", "cup_2026-a"),
    ],
)
def test_variables_and_options_are_read_alike(name, text, value):
    assert getattr(read(**{name: text}), name) == value
    assert getattr(read(environment={f"LEAGUE_{name.upper()}": text}), name) == value


def test_a_file_has_tables_lists_and_numbers_of_its_own(cup):
    file = cup(
        'tie_breaks = ["wins"]\nmove_seconds = 10\nlan = ["10.0.0.0/8"]\n\n'
        "[game_options]\nbest_of = 5\n"
    )

    settings = read(file=file)

    assert settings.tie_breaks == ["wins"]
    assert settings.move_seconds == 10.0
    assert settings.game_options == {"best_of": 5}


def test_an_empty_variable_is_none():
    assert read(environment={"LEAGUE_PLAYERS": ""}).players is None


def test_of_two_variables_for_one_setting_that_of_its_full_name_counts():
    both = {"LEAGUE_GAME": "tic_tac_toe", "LEAGUE_GAME_TYPE": "rock_paper_scissors"}

    assert read(environment=both).game_type == "rock_paper_scissors"
    assert read(environment={"LEAGUE_GAME": "tic_tac_toe"}).game_type == "tic_tac_toe"


def test_a_variable_that_only_another_role_knows_is_ignored():
    others = dict.fromkeys(["LEAGUE_OF_NATIONS", "LEAGUE_HOME", "LEAGUE_ENV", "LEAGUE_DIR"], "1")
    environment = {"LEAGUE_MANAGER": "9000", "LEAGUE_LLM_KEY": "k", **others}

    assert read(environment=environment) == ManagerSettings()
    assert read(RefereeSettings, environment={"LEAGUE_PLAYERS": "none"}) == RefereeSettings()


def test_every_role_is_read_alike():
    given = read(PlayerSettings, environment={"LEAGUE_NAME": "Ann"}, seed="7")

    assert given.values == {"display_name": "Ann", "seed": "7"}
    assert given.places == {"display_name": "LEAGUE_NAME", "seed": "--seed"}


SLIPS = [
    # an unknown key, near one and far from any
    (
        "\n# a comment\nmove_second = 1\n",
        "cup.toml, line 3: there is no setting 'move_second'; did you mean 'move_seconds'?",
    ),
    ("Join-Code = 'x'", "line 1: there is no setting 'Join-Code'; did you mean 'join_code'?"),
    ("game = 'x'", "line 1: there is no setting 'game'; did you mean 'game_type'?"),
    ("[league]\nid = 1", "line 1: there is no setting 'league'; did you mean 'league_id'?"),
    ("colour = 1", "there is no setting 'colour'; `league init` writes a file with all"),
    ("a.b = 1", "cup.toml, line 1: there is no setting 'a'"),
    # the wrong type, or beyond a limit
    ('players = "30"', "cup.toml, line 1: players must be a whole number from 2 to 1,000,000"),
    ("\nplayers = 1", "cup.toml, line 2: players must be a whole number from 2 to"),
    ("players = 2.5", "players must be a whole number from 2 to 1,000,000, not 2.5"),
    ("players = true", "players must be a whole number from 2 to 1,000,000, not true"),
    ("move_seconds = 0", "move_seconds must be a number above 0, at most 31,536,000, not 0"),
    ("move_seconds = inf", "move_seconds must be a number above 0"),
    ("move_seconds = nan", "move_seconds must be a number above 0"),
    ("unique_names = 'no'", 'must be "suffix", "reject" or "off", not \'no\''),
    ("tie_breaks = 'wins'", 'tie_breaks must be a list of "head_to_head", "wins"'),
    ("tie_breaks = ['goals']", 'or "player_id", not ["goals"]'),
    ("game_options = 1", "line 1: game_options must be a table, not 1"),
    ("unsigned_pushes = 'yes'", "unsigned_pushes must be true or false, not 'yes'"),
    (
        "join_code = 1234",
        "join_code must be a text of at most 64 characters: put it in quotes",
    ),
    ("league_id = '../up'", "league_id must be at most 64 letters, digits, _ and -"),
    ("cycles = 1979-05-27", 'cycles must be a whole number from 1 to 100,000, not "1979-05-27"'),
    (
        'move_seconds = "5"',
        "move_seconds must be a number above 0, at most 31,536,000, not '5': take",
    ),
    # no TOML at all
    ("join_code = sesame", 'a text stands in quotes: join_code = "sesame"'),
    ("unsigned_pushes = True", "; write it so: unsigned_pushes = true"),
    ('join_code = "sesame\ncycles = 1', "; a quote is missing at the end of that line"),
    ("players 30", "cup.toml is not TOML: Expected '=' after a key in a key/value pair (at"),
    ("cycles = 1\ncycles = 2\n\n", "cup.toml is not TOML: Cannot overwrite a value (at line 2"),
]


def test_a_slip_in_the_file_is_said_with_its_line_and_what_would_be_right(cup):
    for text, sentence in SLIPS:
        with pytest.raises(SettingError) as caught:
            read(file=cup(text))

        assert sentence in str(caught.value), text


def test_a_file_that_is_not_there_can_be_written(tmp_path):
    with pytest.raises(SettingError, match=r"there is no file .*\.toml; write one with: league i"):
        read(file=tmp_path / "none.toml")


def test_a_directory_is_no_file_of_settings(tmp_path):
    with pytest.raises(
        SettingError, match=r"is a directory, and a file of settings is wanted; .*--dir"
    ):
        read(file=tmp_path)
    with pytest.raises(SettingError, match=r"league init .*cup\.toml; a directory is named with"):
        read(file=tmp_path / "cup")


def test_a_file_in_another_encoding_is_said(cup):
    with pytest.raises(SettingError, match=r"cup\.toml is not UTF-8 \(byte 13\); save it as"):
        read(file=cup("join_code = 'é'", encoding="latin-1"))


def test_what_the_terminal_sent_in_another_encoding_is_refused_since_nobody_could_send_it_back():
    for name, said in (("join_code", "caf\udce9"), ("lan", "caf\udce9, b")):
        with pytest.raises(SettingError, match=f"LEAGUE_{name.upper()} must be UTF-8, not .*caf"):
            read(environment={f"LEAGUE_{name.upper()}": said})


def test_a_mark_of_its_byte_order_is_no_part_of_a_file(cup):
    assert read(file=cup("cycles = 2", encoding="utf-8-sig")).cycles == 2


def test_no_huge_file_is_read(cup):
    with pytest.raises(SettingError, match="too large"):
        read(file=cup("#" * 1_000_001))


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (
            {"LEAGUE_MOVE_SECOND": "1"},
            "the variable LEAGUE_MOVE_SECOND is no setting; did you mean LEAGUE_MOVE_SECONDS?",
        ),
        ({"LEAGUE_PLAYERS": "null"}, "LEAGUE_PLAYERS must be a whole number from 2"),
        ({"LEAGUE_PLAYERS": "many"}, "LEAGUE_PLAYERS must be a whole number from 2"),
        ({"LEAGUE_MOVE_SECONDS": "nan"}, "LEAGUE_MOVE_SECONDS must be a number above 0"),
        (
            {"LEAGUE_GAME_OPTIONS": "best_of=3"},
            "LEAGUE_GAME_OPTIONS must be a JSON object like {\"name\": 1}, not 'best_of=3'",
        ),
        ({"LEAGUE_GAME_OPTIONS": "[1]"}, "LEAGUE_GAME_OPTIONS must be a table, not '[1]'"),
    ],
)
def test_a_slip_in_the_environment_names_the_variable(environment, sentence):
    with pytest.raises(SettingError) as caught:
        read(environment=environment)

    assert sentence in str(caught.value)


def test_a_slip_in_an_option_names_the_option_as_it_is_typed():
    with pytest.raises(SettingError, match="--start-after must be a number from 0"):
        read(start_after_seconds="soon")


@pytest.mark.parametrize(
    ("start_at", "sentence"),
    [
        ("2020-01-01T18:00:00+01:00", r"start_at is past: '2020-01-01T18:00:00\+01:00' was \d+ d"),
        ("2096-12-01T18:00:00", "start_at does not say of which time zone; add its offset, like"),
        ("tomorrow", "start_at is no time; write one like 2026-12-01T18:00:00"),
    ],
)
def test_a_time_to_start_is_to_come_and_says_its_time_zone(start_at, sentence):
    given = read_table(ManagerSettings, {"start_at": start_at})

    with pytest.raises(SettingError, match=sentence):
        check_table(given, given.make(ManagerSettings))


def test_a_league_that_is_there_may_be_late_to_start_but_its_time_must_be_one():
    late = read_table(ManagerSettings, {"start_at": "2020-01-01T18:00:00+01:00"})
    none = read_table(ManagerSettings, {"start_at": "2020-01-01"})

    check_table(late, late.make(ManagerSettings), is_new=False)
    with pytest.raises(SettingError, match="time zone"):
        check_table(none, none.make(ManagerSettings), is_new=False)


def test_a_league_starts_at_a_time_or_after_a_while_not_both():
    table = {"start_at": "2096-12-01T18:00:00+01:00", "start_after_seconds": 5.0}
    given = read_table(ManagerSettings, table)

    with pytest.raises(SettingError, match="both given; leave one out"):
        check_table(given, given.make(ManagerSettings))


def test_only_in_a_season_do_players_have_ratings_to_be_seeded_by():
    given = read_table(ManagerSettings, {"seeding": "rating"})
    asked = given.make(ManagerSettings)

    check_table(given, asked, is_of_season=True)
    check_table(given, asked, is_new=False)
    with pytest.raises(SettingError, match='seeding is "rating", which players have in a season a'):
        check_table(given, asked)


def test_a_long_value_is_not_shown_whole():
    with pytest.raises(SettingError) as caught:
        read(players="9" * 10_000)

    assert len(str(caught.value)) < 200


def test_all_that_is_wrong_is_told_at_once_each_in_a_line(cup):
    file = cup('playrs = 4\nretries = "two"\ncycles = 2\nmove_seconds = -1\n')

    with pytest.raises(SettingError) as caught:
        read(file=file, environment={"LEAGUE_PLAYRS": "1"}, join_retries="x")

    assert [line[:24] for line in str(caught.value).splitlines()] == [
        "cup.toml, line 1: there ",
        "cup.toml, line 2: retrie",
        "cup.toml, line 4: move_s",
        "the variable LEAGUE_PLAY",
        "--join-retries must be a",
    ]


def test_a_file_of_other_things_is_not_told_line_by_line(cup):
    file = cup("".join(f"column{n} = {n}\n" for n in range(1000)))

    with pytest.raises(SettingError, match=r"and 980 more$") as caught:
        read(file=file)

    assert len(str(caught.value).splitlines()) == 21


def test_what_a_program_gives_is_judged_field_by_field():
    given = read_table(ManagerSettings, {"players": 4, "game_options": {"best_of": 3}})
    with pytest.raises(SettingError) as caught:
        read_table(ManagerSettings, {"players": "4", "cycels": 2})

    assert given.make(ManagerSettings).players == 4
    assert str(caught.value) == (
        "players must be a whole number from 2 to 1,000,000, not '4': take away its quotes\n"
        "there is no setting 'cycels'; did you mean 'cycles'?"
    )


@pytest.mark.parametrize(
    "table",
    [
        {"format": "ladder"},
        {"format": "knockout", "format_options": {"best_of": 2}},
        {"format": "groups", "format_options": {"groups": 9}, "players_max": 10},
    ],
)
def test_what_no_number_of_players_could_play_is_an_error_before_anybody_is_there(table):
    given = read_table(ManagerSettings, table)

    with pytest.raises(SettingError, match=r"cannot be: .*(never ends|odd number|at least 18)"):
        check_table(given, given.make(ManagerSettings))

"""Every setting has a name, a type in words, a default and a sentence, from the one dataclass."""

import tomllib
from dataclasses import fields

import pytest

from agentleague.league.standings import TIE_BREAKS
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.settings import as_toml, describe

ROLES = [ManagerSettings, RefereeSettings, PlayerSettings]


def row(cls, name):
    return next(each for each in describe(cls) if each.name == name)


@pytest.mark.parametrize("cls", ROLES)
def test_every_field_is_a_row_but_what_follows_from_others(cls):
    derived = {"seeded", "game_types", "version", "player_endpoints"}

    assert [each.name for each in describe(cls)] == [
        each.name for each in fields(cls) if each.name not in derived
    ]


@pytest.mark.parametrize("cls", ROLES)
def test_every_row_has_a_sentence_and_stands_under_a_heading(cls):
    for each in describe(cls):
        assert each.sentence.endswith("."), each.name
        assert each.sentence[0].isupper(), each.name
        assert each.heading, each.name
        assert each.metavar, each.name


TAKEN = [
    (ManagerSettings, "players", "a whole number from 2 to 1,000,000", "N"),
    (ManagerSettings, "move_seconds", "a number above 0, at most 31,536,000", "SECONDS"),
    (ManagerSettings, "retry_backoff", "a number from 1 to 100", "N"),
    (ManagerSettings, "unsigned_pushes", "true or false", "TEXT"),
    (ManagerSettings, "unique_names", '"suffix", "reject" or "off"', "suffix|reject|off"),
    (ManagerSettings, "lan", "a list of texts", "NETWORK,…"),
    (ManagerSettings, "game_options", "a table", "JSON"),
    (ManagerSettings, "league_id", "at most 64 letters, digits, _ and -", "ID"),
    (RefereeSettings, "network", '"local" or "lan"', "local|lan"),  # also where None is one
    (PlayerSettings, "display_name", "a text of at most 50 characters", "NAME"),
    (PlayerSettings, "seed", "a text", "TEXT"),
    (PlayerSettings, "port", "a whole number from 0 to 65,535", "PORT"),
]


def test_what_a_setting_takes_is_said_in_words():
    found = [(cls, name, row(cls, name).type, row(cls, name).metavar) for cls, name, _, _ in TAKEN]

    assert found == TAKEN


def test_an_option_may_be_shorter_than_the_name_of_its_setting():
    game = row(ManagerSettings, "game_type")

    assert game.options == ("--game", "--game-type")
    assert game.variables == ("LEAGUE_GAME_TYPE", "LEAGUE_GAME")
    assert row(ManagerSettings, "cycles").options == ("--cycles",)


def test_a_sub_class_may_say_it_better():
    assert row(RefereeSettings, "display_name").default == '"Referee"'
    assert "the player's own" in row(PlayerSettings, "display_name").sentence
    assert (row(RefereeSettings, "port").value, row(PlayerSettings, "port").value) == (8001, 8101)


def test_the_tie_breaks_to_choose_from_are_those_there_are():
    tie_breaks = row(ManagerSettings, "tie_breaks")

    assert tuple(tie_breaks.choices) == TIE_BREAKS


@pytest.mark.parametrize("cls", ROLES)
def test_every_default_is_written_as_toml_reads_it(cls):
    for each in describe(cls):
        if each.value is not None:
            read = tomllib.loads(f"value = {each.default}")["value"]
            assert read == (list(each.value) if isinstance(each.value, tuple) else each.value)


def test_tables_and_texts_with_quotes_and_control_characters_are_written_as_toml_reads_them():
    value = {"best_of": 3, "words": ['say "hi"', "a\\b", "\x7f\x1b\u2028é"], "deep": {"on": True}}

    assert tomllib.loads(f"value = {as_toml(value)}")["value"] == value

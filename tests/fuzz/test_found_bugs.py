"""Inputs that the fuzzer found, each as small as it can be."""

import json

import pytest

from agentleague.dialects.answers import read_answer
from agentleague.errors import Damaged, MissingField, StorageError
from agentleague.league.events import read_event
from agentleague.protocol.messages import GameInvitation, LeagueQuery
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.settings import SettingError, read_settings
from agentleague.runtime.state_files import HistoryFile, Whose, open_state, read_secrets
from agentleague.storage.lock import address_in

DEEP = b'{"x":' + b"[" * 3_000
BAD_TEXT = b'{"kind":"told","what":"\xff","round_id":1}'


@pytest.mark.parametrize("body", [BAD_TEXT, DEEP], ids=["no UTF-8", "deep"])
def test_a_journal_row_that_no_decoder_takes_is_damaged(body):
    with pytest.raises(Damaged):
        read_event("told", 1, body)


def test_the_state_of_an_agent_that_is_nested_deeply_is_no_state(tmp_path):
    whose = Whose("http://127.0.0.1:8000/mcp", "player", "Ann", 0)
    state = open_state(tmp_path, whose)
    state.path.write_bytes(DEEP)
    state.close()

    again = open_state(tmp_path, whose)

    assert again.agent.token == ""
    again.close()


def test_a_history_that_is_nested_deeply_is_no_history(tmp_path):
    history = HistoryFile(tmp_path, "Ann")
    history.path.write_bytes(DEEP)

    assert history.read() == []


def test_secrets_that_are_nested_deeply_cannot_be_read(tmp_path):
    (tmp_path / "secret.key").write_bytes(DEEP)
    (tmp_path / "admin.token").write_text("adm_x")

    with pytest.raises(StorageError, match="cannot be read"):
        read_secrets(tmp_path)


def test_a_lock_file_that_is_no_text_names_whatever_it_names(tmp_path):
    (tmp_path / "manager.lock").write_bytes(b"12\nhttp://127.0.0.1:8000/\xff\n")

    assert address_in(tmp_path).startswith("http://127.0.0.1:8000/")


@pytest.mark.parametrize(
    "text", ["players = " + "9" * 4_400, "players = " + "[" * 3_000], ids=["long", "deep"]
)
def test_settings_that_the_reader_of_toml_gives_up_on_are_an_error_with_a_sentence(tmp_path, text):
    file = tmp_path / "cup.toml"
    file.write_text(text)

    with pytest.raises(SettingError, match=r"cup\.toml is not TOML"):
        read_settings(ManagerSettings, file=file, environment={}, options={})


def test_a_setting_with_an_endless_name_is_not_repeated_in_full(tmp_path):
    file = tmp_path / "cup.toml"
    file.write_text("x" * 5_000 + " = 1")

    with pytest.raises(SettingError) as refused:
        read_settings(ManagerSettings, file=file, environment={}, options={})

    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("value", ["0x" + "9" * 3_600, "[0x" + "9" * 3_600 + "]"])
def test_a_setting_that_is_an_endless_number_is_refused(value, tmp_path):
    file = tmp_path / "cup.toml"
    file.write_text(f"players = {value}")

    with pytest.raises(SettingError, match="a number of thousands of digits"):
        read_settings(ManagerSettings, file=file, environment={}, options={})


def test_options_of_a_game_that_are_nested_deeply_are_refused():
    environment = {"LEAGUE_GAME_OPTIONS": "[" * 3_000}

    with pytest.raises(SettingError, match="must be a JSON object"):
        read_settings(ManagerSettings, environment=environment, options={})


@pytest.mark.parametrize("asked", [GameInvitation(), LeagueQuery("GET_STATUS")])
def test_an_answer_of_an_endless_type_is_not_repeated_in_full(asked):
    body = json.dumps({"message_type": "x" * 9_000}).encode()

    with pytest.raises(MissingField) as refused:
        read_answer(asked, 200, body)

    assert len(str(refused.value)) < 500

"""Which model plays: from the environment or from the author, and no secret in what is printed."""

import pytest

from agentleague.errors import LeagueError
from agentleague.sdk.llm_client import LlmSettings, read_settings

LOCAL = {"LEAGUE_LLM_URL": "http://127.0.0.1:11434/v1", "LEAGUE_LLM_MODEL": "small"}


def test_the_environment_names_every_setting():
    settings = read_settings(
        {
            **LOCAL,
            "LEAGUE_LLM_KEY": " sk-1\n",
            "LEAGUE_LLM_SECONDS": "7.5",
            "LEAGUE_LLM_FALLBACK": "pattern",
            "LEAGUE_LLM_PROXY": "http://proxy.example:3128",
            "LEAGUE_PORT": "8000",
        }
    )

    assert settings == LlmSettings(
        url="http://127.0.0.1:11434/v1",
        model="small",
        key="sk-1",
        seconds=7.5,
        fallback="pattern",
        proxy="http://proxy.example:3128",
    )


def test_url_and_model_are_enough():
    assert read_settings(LOCAL) == LlmSettings("http://127.0.0.1:11434/v1", "small")
    assert read_settings({**LOCAL, "LEAGUE_LLM_KEY": ""}).key == ""


@pytest.mark.parametrize("name", LOCAL)
def test_what_is_missing_is_named(name):
    with pytest.raises(LeagueError, match=f"the strategy llm needs {name}; for example"):
        read_settings({**LOCAL, name: " "})


BAD_URLS = [
    "localhost:11434",
    "ftp://models.example",
    "https://",
    "https://me:secret@models.example/v1",
    "https://models.example/v1?key=secret",
    "https://models.example/v1#secret",
    "https://models.example:port/v1",
    "https://models.example:0/v1",
    "https://models.example/v1 secret",
    "https://models.example/v1\r\nsecret",
    "http://[::1/v1",
]


def test_a_url_that_cannot_be_one_or_that_holds_a_secret_is_refused_unseen():
    for url in BAD_URLS:
        with pytest.raises(
            LeagueError, match=r"the model's url \(LEAGUE_LLM_URL\) must begin"
        ) as no:
            read_settings({**LOCAL, "LEAGUE_LLM_URL": url})

        assert "secret" not in str(no.value)


BAD_VALUES = [
    ("KEY", "sk-secret\r\nX-More: 1", "has spaces, line ends or letters that no key has"),
    ("KEY", "sk-secret\u20ac", "has spaces, line ends or letters that no key has"),
    ("SECONDS", "soon", "must be a number above 0"),
    ("SECONDS", "0", "must be a number above 0"),
    ("SECONDS", "nan", "must be a number above 0"),
    ("SECONDS", "inf", "must be a number above 0"),
    ("FALLBACK", "llm", "must be another strategy than llm"),
    ("PROXY", "https://proxy.example", "must begin with http://HOST and have no user"),
]


def test_a_value_that_cannot_be_is_refused_by_name():
    for name, value, told in BAD_VALUES:
        with pytest.raises(LeagueError) as refused:
            read_settings({**LOCAL, f"LEAGUE_LLM_{name}": value})

        assert f"(LEAGUE_LLM_{name}) {told}" in str(refused.value)
        assert "secret" not in str(refused.value)


def test_a_model_without_a_name_is_refused():
    with pytest.raises(LeagueError, match="say which model is to play"):
        LlmSettings(url="http://127.0.0.1:1", model="")


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://[::1]:8080", "http://[::1]:8080/chat/completions"),
        ("https://models.example/v1/", "https://models.example/v1/chat/completions"),
        ("https://m.example/v1/chat/completions", "https://m.example/v1/chat/completions"),
    ],
)
def test_questions_go_to_the_chat_completions_below_the_url(url, target):
    assert LlmSettings(url=url, model="small").target.geturl() == target


def test_the_key_is_not_printed_with_the_settings():
    settings = LlmSettings(url="http://127.0.0.1:1", model="small", key="sk-secret")

    assert "secret" not in f"{settings!r} {settings}"

"""The outline in docs/protocol.md keeps its promises: its messages are read and answered so."""

import json
import re
import urllib.request

import pytest

from agentleague.dialects import requests
from agentleague.league.queries import NEEDS_TOKEN, QUERIES
from agentleague.protocol import codec
from agentleague.protocol.messages import MESSAGES
from pages import Page, Terminal

PAGE = Page("docs", "protocol.md")
FORMS = [text for text in PAGE.fences("json") if "GET_STANDINGS" in text]
REQUEST, ANSWER = (text for text in PAGE.fences("json") if "GET_STANDINGS" not in text)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_message_is_read_as_the_same(form):
    read = requests.read_request(form.encode(), codec.taken_by("manager"))

    assert len(FORMS) == 4
    assert read.message.query_type == "GET_STANDINGS"


def test_the_refusal_of_the_page_is_what_a_manager_answers(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.serve("league manager --players 2")
    url = f"http://127.0.0.1:{terminal.port}/mcp"
    with urllib.request.urlopen(urllib.request.Request(url, REQUEST.encode())) as came:
        answer = json.load(came)

    shown = json.loads(ANSWER)
    shown["error"]["data"]["timestamp"] = answer["error"]["data"]["timestamp"]
    assert answer == shown


def test_the_messages_of_the_outline_have_the_methods_of_the_table():
    named = re.findall(r"\b([A-Z]+(?:_[A-Z]+)+) \(`(\w+)`\)", PAGE.text)

    assert len(named) >= 15
    assert [pair for pair in named if MESSAGES[pair[0]].method != pair[1]] == []


def test_the_queries_of_the_outline_are_those_there_are():
    rows = re.findall(r"^\| (GET_\w+) \|.*\| (yes|no) \|$", PAGE.text, re.MULTILINE)

    assert [name for name, _ in rows] == [*QUERIES]
    assert {name for name, needs in rows if needs == "yes"} == NEEDS_TOKEN

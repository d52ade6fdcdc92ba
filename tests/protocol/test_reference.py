"""The reference pages say what the code does, and the files on disk are current."""

import re
from pathlib import Path

from agentleague.protocol.messages import MESSAGES
from tables import each_row
from wire_pages import errors_page, messages_page, wire_errors

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES = {"messages.md": messages_page(), "errors.md": errors_page()}


@each_row("name", PAGES)
def test_the_page_on_disk_is_current(name):
    on_disk = (FOLDER / name).read_text(encoding="utf-8") if (FOLDER / name).exists() else ""

    assert on_disk == PAGES[name], f"docs/reference/{name} is out of date: run `make reference`"


@each_row("name", MESSAGES)
def test_every_message_is_described_with_its_fields(name):
    section = PAGES["messages.md"].split(f"\n## {name}\n")[1].split("\n## ")[0]
    envelope = {"protocol", "sender", "timestamp", "conversation_id", "auth_token"}

    described = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))

    assert described == set(MESSAGES[name].cls.__struct_fields__) - envelope


def test_every_link_leads_somewhere():
    page = PAGES["messages.md"]
    titles = {title.lower() for title in re.findall(r"^##+ (\w+)$", page, re.MULTILINE)}

    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= titles


@each_row(
    ("field", "told"),
    [
        ("winner", "text of at most 64 or null | yes |"),
        ("max_concurrent_matches", "integer from 1 to 1000 | no; always sent |"),
        ("moves", "list of [integer, text of at most 64, anything] | no; always sent |"),
        ("status", '`"DRAW"` or `"TECHNICAL_LOSS"` or `"WIN"` | yes |'),
        ("game_options", "object of anything | no; always sent |"),
        ("matches", "list of [RoundMatch](#roundmatch) | no; always sent |"),
        ("retryable", "true or false | no; always sent |"),
        ("auth_token", "text of at most 256 | no |"),
    ],
)
def test_a_field_is_told_in_words(field, told):
    lines = [x for x in PAGES["messages.md"].splitlines() if x.startswith(f"| `{field}` | ")]

    assert [line for line in lines if line.endswith(f" | {told}")]


def test_a_message_is_told_with_its_method_and_its_answer():
    line = (
        "| [GAME_INVITATION](#game_invitation) | `handle_game_invitation` |  | referee | player "
        "| [GAME_JOIN_ACK](#game_join_ack) |"
    )

    assert line in PAGES["messages.md"].splitlines()


def test_every_field_is_told_with_what_it_is():
    rows = re.findall(r"^\| `\w+` \| (.*?) \|", PAGES["messages.md"], re.MULTILINE)

    assert "Where the agent is called." in rows
    assert all(row.endswith(".") for row in rows), rows


@each_row("cls", wire_errors())
def test_every_error_is_described(cls):
    lines = [x for x in PAGES["errors.md"].splitlines() if x.startswith(f"| {cls.code} |")]

    assert f"`{cls.name}`" in lines[0]
    assert lines[1].startswith(f"| {cls.code} | {cls.number} | {cls.http_status} |")


def test_a_number_that_depends_on_the_message_is_told():
    assert "| E020 | 2001 | 200 |" in PAGES["errors.md"]
    assert "| E020 | 1001 | REFEREE_REGISTER_REQUEST |" in PAGES["errors.md"]

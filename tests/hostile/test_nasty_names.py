"""Nasty names and texts through every output: of a journal with them, and of a real league."""

import asyncio
import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from agentleague.cli.app import app
from agentleague.dashboard import report
from agentleague.dashboard.pages import PAGES
from agentleague.league.events import RefereeRegistered
from agentleague.protocol.messages import Exchange
from agentleague.protocol.printable import one_line, printable, printable_json
from agentleague.protocol.tokens import digest
from agentleague.records.export_files import cell
from agentleague.transport.http import Rate
from cli.two_sources import keep, served
from commands import league
from dashboard.views import page_of, view_of
from hostile.hostile_manager import hostile_manager
from hostile.nasty_league import play_nastily
from hostile.nasty_names import NASTY, NO_TEXT
from hostile.printable_check import (
    OUR_STYLES,
    assert_aligned,
    assert_harmless,
    read_csv,
    read_json,
    read_lines,
    width,
)
from hostile.terminal import COLUMNS, on_terminal
from league.decisions import Decisions, token

NAMES = list(NASTY.values())
READING = (
    *("status", "status --metrics", "standings", "schedule --round 1", "agents"),
    *(
        "agent P01",
        "agent P02",
        "agent P50",
        "agent REF01",
        "match R1M1",
        "match R1M2",
        "match R2M1",
    ),
)


def texts(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


# Texts alone


def test_there_are_enough_of_them():
    assert len(set(NAMES)) == len(NAMES) >= 60


@given(st.text())
def test_a_text_made_harmless_can_only_be_read(text):
    assert_harmless(printable(text))
    assert "\n" not in one_line(text)


VALUES = st.recursive(
    st.text() | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(VALUES)
def test_json_made_harmless_says_the_same(value):
    for indent in (None, 2):
        assert_harmless(printable_json(value, indent))
        assert json.loads(printable_json(value, indent)) == value


@given(st.text())
def test_no_text_becomes_a_formula_in_a_cell(text):
    assert_harmless(cell(text))
    assert not cell(text).lstrip().startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zo\u0065\u0308 \u00e9\u0301", "Zo\u0065\u0308 \u00e9\u0301"),  # accents stay
        ("\u6f22\u5b57 \U0001f98a \u0645\u0631", "\u6f22\u5b57 \U0001f98a \u0645\u0631"),
        ("\u2764\ufe0f", "\u2764"),
        ("a\u3164b\u2800c", "a?b?c"),
        ("a\u202eb\u200bc\x1bd", "a?b?c?d"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 3),
        ("one\ntwo\r\n", "one\ntwo?\n"),
    ],
)
def test_what_is_seen_stays_and_what_is_not_is_marked(text, shown):
    assert printable(text) == shown


# A journal that holds them as they are, as if nobody had looked at them before


@pytest.fixture(scope="module")
def decisions():
    """Nasty players, a nasty referee, nasty moves, reasons and transcripts."""
    decisions = Decisions(0, 0)
    decisions.record(_referee("REF01", NASTY["move up and write"]))
    for name in NAMES:
        decisions.add_player(name)
    decisions.start()
    for number, match_id in enumerate(sorted(decisions.league.open_matches)):
        _play_nastily(decisions, match_id, NAMES[number % len(NAMES)])
    decisions.schedule(2)
    return decisions


def _referee(referee_id, name):
    at = (referee_id, name, f"http://127.0.0.1:80/{name[:20]}/mcp", name[:64])
    return RefereeRegistered(*at, digest(token(referee_id)), 64, True)


def _play_nastily(decisions, match_id, nasty):
    file = decisions.league.matches[match_id]
    first, second = file.players
    at = {"match_id": match_id, "referee": file.referee_id}
    decisions.lock([], [(first, nasty[:500])], **at)
    rows = [
        Exchange(5, first, nasty[:64], 1, nasty[:500], nasty, 7, nasty[:500]),
        Exchange(
            9, second, "CHOOSE_PARITY_CALL", 2, "ok", {nasty: [nasty]}, 7, f"as {nasty}"[:500]
        ),
    ]
    decisions.report(second, transcript=rows, **at)


@pytest.fixture(scope="module", params=["--dir", "--manager"])
def source(request, decisions, tmp_path_factory):
    """Where to read the league: its journal, or a manager that says what is in it."""
    if request.param == "--dir":
        yield ("--dir", keep(decisions, tmp_path_factory.mktemp("nasty")))
    else:
        with served(decisions, Rate(100_000.0, 100_000)) as url:
            yield ("--manager", url)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_what_the_reading_commands_print_is_harmless(source):
    for command in READING:
        done = run(*command.split(), *source)

        assert done.exit_code == 0, (command, done.stderr)
        assert done.stdout.strip(), command
        assert_harmless(done.stdout)
        assert_harmless(done.stderr)


def test_what_they_print_as_json_is_harmless_and_true(source, decisions):
    names = {member.display_name for member in decisions.league.roster.players.values()}
    for command in READING:
        done = run(*command.split(), *source, "--json")

        assert done.exit_code == 0, (command, done.stderr)
        value = read_json(done.stdout.removesuffix("\n"))
        if command in ("standings", "agents"):
            assert names <= {row["display_name"] for row in value}


def test_tables_stay_aligned(source):
    for command in ("standings", "agents"):
        assert_aligned(run(command, *source).stdout)


def assert_file_is_harmless(path):
    text = path.read_bytes().decode()
    assert_harmless(str(path))
    if path.suffix == ".csv":
        assert read_csv(text)
    elif path.suffix == ".jsonl":
        assert read_lines(text)
    elif path.name == "README.txt":
        assert_harmless(text.replace("\n", ""))
    else:
        read_json(text.removesuffix("\n"))


def test_an_export_is_harmless_and_stays_in_its_place(decisions, tmp_path):
    directory, out = keep(decisions, tmp_path / "league"), tmp_path / "a" / "out"

    done = run("export", directory, "--out", out)

    assert done.exit_code == 0, done.stderr
    assert_harmless(done.stdout + done.stderr)
    assert {path.name for path in tmp_path.iterdir()} == {"league", "a"}
    assert list((tmp_path / "a").iterdir()) == [out]
    assert not any("owned" in path.name for path in tmp_path.rglob("*"))
    names = {member.display_name for member in decisions.league.roster.players.values()}
    for path in filter(lambda each: each.is_file(), out.rglob("*")):
        assert_file_is_harmless(path)
    (log,) = out.rglob("*.jsonl")
    assert len(read_lines(log.read_text())) == len(decisions.events)
    agents = json.loads((out / "config/agents/agents_config.json").read_text())
    assert {each["display_name"] for each in agents["players"]} == names


def test_pages_and_the_report_show_nothing_that_is_unseen_or_turns_text_round(decisions):
    view = view_of(decisions.events)
    ids = {"match_id": "R1M1", "player_id": "P01", "referee_id": "REF01", "stage": "1"}

    shown = {name: page_of(view, name, **ids) for name in PAGES}
    shown["report"] = report.one_file(view, report.Verified(True, ()), lambda: None)

    for name, html in shown.items():
        assert html.replace("\n", "").isprintable(), name


def test_what_is_typed_comes_back_harmless_in_an_error(decisions, tmp_path):
    directory = keep(decisions, tmp_path)
    for number, nasty in enumerate(NAMES):
        done = run(("match", "agent")[number % 2], "--dir", directory, "--", nasty)

        assert_harmless(done.stdout)
        assert_harmless(done.stderr)


# A real league


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    return asyncio.run(play_nastily(tmp_path_factory.mktemp("nasty_league")))


def test_what_the_manager_says_is_harmless(heard):
    assert_harmless(heard.stdout)
    assert_harmless(heard.stderr)
    assert_aligned(heard.stdout)
    assert f"{len(NAMES) + 3} of {len(NAMES) + 3} players" in heard.stderr
    assert "Round 2 of" in heard.stderr
    assert "LOCK_REQUEST" in heard.stderr


def test_what_the_referee_says_is_harmless(heard):
    assert_harmless(heard.referee)
    assert "did not take CHOOSE_PARITY_CALL" in heard.referee
    assert "error -32000: ?[1A?[2Kchampion" in heard.referee


def test_what_is_no_text_is_refused(heard):
    assert [json.loads(answer)["error"]["data"]["error_code"] for _, answer in heard.refused] == [
        "E049"
    ] * len(NO_TEXT)


def test_names_are_cleaned_before_anybody_sees_them(heard):
    names = [row["display_name"] for row in read_json(_printed(heard, "standings", "--json"))]

    assert len({*names}) == len(names) == len(NAMES) + 3
    for name in names:
        assert name == name.strip() != ""
        assert name.isprintable()
        assert len(name) <= 50


def _printed(heard, *arguments):
    done = run(*arguments, "--dir", heard.directory)
    assert done.exit_code == 0, done.stderr
    assert_harmless(done.stderr)
    return done.stdout.removesuffix("\n")


def test_what_is_printed_of_a_real_league_is_harmless(heard):
    for command in READING:
        assert_harmless(_printed(heard, *command.split()))
        read_json(_printed(heard, *command.split(), "--json"))


def test_on_a_terminal_it_is_harmless_too(heard):
    for command in ("standings", "agents", "agent P03"):
        shown = on_terminal(*command.split(), "--dir", heard.directory)

        assert "\x1b[1m" in shown
        assert_harmless(shown, on_terminal=True)
        lines = OUR_STYLES.sub("", shown).splitlines()
        if command == "standings":
            assert_aligned("\n".join(lines))
            assert max(width(line) for line in lines if line.startswith(" ")) <= COLUMNS


def test_json_on_a_terminal_is_harmless_too(heard):
    shown = on_terminal("agents", "--dir", heard.directory, "--json")

    assert len(read_json(shown.replace("\r\n", "\n").removesuffix("\n"))) == len(NAMES) + 4


def test_its_log_has_one_line_for_an_entry(heard):
    lines = read_lines((heard.directory / "log" / "manager.jsonl").read_bytes().decode())

    registered = [line for line in lines if line["event"] == "player_registered"]
    assert len(registered) == len(NAMES) + 3
    refused = [line for line in lines if line["event"] == "refused"]
    # And what was in play when the league was aborted, if anything was.
    assert len(refused) >= len(NAMES) + len(NO_TEXT)
    assert not any(line["event"] == "league_ended" and "champion" not in line for line in lines)
    for text in texts(lines):
        assert_harmless(text)


def test_it_can_be_verified(heard):
    done = run("verify", heard.directory)

    assert done.exit_code == 0, done.stdout
    assert_harmless(done.stdout + done.stderr)
    read_json(run("verify", heard.directory, "--json").stdout.removesuffix("\n"))


def test_the_shared_files_are_those_of_an_export_and_harmless(heard, tmp_path):
    assert run("export", heard.directory, "--out", tmp_path / "out").exit_code == 0

    for root in (tmp_path / "out", heard.shared):
        files = [path for path in root.rglob("*") if path.is_file()]
        assert len(files) > len(NAMES)
        for path in files:
            assert_file_is_harmless(path)


# Whom an agent asks may be hostile, too


@pytest.mark.parametrize("name", ["move up and write", "8-bit OSC", "override"])
def test_what_a_hostile_manager_says_is_harmless(name, tmp_path):
    file = tmp_path / "raises.py"
    file.write_text("def choose(turn):\n    raise ValueError(turn.match_id)\n")
    with hostile_manager(NASTY[name], accepts=False) as url:
        spoken = [run(*command.split(), "--manager", url) for command in READING]
        spoken.append(league("player", "--port", 0, "-vv", "--manager", url, check=False))
        spoken.append(league("referee", "--port", 0, "-vv", "--manager", url, check=False))
    with hostile_manager(NASTY[name], accepts=True) as url:
        spoken += [run(*command.split(), "--manager", url) for command in READING]
        spoken.append(league("player", "--port", 0, "-vv", "--manager", url))
        spoken.append(league("player", file, "--port", 0, "-vv", "--manager", url))
        assert "choose raised ValueError" in spoken[-1].stderr

    for done in spoken:
        assert done.stdout + done.stderr
        assert_harmless(done.stdout)
        assert_harmless(done.stderr)


def test_a_demo_and_a_match_of_nasty_players_are_harmless(tmp_path):
    file = tmp_path / "nasty.py"
    name = NASTY["clipboard (OSC 52)"] + NASTY["override"] + "[red]"
    file.write_text(
        "from agentleague import Player\n"
        f"player = Player({name!r})\n"
        "@player.plays('even_odd')\n"
        "def choose(turn):\n"
        f"    return {name!r}\n"
    )
    directory = tmp_path / "league"

    for arguments in (
        ("play", file, "random", "--matches", 2),
        ("play", file, "random", "--json"),
        ("demo", "--player", file, "--player", "random", "--dir", directory),
    ):
        done = league(*arguments)

        assert_harmless(done.stdout)
        assert_harmless(done.stderr)
        assert "red" in done.stdout

"""Reading commands: from a directory and from a manager they print the same."""

import json
import re
from socketserver import BaseRequestHandler, TCPServer
from threading import Thread

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from agentleague.cli.app import app
from agentleague.league.events import LeagueEnded, LeaguePaused, LeagueStarted
from agentleague.league.formats.format import Stage
from agentleague.transport.http import Rate
from cli.two_sources import keep, served
from commands import free_port
from league.decisions import Decisions

NAMES = [
    "Alpha",
    "Beta with quite a long name for such a small table",
    "🦊 Fox",
    "Delta",
    "Epsilon",
]
COMMANDS = [
    "status",
    "status --metrics",
    "standings",
    "schedule",
    "schedule --round 2",
    "agents",
    "agents --kind referee",
    "agent P02",
    "agent REF01",
]


def league(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def printed(*arguments):
    done = league(*arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def in_its_second_round(players=5):
    """A league with a match lost by default, one that runs, and rounds to come."""
    decisions = Decisions(
        players, 2, name=lambda n: NAMES[n - 1] if n <= 5 else f"Agent {n}"
    ).start()
    decisions.play("R1M1", forfeits=["P02"])
    decisions.play_round()
    decisions.schedule(2).play("R2M1")
    return decisions


@pytest.mark.parametrize("output", ["", "--json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_and_a_manager_print_the_same(command, output, tmp_path):
    decisions = in_its_second_round()
    arguments = [*command.split(), *output.split()]
    directory = keep(decisions, tmp_path)

    with served(decisions) as url:
        asked = printed(*arguments, "--manager", url)

    shown = printed(*arguments, "--dir", directory)
    if command == "agent P02":  # Where a player is, only the organiser sees.
        shown = re.sub("^ End point .*\n", "", shown, flags=re.MULTILINE)
    assert asked == shown
    assert asked.strip()


def test_a_league_that_was_to_go_on_until_it_is_clear_says_whether_it_is(tmp_path):
    decisions = Decisions(2, cycles=2).play_to_the_end()
    until = Stage("round_robin", 1, {"cycles": 2, "until": 95, "cycles_max": 2})
    decisions.events[0] = replace(decisions.events[0], stages=[until])
    directory = keep(decisions, tmp_path)

    for command in ("standings", "status"):
        said = " ".join(printed(command, "--dir", directory).split())
        assert "After 2 cycles, the most there may be, it is not clear of all neighbours" in said


def test_long_lists_are_read_to_their_end_from_both(tmp_path):
    decisions = in_its_second_round(61)
    directory = keep(decisions, tmp_path)

    with served(decisions) as url:
        for command, rows in (("standings", 61), ("agents", 63), ("schedule", 61)):
            asked = json.loads(printed(command, "--json", "--manager", url))
            assert len(asked) == rows
            assert asked == json.loads(printed(command, "--json", "--dir", directory))

    assert sum(len(each["matches"]) for each in asked) == 61 * 30
    assert len({match["match_id"] for each in asked for match in each["matches"]}) == 61 * 30


def test_a_manager_that_wants_to_be_asked_later_is_asked_later():
    decisions = in_its_second_round(61)

    with served(decisions, rate=Rate(per_second=10.0, burst=2.0)) as url:
        rows = json.loads(printed("standings", "--json", "--manager", url))

    assert len(rows) == 61


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (None, "after round 1"),
        (LeaguePaused(), "after round 1, paused"),
        (LeagueEnded("P01"), "final table"),
        (LeagueEnded("P01", aborted=True), "aborted after round 1"),
    ],
)
def test_the_title_says_what_the_table_is_the_table_of(event, state, tmp_path):
    decisions = in_its_second_round()
    if event:
        decisions.record(event)

    first, *_ = printed("standings", "--dir", keep(decisions, tmp_path)).splitlines()

    assert first.strip() == f"league_2026_even_odd_office: {state}"


def test_standings_as_json_are_a_list_of_rows(tmp_path):
    rows = json.loads(
        printed("standings", "--json", "--dir", keep(in_its_second_round(), tmp_path))
    )

    assert list(rows[0]) == [
        *("rank", "player_id", "display_name", "played", "wins", "draws", "losses"),
        *("technical_losses", "points"),
    ]


def test_a_dead_manager_is_said_with_what_to_type():
    url = f"http://127.0.0.1:{free_port()}/mcp"
    for command in COMMANDS:
        done = league(*command.split(), "--manager", url)

        assert (done.exit_code, done.stdout) == (1, ""), command
        assert "is it running? Start one with: league manager" in done.stderr
        assert "Traceback" not in done.stderr


FULL = b'{"error": {"code": -32603, "message": "", "data": {"error_message": "It is full."}}}'
ANSWERS = [
    (
        b"HTTP/1.1 503 Busy\r\nContent-Length: 84\r\n\r\n" + FULL,
        "the manager refused GET_STATUS: ",
    ),
    (
        b"HTTP/1.1 404 No\r\nContent-Length: 4\r\n\r\n<hi>",
        "is no manager: it answered HTTP 404;",
    ),
    (b"\x15\x03\x03\x00\x02\x02\x32", "with http or https, port and path?"),
    (b"", "does not answer as a manager does: "),
]


@pytest.mark.parametrize(("answer", "said"), ANSWERS)
def test_somebody_who_is_there_is_told_of_by_what_came_back(answer, said):
    class Peer(BaseRequestHandler):
        def handle(self):
            self.request.recv(65_536)
            self.request.sendall(answer)

    with TCPServer(("127.0.0.1", 0), Peer) as peer:
        Thread(target=peer.serve_forever).start()
        done = league("status", "--manager", f"http://127.0.0.1:{peer.server_address[1]}/mcp")
        peer.shutdown()

    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr
    assert "league manager" not in done.stderr  # It would not help.


def test_a_directory_without_a_league_is_said_with_what_to_type(tmp_path):
    for command in COMMANDS:
        for directory in (tmp_path, tmp_path / "nowhere"):
            done = league(*command.split(), "--dir", directory)

            assert (done.exit_code, done.stdout) == (1, ""), command
            assert "there is no league in" in done.stderr
            assert "league demo --dir" in done.stderr


@pytest.mark.parametrize("url", ["banana", "ftp://127.0.0.1/mcp", "http://user@127.0.0.1/mcp"])
def test_a_url_that_can_be_no_managers_is_said(url):
    done = league("status", "--manager", url)

    assert (done.exit_code, done.stdout) == (1, "")
    assert url in done.stderr


def test_two_places_at_once_are_misuse(tmp_path):
    for command in COMMANDS:
        done = league(*command.split(), "--dir", tmp_path, "--manager", "http://127.0.0.1:9/mcp")

        assert done.exit_code == 2, command
        assert "give either --dir DIR or --manager URL, not both" in done.stderr


@pytest.mark.parametrize("command", ["standings", "schedule"])
def test_a_league_that_has_not_begun_says_so(command, tmp_path):
    done = league(command, "--dir", keep(Decisions(3), tmp_path))

    assert (done.exit_code, done.stdout) == (1, "")
    assert "the league has not begun" in done.stderr


def test_what_other_agents_send_is_harmless_to_print():
    decisions = in_its_second_round()
    evil = "\x1b]0;evil\x07\x9b31m\u202e"
    member = decisions.league.roster.players["P01"]
    decisions.league.roster.players["P01"] = type(member)("P01", evil, "", "")

    with served(decisions) as url:
        for command in ("agents", "schedule"):
            shown = printed(command, "--manager", url)
            assert not set(evil) & set(shown) - set("]0;evil31m")
            assert "?]0;evil??31m?" in shown


def test_before_the_first_round_has_ended_the_table_says_so(tmp_path):
    decisions = Decisions(4, 2).start()

    assert ": before the first round ended\n" in printed("standings", keep(decisions, tmp_path))


def test_two_with_the_same_points_are_told_apart(tmp_path):
    decisions = Decisions(4, 2).start()
    decisions.play_round()
    done = league("standings", keep(decisions, tmp_path))
    first, second = decisions.league.table.rows()[:2]

    assert first.points == second.points
    why = decisions.league.table.why(first.player_id)
    assert done.stderr == f"{first.player_id} {first.display_name} is first with {why}.\n"


def test_the_table_of_a_league_that_is_over_names_its_champion_also_if_it_was_drawn(tmp_path):
    decisions = Decisions(2, 1, tie_breaks=["wins"])
    decisions.record(LeagueStarted(["P01", "P02"], "the commitment to the draw of a champion"))
    decisions.schedule(1).play("R1M1", forfeits=("P01", "P02"))
    first, second = decisions.league.table.first()
    decisions.record(LeagueEnded(second.player_id, False))
    done = league("standings", keep(decisions, tmp_path))

    assert done.stderr == (
        f"{second.player_id} {second.display_name} is the champion with {second.points} points, "
        f"level with {first.player_id} {first.display_name} after all tie-breaks; it was drawn by "
        "lot among the 2 who share rank 1.\n"
    )

"""Tokens by audience, attacked in a league of real processes.

Mallory is a registered player who uses whatever she is sent, Detour a player whose end point
redirects elsewhere, Eve registers under other people's names. The manager, its referee and two
players are the `league` command.
"""

import json
import re
import time
from typing import NamedTuple

import pytest

from agentleague.league.events import MatchDecided, TokenMisused, TokenRenewed
from agentleague.records.reading import event_of, read_rows
from cli.test_standings import printed
from commands import BIN, SECONDS, free_port, popen
from rules import rule
from security.spies import Spy, lock, message, post, register, report

MATCHES = [f"R{round_id}M{number}" for round_id in (1, 2, 3) for number in (1, 2)]
RULES = """
players = 4
referees = 1
retries = 0
join_retries = 0
retry_delay_seconds = 0.05
reply_seconds = 5.0
game_over_seconds = 1.0
standings_seconds = 0.05
"""
REFUSED = {"E011", "E012"}
SECRET = re.compile(rb"(?:m?tok|adm|ses)_[A-Za-z0-9_]*[0-9a-f]{24}")


class Town(NamedTuple):
    """What is left of the league, and what the spies saw and were answered."""

    home: object  # everything of the league on disk, but for the agents' state
    states: object
    said: dict  # process -> all it wrote to stdout and stderr
    mallory: Spy
    mallory_id: str
    mallory_token: str
    answers: list  # to Mallory's attacks: what she tried, and the answer
    impostor: Spy  # where Detour's end point redirects to
    eve: dict  # what Eve was answered

    @property
    def cup(self):
        return self.home / "cup"

    def events(self, kind):
        return [e for e in map(event_of, read_rows(self.cup)) if isinstance(e, kind)]


def running(*arguments):
    return popen([BIN / "league", *arguments], text=False)


def a_manager(home, rules, *options):
    """A manager that has said where it is, and its URL."""
    home.mkdir()
    (home / "cup.toml").write_text(rules)
    port = free_port()
    process = running(
        *("manager", home / "cup.toml", "--dir", home / "cup", "--port", port, "--exit", "-v"),
        *("--shared-dir", home / "shared", *options),
    )
    process.stderr.readline()
    return process, f"http://127.0.0.1:{port}/mcp"


def an_agent(kind, url, states, *options):
    """A referee or player of ours that is registered."""
    process = running(
        *(kind, "--manager", url, "--port", free_port(), "--state", states, "-v", *options)
    )
    seen = b""
    while b"Registered as" not in seen:
        line = process.stderr.readline()
        assert line, seen
        seen += line
    return process, seen


def steal(manager, tokens, answers):
    """Report and lock every match, played or to be played, as if one were its referee."""

    def attack(said):
        if any(tried["round_id"] == said["round_id"] for tried, _ in answers):
            return
        moves = [[0, "P01", "even"], [0, "P02", "odd"]]
        for token in (said["auth_token"], *tokens, None):
            for sender in ("referee:REF01", said["sender"], "player:P03"):
                for match_id in MATCHES:
                    forged = [
                        report(match_id, "P03", token, sender),
                        lock(match_id, moves, token, sender),
                    ]
                    if match_id == "R1M1":
                        forged.append(
                            message("REFEREE_STATUS", sender, session="ses_1", auth_token=token)
                        )
                        forged.append(message("LEAGUE_COMMAND", command="abort", auth_token=token))
                    for each in forged:
                        tried = {**each, "round_id": said["round_id"]}
                        answers.append((tried, post(manager, each)))

    return attack


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    base = tmp_path_factory.mktemp("town")
    home, states, answers, eve = base / "home", base / "states", [], {}
    manager, url = a_manager(home, RULES)
    mallory, impostor = Spy(), Spy()
    detour = Spy(redirect_to=impostor.url)
    processes, heard = {"manager": manager}, {}
    try:
        for name, options in {
            "referee": (),
            "Alice": ("--name", "Alice", "--strategy", "random"),
            "Bob": ("--name", "Bob", "--strategy", "random"),
        }.items():
            kind = "referee" if name == "referee" else "player"
            processes[name], heard[name] = an_agent(kind, url, states, *options)
        alice = re.search(r"P01 Alice is at (\S+):", _news(manager, "P02 Bob"))[1]
        eve["before"] = register(url, "player", "Alice", alice)
        taken = register(url, "player", "Mallory", mallory.url)
        tokens = [taken["auth_token"], eve["before"]["auth_token"]]
        mallory.on["CHOOSE_PARITY_CALL"] = steal(url, tokens, answers)
        mallory.on["ROUND_COMPLETED"] = _impostor(url, alice, eve)
        register(url, "player", "Detour", detour.url)
        said = {name: heard.get(name, b"") for name in processes}
        for name, process in processes.items():
            said[name] += b"".join(process.communicate(timeout=SECONDS))
            assert process.returncode == 0, said[name]
        assert detour.bodies
        yield Town(
            home,
            states,
            said,
            mallory,
            taken["player_id"],
            taken["auth_token"],
            answers,
            impostor,
            eve,
        )
    finally:
        for spy in (mallory, impostor, detour):
            spy.close()
        for process in processes.values():
            process.kill()
            process.communicate()


def _news(manager, awaited):
    """What the manager says until then."""
    seen = ""
    while awaited not in seen:
        line = manager.stderr.readline().decode()
        assert line, seen
        seen += line
    return seen


def _impostor(url, alice, eve):
    """In the midst of the league, Eve is Alice by name and end point, and moves her elsewhere."""

    def attack(said):
        if "after" in eve:
            return
        token = eve["before"]["auth_token"]
        eve["after"] = register(url, "player", "Alice", alice)
        eve["moved"] = register(url, "player", "Alice", "http://127.0.0.1:9/mcp", token)
        eve["as referee"] = register(url, "referee", "Referee", alice, token, locks=True)
        eve["asked"] = post(
            url, message("LEAGUE_QUERY", query_type="GET_NEXT_MATCH", auth_token=token)
        )

    return attack


@rule("R-LEAGUE-35", "R-TOK-03")
def test_what_a_referee_sends_a_player_reports_and_locks_nothing(town):
    """Attack A: the player becomes the referee."""
    stolen = {each["auth_token"] for each in town.mallory.received if "auth_token" in each}

    assert stolen
    assert all(token.startswith("mtok_") for token in stolen)
    assert len(town.answers) > 100
    assert {answer["error_code"] for _, answer in town.answers} <= REFUSED
    assert {tried["auth_token"][:5] for tried, _ in town.answers if "auth_token" in tried} >= {
        "mtok_",
        "tok_P",
    }


def test_the_league_was_played_as_if_nobody_had_attacked_it(town):
    decided = town.events(MatchDecided)

    assert sorted(event.match_id for event in decided) == MATCHES
    assert all(event.verified for event in decided)
    lost = [event.forfeits for event in decided if event.forfeits]
    assert {player for forfeits in lost for player, _ in forfeits} == {"P04"}  # Detour
    assert "true. The champion is" in printed("verify", town.cup)


@rule("R-LEAGUE-35")
def test_the_organiser_sees_whose_tokens_were_misused(town):
    rows = town.events(TokenMisused)
    status = json.loads(printed("status", "--dir", town.cup, "--json"))
    agent = json.loads(printed("agent", "P03", "--dir", town.cup, "--json"))

    assert town.mallory_id == "P03"
    assert {(row.message, row.scope) for row in rows if row.agent_id == "P03"} == {
        ("MATCH_RESULT_REPORT", "league"),
        ("MATCH_RESULT_REPORT", "match"),
        ("LOCK_REQUEST", "league"),
        ("LOCK_REQUEST", "match"),
        ("REFEREE_STATUS", "league"),
        ("REFEREE_STATUS", "match"),
        ("LEAGUE_COMMAND", "league"),
    }
    assert len(rows) == len(set(rows)), "once for each agent and kind"
    assert "P03" in status["misused_tokens_of"]
    assert "a match token came with LOCK_REQUEST, which it gives no right to" in agent["misused"]
    assert b"P03: its token came with LOCK_REQUEST" in town.said["manager"]


def test_a_redirecting_end_point_receives_nothing(town):
    """Attack C: nothing is sent on to where an agent's answer points."""
    assert town.impostor.bodies == []


def test_knowing_a_name_and_an_end_point_gains_nothing(town):
    eve = town.eve

    assert (eve["before"]["status"], eve["before"]["player_id"]) == ("ACCEPTED", "P01")
    assert eve["after"]["auth_token"] == eve["before"]["auth_token"]
    assert eve["moved"]["status"] == "REJECTED"
    assert eve["as referee"].get("referee_id") != "REF01"
    assert eve["asked"]["success"]  # It may ask, as anybody on Alice's machine may look on.
    assert not [row for row in town.events(TokenRenewed) if row.agent_id == "P01"]
    alice = json.loads(printed("agent", "P01", "--dir", town.cup, "--json"))
    assert (alice["played"], alice["technical_losses"]) == (3, 0)
    forged = [
        a for tried, a in town.answers if tried.get("auth_token") == eve["before"]["auth_token"]
    ]
    assert forged
    assert {answer["error_code"] for answer in forged} == {"E012"}


CLAIM = "e" * 64  # Eve's own


@pytest.mark.parametrize(
    ("first", "name", "claim", "eves"),
    [
        ("Eve", "Alice", None, "taken out"),
        ("Eve", "Alice", CLAIM, "taken out"),
        ("Eve", "Leech", None, "taken out"),
        ("Alice", "Alice", None, "asks"),
        ("Alice", "Leech", None, "refused"),
        ("Alice", "Leech", CLAIM, "taken out"),
    ],
)
def test_knowing_a_name_and_an_end_point_gains_nothing_whoever_comes_first(
    tmp_path, first, name, claim, eves
):
    """The end point is Alice's, who listens there."""
    manager, url = a_manager(tmp_path / "home", RULES.replace("players = 4", "players = 2"))
    processes, mallory, port = [manager], Spy(), free_port()
    alice, later = f"http://127.0.0.1:{port}/mcp", []
    meta = {"claim": claim} if claim else {}
    try:
        if first == "Eve":
            eve = register(url, "player", name, alice, **meta)
        for kind, options in (
            ("referee", ()),
            ("player", ("--name", "Alice", "--port", port, "--strategy", "random")),
        ):
            processes.append(an_agent(kind, url, tmp_path / "states", *options)[0])
        if first == "Alice":
            _wait_until_proved(url, "P01")
            eve = register(url, "player", name, alice, **meta)
        if eves == "taken out":
            _news(manager, "is taken out")
        token = eve.get("auth_token")
        mallory.on["CHOOSE_PARITY_CALL"] = lambda said: later.append(
            register(url, "player", name, "http://127.0.0.1:9/mcp", token, **meta)
        )
        register(url, "player", "Mallory", mallory.url)
        for process in processes:
            said = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, said
    finally:
        mallory.close()
        for process in processes:
            process.kill()
            process.communicate()

    cup = tmp_path / "home" / "cup"
    rows = json.loads(printed("agents", "--dir", cup, "--json"))
    (own,) = [row for row in rows if row["display_name"] == "Alice" and not row.get("displaced")]
    played = json.loads(printed("agent", own["agent_id"], "--dir", cup, "--json"))
    assert own["proved"]
    assert (played["played"], played["technical_losses"]) == (1, 0)
    assert {answer["status"] for answer in later} == {"REJECTED"}
    if eves == "asks":
        assert eve["match_tokens"] is False
    else:
        assert (eve["status"] == "REJECTED") == (eves == "refused")
    assert "true. The champion is" in printed("verify", cup)


def _wait_until_proved(url, player_id):
    query = message("LEAGUE_QUERY", query_type="GET_AGENT", query_params={"agent_id": player_id})
    for _ in range(SECONDS * 50):
        if post(url, query)["data"]["agent"]["proved"]:
            return
        time.sleep(0.02)
    pytest.fail(f"{player_id} never proved its end point")


def secrets_of(town):
    """Every secret of this league that anybody holds."""
    found = set(town.mallory.tokens()) | {town.mallory_token, town.eve["before"]["auth_token"]}
    for path in town.states.rglob("*"):
        if path.is_file():
            found |= set(re.findall(r"tok_[A-Z0-9]+_[0-9a-f]+", path.read_text()))
    found.add((town.cup / "admin.token").read_text().strip())
    return found


def written(home):
    """Every file of the league, but for the two that are there to keep secrets."""
    for path in sorted(home.rglob("*")):
        if path.is_file() and path.name not in ("secret.key", "admin.token"):
            yield path


@rule("R-LEAGUE-22")
def test_no_byte_on_disk_in_logs_or_exports_is_of_a_token(town):
    """Tokens live in the agents' state files, in secret.key and in admin.token: nowhere else."""
    printed("export", town.cup, "--out", town.home / "export")
    places = {str(path): path.read_bytes() for path in written(town.home)} | town.said
    for command in ("status", "agents", "schedule", "standings", "agent P03", "match R1M1"):
        for form in ([], ["--json"]):
            places[command + str(form)] = printed(
                *command.split(), "--dir", town.cup, *form
            ).encode()
    secrets = secrets_of(town)
    kept = (town.cup / "secret.key").read_bytes()

    assert len(secrets) >= 8
    assert any("journal.sqlite" in name for name in places)
    assert any("manager.jsonl" in name for name in places)
    assert any("shared" in name for name in places)
    for name, content in places.items():
        assert not SECRET.findall(content), name
        for secret in secrets:
            assert secret.rpartition("_")[2][:24].encode() not in content, name
        for part in re.findall(rb"[0-9a-f]{32,}", kept):
            assert part not in content, name


def test_files_that_hold_secrets_are_for_their_owner_alone(town):
    secret = [town.cup / "secret.key", town.cup / "admin.token"]
    secret += [path for path in town.states.rglob("*") if path.is_file()]

    assert len(secret) >= 5
    assert {oct(path.stat().st_mode & 0o777) for path in secret} == {"0o600"}

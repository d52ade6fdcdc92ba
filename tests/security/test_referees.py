"""A referee that nobody trusts, in leagues of real processes: attack B, lies, and the way out."""

import json
import subprocess
import threading
from typing import NamedTuple

import pytest

from agentleague.league.events import Disputed, MatchDecided
from agentleague.records.reading import event_of, read_rows
from cli.test_standings import printed
from commands import SECONDS
from rules import rule
from security.spies import Spy, message, post, register, report
from security.test_tokens import REFUSED, RULES, a_manager, an_agent


class Adjudicator(NamedTuple):
    """What is left of a league with a foreign referee, and what it was answered."""

    cup: object
    answers: dict
    stolen: set  # all that the referee was sent by players and manager, but for its own token

    def events(self, kind):
        return [e for e in map(event_of, read_rows(self.cup)) if isinstance(e, kind)]


class Mallory:
    """A referee that plays its first match, uses all it is sent, and lies."""

    def __init__(self, manager):
        self.spy, self.manager, self.answers, self.stolen = Spy(), manager, {}, set()
        self.is_done = threading.Event()  # with its attacks
        self._threads = []
        self._others = {}  # match id -> end point of its referee, as it was announced
        self.spy.on["ROUND_ANNOUNCEMENT"] = self._assigned
        self.spy.knows = ("ROUND_ANNOUNCEMENT", "LEAGUE_COMPLETED")  # No other way to begin.
        said = register(manager, "referee", "Mallory", self.spy.url, max_concurrent_matches=1)
        self.token, self.referee_id = said["auth_token"], said["referee_id"]

    def close(self):
        for thread in self._threads:
            thread.join(SECONDS)
        self.spy.close()

    def _assigned(self, said):
        thread = threading.Thread(target=self._run, args=(said["matches"][0], said))
        self._threads.append(thread)
        thread.start()

    def _run(self, match, said):
        try:
            if match["match_id"] == "R1M1":
                self._steal(match, said)
                self._lie(match)
            else:
                self._report(match["match_id"], None)
        finally:
            self.is_done.set()

    def _steal(self, match, said):
        victims = [seat["player_id"] for seat in match["seats"]]
        for seat in match["seats"]:
            self.stolen |= {seat["match_token"], seat["push_token"], *seat["digests"]}
            for name in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"):
                came = post(seat["endpoint"], self._game_message(name, match, seat, said))
                self.stolen.add(came.get("auth_token", ""))
        self.stolen.discard("")
        for token in (*self.stolen, said["session"]):
            for victim in victims:
                self._act_as(victim, token)
        self._act_as(victims[0], self.token)

    def _game_message(self, name, match, seat, said):
        return message(
            name,
            "referee:Mallory",
            auth_token=seat["match_token"],
            league_id=said["league_id"],
            round_id=1,
            match_id=match["match_id"],
            player_id=seat["player_id"],
            epoch=match["epoch"],
            referee_endpoint=match["referee_endpoint"],
            game_type="even_odd",
            deadline="2099-01-01T00:00:00Z",
        )

    def _act_as(self, victim, token):
        """Ask, register and move in a player's name."""
        sender = f"player:{victim}"
        query = message("LEAGUE_QUERY", sender, query_type="GET_NEXT_MATCH", auth_token=token)
        self._keep("asked" if token != self.token else "asked as itself", post(self.manager, query))
        new = "http://127.0.0.1:9/mcp"
        self._keep("registered", register(self.manager, "player", "Alice", new, token))
        for match_id, endpoint in self._others.items():
            self._keep("pushed", post(endpoint, self._move(match_id, "P03", token)))
            self._keep("pushed", post(endpoint, self._move(match_id, "P03", None)))

    def _move(self, match_id, player_id, token):
        return message(
            "CHOOSE_PARITY_RESPONSE",
            f"player:{player_id}",
            match_id=match_id,
            player_id=player_id,
            parity_choice="odd",
            auth_token=token,
        )

    def _lie(self, match):
        a = match["player_A_id"]
        choices = {a: "even", match["player_B_id"]: "odd"}
        self._report("R1M2", "P03")
        self._report("R1M2", "P03")
        self._report(match["match_id"], a, drawn_number=7, choices=choices)
        self._report(match["match_id"], match["player_B_id"])

    def _report(self, match_id, winner, **details):
        said = report(match_id, winner or "P01", self.token, "referee:Mallory")
        said["result"] = {"winner": winner, "score": {}, "details": details}
        self._keep(f"reported {match_id} {winner}", post(self.manager, said))

    def _keep(self, what, answer):
        self.answers.setdefault(what, []).append(answer)

    def watch(self, said):
        """Who referees what is in every player's announcement."""
        for match in said["matches"]:
            if match["referee_endpoint"] != self.spy.url:
                self._others[match["match_id"]] = match["referee_endpoint"]


@pytest.fixture(scope="module")
def adjudicator(tmp_path_factory):
    base = tmp_path_factory.mktemp("referees")
    manager, url = a_manager(base / "home", RULES.replace("referees = 1", "referees = 2"))
    processes, spies = [manager], []
    mallory = Mallory(url)
    try:
        processes.append(an_agent("referee", url, base / "states")[0])
        for name in ("Alice", "Bob"):
            options = ("--name", name, "--strategy", "random")
            processes.append(an_agent("player", url, base / "states", *options)[0])
        for name in ("Carol", "Dave"):
            spies.append(Spy())
            spies[-1].on["ROUND_ANNOUNCEMENT"] = mallory.watch
            # Their match is in play as long as Mallory attacks it.
            spies[-1].on["CHOOSE_PARITY_CALL"] = lambda said: mallory.is_done.wait(SECONDS)
            register(url, "player", name, spies[-1].url)
        for process in processes:
            said = b"".join(process.communicate(timeout=SECONDS))
            assert process.returncode == 0, said
        yield Adjudicator(base / "home" / "cup", mallory.answers, mallory.stolen)
    finally:
        for spy in (mallory, *spies):
            spy.close()
        for process in processes:
            process.kill()
            process.communicate()


def codes(answers):
    return {answer.get("error_code") for answer in answers}


def test_what_players_send_a_referee_makes_it_no_player(adjudicator):
    """Attack B: the referee becomes the player."""
    assert any(token.startswith("mtok_") for token in adjudicator.stolen)
    assert not any(token.startswith("tok_") for token in adjudicator.stolen)
    assert codes(adjudicator.answers["asked"]) == {"E012"}
    assert {answer["status"] for answer in adjudicator.answers["registered"]} == {"REJECTED"}
    (own,) = adjudicator.answers["asked as itself"]
    assert (own["success"], own["error"]["error_code"]) == (False, "E005")


def test_what_players_send_a_referee_moves_nothing_in_another_match(adjudicator):
    decided = {event.match_id: event for event in adjudicator.events(MatchDecided)}

    assert len(adjudicator.answers["pushed"]) > 4
    assert codes(adjudicator.answers["pushed"]) <= REFUSED | {"E015", "E040", None}
    assert decided["R1M2"].verified
    assert decided["R1M2"].result.choices == {"P03": "even", "P04": "even"}


@rule("R-LEAGUE-07", "R-LEAGUE-34")
def test_a_referee_reports_no_match_but_its_own(adjudicator):
    first, second = adjudicator.answers["reported R1M2 P03"]
    disputes = [event for event in adjudicator.events(Disputed) if event.match_id == "R1M2"]

    assert first["error_code"] == second["error_code"] == "E015"
    assert [(event.referee_id, event.why) for event in disputes] == [("REF01", "not its referee")]
    assert "Disputed: REF01 spoke for it and is not its referee; that was refused." in printed(
        "match", "R1M2", "--dir", adjudicator.cup
    )


@rule("R-LEAGUE-10", "R-LEAGUE-33", "R-LEAGUE-34")
def test_a_referee_that_lies_is_believed_once_marked_and_shown(adjudicator):
    (lied,) = adjudicator.answers["reported R1M1 P01"]
    (changed,) = adjudicator.answers["reported R1M1 P02"]
    (decided,) = [event for event in adjudicator.events(MatchDecided) if event.match_id == "R1M1"]
    status = json.loads(printed("status", "--dir", adjudicator.cup, "--json"))
    shown = printed("schedule", "--dir", adjudicator.cup)
    (line,) = [line for line in shown.splitlines() if " R1M1 " in line]

    assert lied["status"] == "ACCEPTED"
    assert changed["error_code"] == "E044"
    assert (decided.result.winner_player_id, decided.verified) == ("P01", False)
    assert status["disputed_matches"] == ["R1M2", "R1M1"]
    assert line.endswith("P01 won, not verified, disputed")
    assert "by the rules P02 won, not P01" in printed("match", "R1M1", "--dir", adjudicator.cup)
    assert "Disputed by a referee: " in printed("verify", adjudicator.cup)


@rule("R-LEAGUE-12")
def test_the_matches_of_a_foreign_referee_are_marked_in_the_export(adjudicator, tmp_path):
    printed("export", adjudicator.cup, "--out", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("data/leagues/*/rounds.json")
    matches = [m for each in json.loads(path.read_text())["rounds"] for m in each["matches"]]

    assert {m["match_id"] for m in matches if m["verified"] is False} >= {"R1M1"}
    assert {m["match_id"] for m in matches if m["verified"]} >= {"R1M2"}


@rule("R-REG-10")
def test_a_league_that_takes_no_foreign_referees_and_one_that_redirects(tmp_path):
    """Refused is who does not lock; who only says so and points elsewhere gets nobody anything."""
    impostor, players = Spy(), [Spy(), Spy()]
    detour = Spy(redirect_to=impostor.url)
    rules = RULES.replace("players = 4", "players = 2").replace("referees = 1", "referees = 2")
    manager, url = a_manager(tmp_path / "home", rules, *REFUSING)
    referee = None
    try:
        foreign = register(url, "referee", "Foreign", "http://127.0.0.1:9/mcp")
        accepted = register(url, "referee", "Detour", detour.url, locks=True)
        without_lock = register(url, "referee", "Liar", "http://127.0.0.1:9/mcp", locks=False)
        referee, _ = an_agent("referee", url, tmp_path / "states")
        for number, spy in enumerate(players):
            register(url, "player", f"Player {number}", spy.url)
        said = b"".join(manager.communicate(timeout=SECONDS))
        assert manager.returncode == 0, said
    finally:
        for spy in (impostor, detour, *players):
            spy.close()
        for process in filter(None, (manager, referee)):
            _end(process)

    assert (foreign["status"], foreign["error_code"]) == ("REJECTED", "E018")
    assert "auth_token" not in foreign
    assert without_lock["status"] == "REJECTED"
    assert accepted["status"] == "ACCEPTED"
    assert detour.bodies, "it was given the match, or told the end"
    assert impostor.bodies == []
    assert "1 was recomputed" in printed("verify", tmp_path / "home" / "cup")


REFUSING = ("--foreign-referees", "refuse", "--lease-seconds", "1")


def _end(process: subprocess.Popen):
    process.kill()
    process.communicate()

"""Those who play into each other's hands: a referee with a friend, and a player that loses to one.

Crook is a referee that locks as ours do, in a league of a real manager process. It tells the
second player what the first one chose, tries to learn the number early, and calls a player silent
that was not. Nothing of that can be prevented by a protocol; what it gains, and what is left for
the organiser to see and to mend, is shown here.
"""

import json
import threading
from typing import NamedTuple

import pytest

from agentleague.league.events import MatchDecided, MatchRuled
from agentleague.protocol import draws
from agentleague.protocol.messages import GameOver
from agentleague.records.reading import event_of, read_rows
from cli.test_standings import printed
from commands import SECONDS
from memory_league import MemoryLeague
from security.spies import Spy, lock, message, post, register, report
from security.test_tokens import RULES, a_manager, an_agent

THREE = RULES.replace("players = 4", "players = 3")


class Den(NamedTuple):
    """What is left of Crook's league, and what it was answered before and after its first lock."""

    cup: object
    before: list
    locked: list

    def events(self, kind):
        return [e for e in map(event_of, read_rows(self.cup)) if isinstance(e, kind)]


class Crook:
    """A referee that locks, and cheats in every way that is left to it."""

    def __init__(self, manager, cup):
        self.spy, self.manager, self.cup = Spy(), manager, cup
        self.before, self.locked, self.players, self._threads = [], [], {}, []
        self.spy.on["ROUND_ANNOUNCEMENT"] = self._assigned
        said = register(manager, "referee", "Crook", self.spy.url, locks=True)
        self.token = said["auth_token"]

    def close(self):
        for thread in self._threads:
            thread.join(SECONDS)
        self.spy.close()

    def _assigned(self, said):
        thread = threading.Thread(target=self._run, args=(said["matches"][0],))
        self._threads.append(thread)
        thread.start()

    def _run(self, match):
        match_id, players = match["match_id"], [match["player_A_id"], match["player_B_id"]]
        if match_id == "R1M1":
            result = self._leak(match_id, players)
        elif match_id == "R2M1":
            result = self._lock(match_id, [[0, players[1], "odd"]], [[players[0], "silent"]])
        else:
            self._organiser_rules()
            result = self._lock(match_id, [[0, each, "even"] for each in players])
        winner = result["result"]["winner"]
        told = {"winner": winner, "details": {"status": result["result"]["game_result"]["status"]}}
        post(self.manager, {**report(match_id, winner or "", self.token), "result": told})

    def _leak(self, match_id, players):
        """The first has chosen; what can be known before the second one is made to choose?"""
        a, b = players
        post(self.players[b], message("GAME_ERROR", match_id=match_id, opponent_chose="even"))
        self.before.append(self._lock(match_id, [[0, a, "even"]]))
        self.before.append(self._lock(match_id, []))
        self.before.append(post(self.manager, report(match_id, a, self.token)))
        for query in ("GET_SCHEDULE", "GET_STATUS", "GET_NEXT_MATCH"):
            asked = message("LEAGUE_QUERY", query_type=query, player_id=a, auth_token=self.token)
            self.before.append(post(self.manager, asked))
        for choice in ("odd", "even", "odd"):  # It would rather have had the second.
            self.locked.append(self._lock(match_id, [[0, a, "even"], [0, b, choice]]))
        return self.locked[0]

    def _lock(self, match_id, moves, forfeits=()):
        return post(self.manager, {**lock(match_id, moves, self.token), "forfeits": list(forfeits)})

    def _organiser_rules(self):
        params = {"match_id": "R2M1", "verdict": "no_contest", "reason": "the player did answer"}
        token = (self.cup / "admin.token").read_text().strip()
        said = message("LEAGUE_COMMAND", command="rule", params=params, auth_token=token)
        post(self.manager, said)


@pytest.fixture(scope="module")
def den(tmp_path_factory):
    base = tmp_path_factory.mktemp("den")
    manager, url = a_manager(base / "home", THREE, "--league-id", "league_den")
    crook, spies = Crook(url, base / "home" / "cup"), [Spy() for _ in range(3)]
    crook.players = {f"P0{n + 1}": spy.url for n, spy in enumerate(spies)}
    try:
        for number, spy in enumerate(spies):
            register(url, "player", f"Player {number}", spy.url)
        said = b"".join(manager.communicate(timeout=SECONDS))
        assert manager.returncode == 0, said
        yield Den(base / "home" / "cup", crook.before, crook.locked)
    finally:
        for spy in (crook, *spies):
            spy.close()
        manager.kill()
        manager.communicate()


def test_a_referee_that_passes_a_move_on_cannot_pass_on_the_number(den):
    """The seed leaves the manager only against both moves, and then they are final."""
    decided = den.events(MatchDecided)[0]
    seed = bytes.fromhex(decided.seed)

    assert len(den.before) == 6
    assert decided.seed not in json.dumps(den.before)
    assert [answer.get("error_code") for answer in den.before[:3]] == ["E003", "E003", "E040"]
    bounds = {"index": 0, "moves": decided.moves, "bounds": (1, 10)}
    number = draws.number(seed, "league_den", decided.match_id, **bounds)
    assert decided.result.drawn_number == number


def test_a_referee_that_would_rather_have_had_another_move_gets_the_first_number_again(den):
    first, *others = den.locked

    assert [move[2] for move in first["draw"]["moves"]] == ["even", "odd"]
    for each in others:
        for field in ("result", "draw"):
            assert each[field] == first[field]
    assert "all is true" in printed("verify", den.cup)


def test_a_player_that_was_called_silent_has_the_organiser(den):
    """The league cannot know who is right; it shows who said what, and counts the ruling."""
    (ruled,) = den.events(MatchRuled)
    told = printed("match", "R2M1", "--dir", den.cup)
    rows = json.loads(printed("standings", "--dir", den.cup, "--json"))

    assert ruled.match_id == "R2M1"
    assert "the player did answer" in told
    assert sum(row["played"] for row in rows) == 4  # Two matches of three.
    assert sum(row["technical_losses"] for row in rows) == 0


@pytest.mark.parametrize("answers", [["even"], ["banana", "even"], [None, "even"]])
def test_what_a_player_is_sent_before_the_end_is_the_same_whatever_the_other_chose(answers):
    """Also where it is asked again when the other has long chosen."""

    def heard(choice):
        league, left = MemoryLeague(2, 1), list(answers)
        league.add_referee()
        league.add_player(lambda turn: choice, name="Quick")
        league.add_player(lambda turn: left.pop(0), name="Nosy")
        league.play()
        nosy = [said for host, said in league.messages if host == "player3"]
        ends = [n for n, said in enumerate(nosy) if isinstance(said, GameOver)]
        assert not left
        return nosy[: ends[0]]

    assert len(heard("even")) > 2
    assert heard("even") == heard("odd")


def test_a_match_that_a_player_throws_to_its_friend_is_on_record(tmp_path):
    """It declines the one match and plays the other; both are exported as they went."""
    spies = {name: Spy() for name in ("Thrower", "Friend", "Honest")}
    manager, url = a_manager(tmp_path / "home", THREE)
    referee, _ = an_agent("referee", url, tmp_path / "states")
    try:
        ids = {name: register(url, "player", name, spies[name].url)["player_id"] for name in spies}
        spies["Thrower"].says["GAME_INVITATION"] = lambda said: {
            "accept": said["opponent_id"] != ids["Friend"]
        }
        for process in (manager, referee):
            said = b"".join(process.communicate(timeout=SECONDS))
            assert process.returncode == 0, said
    finally:
        for spy in spies.values():
            spy.close()
        for process in (manager, referee):
            process.kill()
            process.communicate()

    cup, out = tmp_path / "home" / "cup", tmp_path / "out"
    thrown = [
        event.match_id
        for event in map(event_of, read_rows(cup))
        if isinstance(event, MatchDecided) and event.forfeits
    ]
    printed("export", cup, "--out", out)
    assert len(thrown) == 1
    assert "declined" in printed("match", thrown[0], "--dir", cup)
    (kept,) = out.glob(f"data/matches/*/{thrown[0]}.json")
    record = json.loads(kept.read_text())
    assert record["transcript"]

"""Every message of the manager is proved to the agents that want it, whichever token they hold."""

from itertools import product

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agentleague.games import even_odd
from agentleague.league.events import PlayerRegistered
from agentleague.manager.role import Manager
from agentleague.manager.tokens import Credentials
from agentleague.player.role import Player
from agentleague.protocol.codec import write_request
from agentleague.protocol.messages import (
    LeagueCompleted,
    LeagueQuery,
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    StandingRow,
)
from agentleague.protocol.tokens import PROOF_HEADER, proof, proof_key
from agentleague.referee.role import Referee
from agentleague.roles.effects import Address, Reply
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started
from memory_league import BEGAN, SECRETS, MemoryLeague
from rules import rule

TOLD = RoundCompleted("league_test", 1)


class Town:
    """A manager and one agent whose every message is carried, or lost, by hand."""

    def __init__(self, make):
        self.manager = Manager(ManagerSettings(league_id="league_test"), SECRETS, even_odd)
        self.manager.handle(Started(0.0), BEGAN)
        self.make, self.now, self.state = make, BEGAN, None
        self.start()

    def start(self):
        """The agent begins another life, with what its last one kept."""
        self.role = self.make()
        if self.state:
            self.role.remember(self.state)
        (self.call,) = self.role.handle(Started(0.0), self.now)

    def asks(self, message):
        """What the manager answers; long after it was asked before."""
        self.now += 1000.0
        caller = Caller("127.0.0.1", message.auth_token or None)
        effects = self.manager.handle(Asked(message, caller, 1), self.now)
        return next(each.answer for each in effects if isinstance(each, Reply))

    def do(self, what):
        getattr(self, what)()

    def registers(self):
        if not self.role.agent_id:
            answer = self.asks(self.call.message)
            self.role.handle(Answered(self.call.key, answer, None, 0.1), self.now)
            self.state = self.role.state

    def answer_is_lost(self):
        if not self.role.agent_id:
            self.asks(self.call.message)

    def uses_its_token(self):
        if self.role.agent_id:
            self.asks(LeagueQuery("GET_STATUS", auth_token=self.role.state.token))

    def is_told(self, agent_id):
        """What the agent answers to a message that the manager proves now."""
        league = self.manager.league
        keys = Credentials(league, SECRETS.token_secret).proof_keys(league.roster.member(agent_id))
        body = write_request(TOLD, 1)
        head = f"\r\n{PROOF_HEADER}: {proof(keys, body)}".encode()
        return self.role._registration.is_proved(Caller("127.0.0.1", head=head, body=body))


def a_player():
    return Player(PlayerSettings(display_name="Ann", endpoint="http://127.0.0.1:9001/mcp"))


def a_referee():
    settings = RefereeSettings(display_name="Owl", endpoint="http://127.0.0.1:9002/mcp")
    return Referee(settings, lambda name: even_odd)


@rule("R-PROOF-02")
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([a_player, a_referee]),
    st.lists(st.sampled_from(["registers", "answer_is_lost", "uses_its_token", "start"])),
)
def test_whatever_answers_are_lost_an_agent_can_check_the_proofs_of_its_manager(make, course):
    town = Town(make)
    town.registers()

    for what in course:
        town.do(what)
        assert town.is_told(town.state.agent_id)


@rule("R-PROOF-01")
def test_a_player_that_lost_its_token_is_given_one_that_proves():
    town = Town(a_player)
    town.registers()
    town.state = None
    town.start()

    town.registers()

    assert (town.state.agent_id, town.state.proofs) == ("P01", True)
    assert town.is_told("P01")


def test_a_player_that_is_updated_after_a_lost_answer_is_not_promised_what_is_not_done():
    town = Town(a_player)
    asked = town.call.message
    plain = msgspec.structs.replace(asked.player_meta, proofs=msgspec.UNSET)
    token = town.asks(msgspec.structs.replace(asked, player_meta=plain)).auth_token
    old = msgspec.structs.replace(asked, player_meta=plain, auth_token=token)
    town.asks(old)  # The answer is lost.

    answer = town.asks(msgspec.structs.replace(asked, auth_token=token))

    league = town.manager.league
    keys = Credentials(league, SECRETS.token_secret).proof_keys(league.roster.member("P01"))
    assert answer.proofs is True
    assert proof_key(answer.auth_token, "league_test", "P01") in keys


@rule("R-PROOF-01")
def test_agents_of_ours_are_proved_all_that_they_are_told_and_others_nothing():
    league = MemoryLeague(players=2, referees=1).fill()
    addresses = []
    tell = league.network.agents["http://manager/mcp"].call
    league.network.agents["http://manager/mcp"].call = lambda to, *rest: (
        addresses.append(to) or tell(to, *rest)
    )

    league.play()

    kept, member = Credentials(league.league, SECRETS.token_secret), league.league.roster.member
    assert {(to.agent_id, to.proof_keys) for to in addresses} == {
        (agent_id, kept.proof_keys(member(agent_id))) for agent_id in ("REF01", "P01", "P02")
    }
    assert all(len(to.proof_keys) == 1 for to in addresses)
    league.league.roster.add_player(PlayerRegistered("P03", "Guest", "http://guest/mcp", "", "d"))
    assert kept.proof_keys(member("P03")) == ()


def forgeries():
    """What a stranger says in the name of the manager, of each match with each player in it."""
    for round_id, number, player in product((1, 2, 3), (1, 2), ("P01", "P02", "P03", "P04", "")):
        match = RoundMatch(f"R{round_id}M{number}", "", player, player, draw_commitment="f" * 64)
        yield RoundAnnouncement(league_id="league_test", round_id=round_id, matches=[match])
    yield LeagueStandingsUpdate(league_id="league_test", standings=[StandingRow(1, "P99")])
    yield LeagueCompleted("league_test", final_standings=[StandingRow(1, "P99")])


@rule("R-PROOF-03", "R-PROOF-04")
def test_a_stranger_who_speaks_in_the_name_of_the_manager_changes_nothing_in_a_league():
    league, answers = MemoryLeague(players=4, referees=1), []
    stranger = league.network.join("http://stranger/mcp", "manager")

    def speak():
        for url in [*league.network.agents][2:]:
            for message in forgeries():
                until = league.clock.now() + 5.0
                stranger.call(Address("", url), message, until, answers.append)

    league.add_referee()
    for _ in range(4):
        league.add_player()
        speak()
    league.play()

    assert all(host.ended for host in league.hosts)
    assert league.league.decided_total == 6
    told = [line for host in league.hosts for line in host.role.news]
    assert [line for line in told if "WRONG" in line] == []
    assert len([line for line in told if "its manager did not send" in line]) == 8
    players = [host.role for host in league.hosts if isinstance(host.role, Player)]
    assert all(row["player_id"] != "P99" for role in players for row in role.memory.standings)
    assert "E012" in {answer.error.context["code"] for answer in answers if answer.error}


@rule("R-PROOF-04")
def test_a_player_waits_for_a_manager_that_is_down_whatever_a_stranger_says():
    league = MemoryLeague(players=2, referees=1)
    stranger = league.network.join("http://stranger/mcp", "manager")
    league.add_referee()
    ann = league.add_player()
    league.kill(league.hosts[0])

    until, said = league.clock.now() + 5.0, LeagueCompleted("league_test")
    stranger.call(Address("", "http://player3/mcp"), said, until, lambda answer: None)
    league.wait(1000.0)

    assert not ann.ended
    league.restart_manager()
    league.add_player()
    league.play()
    assert ann.ended
    assert ann.role.news[-1].startswith("The league is over. P01 is number")


@rule("R-PROOF-05")
def test_who_wants_proofs_is_in_the_journal():
    league = MemoryLeague(players=2, referees=1).fill().play()
    rows = list(league.journal.read("league_test"))

    wanted = [row.kind for row in rows if b'"proofs":true' in row.body]

    assert sorted(wanted) == ["player_registered", "player_registered", "referee_registered"]
    assert not any(key in row.body for row in rows for key in _keys(league))


def _keys(league):
    kept, member = Credentials(league.league, SECRETS.token_secret), league.league.roster.member
    return [kept.proof_keys(member(each))[0].hex().encode() for each in ("P01", "P02", "REF01")]

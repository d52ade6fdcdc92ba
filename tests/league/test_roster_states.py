"""Any order of registrations, renewals and removals: ids, names and tokens stay whose they are.

The model is who has which tokens: those with which it may act, in the order they were given, the
first of them in use; and the one that may only ask. Each step is told to the league as the manager
does it: a token that is shown is used first, then the registration is judged, then what was decided
is applied. After each step everything recorded is read back into a new league.
"""

import unicodedata
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agentleague.errors import (
    DuplicateName,
    EndpointNotAllowed,
    EndpointTaken,
    LateRegistration,
    LeagueFull,
    RefereesFull,
    TokenInvalid,
    TokenMissing,
)
from agentleague.league.events import (
    EndpointProved,
    LeagueEnded,
    LeagueStarted,
    PlayerRemoved,
    RegistrationDisplaced,
    TokenConfirmed,
    read_event,
)
from agentleague.league.league import League
from agentleague.league.roster import clean_name
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.protocol.tokens import digest, league_token
from agentleague.roles.stimuli import Caller
from examples import examples
from league.decisions import LEAGUE_ID, TOKEN_SECRET, Decisions
from manager.test_registration import registration

PLAYERS_MAX, REFEREES_MAX, TOKENS_MAX = 5, 3, 4
FORBIDDEN = "http://169.254.169.254/mcp"

names = st.sampled_from(
    [
        *("Ann", "ANN", " ann ", "A\u200bnn", "\uff21\uff4e\uff4e", "Ann (P02)", "Ann (P03-2)"),
        *(
            "P02",
            "",
            "\x00",
            "Straße",
            "STRASSE",
            "x" * 50,
            "X" * 60,
            "x" * 43 + " yz",
            "x" * 44 + "y" * 6,
            "Ann (P02) x",
            "\u0390",
            "\u03aa\u0301",
        ),
    ]
) | st.text(max_size=60)
endpoints = st.sampled_from(
    ["http://127.0.0.1:9000/mcp", "http://localhost:9001/mcp", "http://10.0.0.7/mcp", FORBIDDEN]
)
sources = st.sampled_from(["127.0.0.1", "10.0.0.7"])
# What somebody might try: unknown, of another league, or guessed and perhaps not given out yet.
guesses = (
    st.sampled_from([None, "", "P01", "tok_P01_", "mtok_" + "0" * 64, "\ud800"])
    | st.builds(
        league_token,
        st.sampled_from([TOKEN_SECRET, b"another secret"]),
        st.sampled_from([LEAGUE_ID, "another_league"]),
        st.sampled_from(["P01", "P02", "REF01"]),
        st.integers(1, 9),
    )
    | st.text(max_size=5)
)


@dataclass
class Agent:
    """What must be true of an agent."""

    agent_id: str
    wanted: str
    shown: str
    endpoints: list[str]  # all it ever had, the present one last
    acting: list[str]  # its tokens, in order; the first is in use, the others never were
    asking: str | None = None
    last: int = 1  # how many tokens it was ever given
    source: str = ""  # from where a player first came
    is_proved: bool = False  # that it listens at its end point, now or once
    is_displaced: bool = False

    @property
    def is_player(self):
        return self.agent_id.startswith("P")

    @property
    def endpoint(self):
        return self.endpoints[-1]


def local_only(url, source):
    if url == FORBIDDEN:
        raise EndpointNotAllowed(f"{url} lies where this league does not call")


def address_of(endpoint):
    host = urlsplit(endpoint).hostname
    return "127.0.0.1" if host == "localhost" else host


def looks(name):
    """The same for all names that differ only in case or form, as Unicode defines it."""
    once = unicodedata.normalize("NFKD", unicodedata.normalize("NFD", name).casefold())
    return unicodedata.normalize("NFKD", once.casefold())


class RosterStates(RuleBasedStateMachine):
    tokens = Bundle("tokens")

    @initialize(unique_names=st.sampled_from(["suffix", "reject", "off"]))
    def open(self, unique_names):
        self.decisions = Decisions(0, 0)
        self.league, self.roster = self.decisions.league, self.decisions.league.roster
        self.unique_names = unique_names
        _, self.registration = registration(
            self.league,
            local_only,
            players_max=PLAYERS_MAX,
            referees_max=REFEREES_MAX,
            unique_names=unique_names,
        )
        self.agents = {}
        self.given = {}  # every token ever given out -> whose it is
        self.sessions = set()
        self.removed = set()
        self.is_open, self.is_over = True, False

    # The model.

    def of_kind(self, players):
        return [agent for agent in self.agents.values() if agent.is_player == players]

    def agent_acting(self, token, *, players):
        agent = self.agents.get(self.given.get(token))
        return agent if agent and agent.is_player == players and token in agent.acting else None

    def use(self, token):
        """A token is shown: if it is new, those before it end."""
        expected = None
        agent = self.agents.get(self.given.get(token))
        if agent and token in agent.acting[1:]:
            agent.acting = agent.acting[agent.acting.index(token) :]
            number = next(n for n in range(1, 99) if token == self.token_of(agent, n))
            expected = TokenConfirmed(agent.agent_id, number)
        event = self.roster.unconfirmed(token)
        assert event == expected
        if event:
            self.decisions.record(event)
            if not agent.is_player:  # It has the session that came with this token.
                assert self.roster.referees[agent.agent_id].generation == event.generation

    def token_of(self, agent, number):
        return league_token(TOKEN_SECRET, LEAGUE_ID, agent.agent_id, number)

    def is_fresh(self, agent, token):
        """A token that was never given to anybody is this agent's from here on."""
        assert token not in self.given
        self.given[token] = agent.agent_id
        agent.last += 1
        assert token == self.token_of(agent, agent.last)

    def is_renewed(self, agent, token, endpoint):
        self.is_fresh(agent, token)
        agent.acting.append(token)
        agent.endpoints.append(endpoint)
        if len(agent.acting) > TOKENS_MAX:
            del agent.acting[1]

    def is_new(self, agent_id, meta, shown, token):
        assert agent_id not in self.agents
        assert token not in self.given
        agent = Agent(
            agent_id, clean_name(meta.display_name), shown, [meta.contact_endpoint], [token]
        )
        assert token == self.token_of(agent, 1)
        self.agents[agent_id] = agent
        self.given[token] = agent_id

    def returning(self, meta, source):
        """The players who may be meant by a name and an end point, from its own address.

        Or from the address where such a player came from before.
        """
        is_home, wanted = source == address_of(meta.contact_endpoint), clean_name(meta.display_name)
        meant = [
            agent
            for agent in self.players_here()
            if agent.endpoint == meta.contact_endpoint
            and (wanted == agent.wanted or (wanted or agent.agent_id) == agent.shown)
            and (is_home or agent.source == source)
            and not (self.is_open and is_home and not self.is_firm(agent))
        ]
        return [agent for agent in meant if agent.agent_id not in self.removed] or meant

    def is_firm(self, agent):
        """Whether nobody can come in its place."""
        return agent.is_proved or agent.source == address_of(agent.endpoint)

    def players_here(self):
        return [agent for agent in self.of_kind(players=True) if not agent.is_displaced]

    def others_at(self, endpoint):
        here = [agent for agent in self.players_here() if agent.agent_id not in self.removed]
        return [agent for agent in here if agent.endpoint == endpoint]

    def player_refusal(self, meta, source):
        """Why this new player is not let in."""
        players = self.of_kind(players=True)
        here = [agent for agent in self.players_here() if agent.agent_id not in self.removed]
        endpoint = meta.contact_endpoint
        for other in self.others_at(endpoint) if self.is_open else ():
            if self.is_firm(other) or source != address_of(endpoint):
                return EndpointTaken
        if not self.is_open:
            return LateRegistration
        if len(here) == PLAYERS_MAX or len(players) == 2 * PLAYERS_MAX:
            return LeagueFull
        if endpoint == FORBIDDEN:
            return EndpointNotAllowed
        name = clean_name(meta.display_name) or f"P{len(players) + 1:02}"
        # Who was removed stays in the table, under its name.
        is_taken = looks(name) in {looks(agent.shown) for agent in self.players_here()}
        return DuplicateName if self.unique_names == "reject" and is_taken else None

    def renewal_refusal(self, meta, agent):
        """Why a player that shows its token is not let in."""
        endpoint = meta.contact_endpoint
        if endpoint == FORBIDDEN:
            return EndpointNotAllowed
        if self.is_over:
            return None
        others = [] if endpoint == agent.endpoint else self.others_at(endpoint)
        may_move = endpoint == agent.endpoint or agent.is_proved
        return None if may_move and not others else EndpointTaken  # None of them shows a claim.

    def referee_refusal(self, meta, *, known):
        """Why this referee is not let in."""
        if not known and self.is_over:
            return LateRegistration
        if not known and len(self.of_kind(players=False)) == REFEREES_MAX:
            return RefereesFull
        return EndpointNotAllowed if meta.contact_endpoint == FORBIDDEN else None

    # What happens.

    @rule(target=tokens, name=names, endpoint=endpoints, source=sources, token=guesses)
    def a_player_comes(self, name, endpoint, source, token):
        return self.register_player(name, endpoint, source, token)

    @rule(target=tokens, name=names, endpoint=endpoints, source=sources, token=tokens)
    def a_player_comes_with_a_token(self, name, endpoint, source, token):
        return self.register_player(name, endpoint, source, token)

    @rule(
        target=tokens,
        number=st.integers(0, 9),
        place=st.integers(0, 9),
        is_at_home=st.booleans(),
        token=guesses,
    )
    def a_player_comes_again(self, number, place, is_at_home, token):
        """Under the same name, at an end point where it is or once was."""
        players = self.of_kind(players=True)
        if not players:
            return multiple()
        agent = players[number % len(players)]
        endpoint = agent.endpoints[place % len(agent.endpoints)]
        source = address_of(endpoint) if is_at_home else "10.0.0.9"
        return self.register_player(agent.wanted, endpoint, source, token)

    def register_player(self, name, endpoint, source, token):
        self.use(token)
        meta = PlayerMeta(name, endpoint, "1.0.0", ["even_odd"])
        agent = self.agent_acting(token, players=True)
        known = [] if agent else self.returning(meta, source)
        refusal = None if known else self.player_refusal(meta, source)
        refusal = self.renewal_refusal(meta, agent) if agent else refusal
        request = LeagueRegisterRequest(meta)
        if refusal:
            with pytest.raises(refusal):
                self.registration.admit_player(request, Caller(source, token))
            return multiple()
        event, answer = self.registration.admit_player(request, Caller(source, token))
        if event:
            self.decisions.record(event)
        player_id, fresh = answer.player_id, answer.auth_token
        if agent:
            assert player_id == agent.agent_id
            self.renewed_player(agent, token, endpoint, fresh, event)
        elif known:
            assert player_id in [each.agent_id for each in known]
            self.readmitted(self.agents[player_id], fresh, event)
        else:
            self.is_new(player_id, meta, self.roster.players[player_id].display_name, fresh)
            self.agents[player_id].source = source
        shown = answer.display_name_effective or name
        assert shown == self.agents[player_id].shown
        if not agent and not known:
            self.displace_others(self.agents[player_id])
        return fresh

    def displace_others(self, agent):
        """It came from its end point's own address, and those who were there had not."""
        for other in self.others_at(agent.endpoint):
            if other is not agent:
                is_wanted = self.roster.wanted_name_of(other.agent_id, agent.agent_id)
                names = (other.agent_id, agent.agent_id, other.shown if is_wanted else "")
                self.decisions.record(RegistrationDisplaced(*names))
                self.removed.add(other.agent_id)
                other.is_displaced, other.acting, other.asking = True, [], None
                taken_over = self.roster.players[agent.agent_id].display_name
                assert taken_over in (agent.shown, other.shown)
                agent.shown = taken_over

    def renewed_player(self, agent, token, endpoint, fresh, event):
        """The same again where the same was asked and not used; else a new one."""
        if token != agent.acting[-1] and endpoint == agent.endpoint:
            assert (fresh, event) == (agent.acting[-1], None)
        else:
            self.is_renewed(agent, fresh, endpoint)

    def readmitted(self, agent, fresh, event):
        """A token that may only ask: one for each player, ever."""
        if agent.asking:
            assert (fresh, event) == (agent.asking, None)
        else:
            self.is_fresh(agent, fresh)
            agent.asking = fresh

    @rule(target=tokens, name=names, endpoint=endpoints, token=guesses)
    def a_referee_comes(self, name, endpoint, token):
        return self.register_referee(name, endpoint, token)

    @rule(target=tokens, name=names, endpoint=endpoints, token=tokens)
    def a_referee_comes_with_a_token(self, name, endpoint, token):
        return self.register_referee(name, endpoint, token)

    def register_referee(self, name, endpoint, token):
        self.use(token)
        meta = RefereeMeta(name, endpoint, "1.0.0", ["even_odd"])
        agent = self.agent_acting(token, players=False)
        refusal = self.referee_refusal(meta, known=agent)
        request = RefereeRegisterRequest(meta)
        if refusal:
            with pytest.raises(refusal):
                self.registration.admit_referee(request, Caller("10.0.0.9", token))
            return multiple()
        event, answer = self.registration.admit_referee(request, Caller("10.0.0.9", token))
        self.decisions.record(event)
        if agent:
            assert answer.referee_id == agent.agent_id
            self.is_renewed(agent, answer.auth_token, endpoint)
        else:
            shown = clean_name(name) or answer.referee_id
            self.is_new(answer.referee_id, meta, shown, answer.auth_token)
        assert answer.session not in self.sessions
        self.sessions.add(answer.session)
        return answer.auth_token

    @rule(
        target=tokens,
        number=st.integers(0, 9),
        newest=st.booleans(),
        at=st.lists(endpoints, min_size=1, max_size=7),
    )
    def an_agent_is_started_again_and_again(self, number, newest, at):
        """With the token it used all along, or the last one it was given; the answers are lost."""
        if not self.agents:
            return multiple()
        agent = list(self.agents.values())[number % len(self.agents)]
        if agent.is_displaced:
            return multiple()
        token = agent.acting[-1 if newest else 0]
        if agent.is_player:
            for endpoint in at:
                self.register_player(agent.wanted, endpoint, "10.0.0.9", token)
        else:
            for endpoint in at:
                self.register_referee(agent.wanted, endpoint, token)
        return multiple(*agent.acting)

    @precondition(lambda self: not self.is_over)
    @rule(number=st.integers(1, PLAYERS_MAX))
    def a_player_proves_its_end_point(self, number):
        agent = self.agents.get(f"P{number:02}")
        if agent and not agent.is_displaced:
            self.decisions.record(EndpointProved(agent.agent_id))
            agent.is_proved = True

    @rule(token=tokens)
    def a_token_is_used(self, token):
        self.use(token)

    @rule(token=guesses)
    def a_token_is_guessed(self, token):
        self.use(token)
        if token not in self.given:
            assert self.roster.owner(token) is self.roster.acting(token) is None

    @precondition(lambda self: not self.is_over)
    @rule(number=st.integers(1, PLAYERS_MAX))
    def a_player_is_removed(self, number):
        player_id = f"P{number:02}"
        if player_id in self.agents and player_id not in self.removed:
            self.decisions.record(PlayerRemoved(player_id))
            self.removed.add(player_id)

    @precondition(lambda self: self.is_open)
    @rule()
    def the_league_starts(self):
        playing = [each for each in self.roster.players if each not in self.removed]
        if len(playing) >= 2:
            self.decisions.record(LeagueStarted(playing))
            self.is_open = False

    @precondition(lambda self: not self.is_open and not self.is_over)
    @rule()
    def the_league_ends(self):
        self.decisions.record(LeagueEnded("P01"))
        self.is_over = True

    # What always holds.

    @invariant()
    def every_token_is_its_agents_as_long_as_it_counts(self):
        for token, agent_id in self.given.items():
            agent = self.agents[agent_id]
            counts = token in agent.acting or token == agent.asking
            assert self.roster.owner(token) == (agent_id if counts else None)
            assert self.roster.acting(token) == (agent_id if token in agent.acting else None)
            if counts and not agent.is_player:
                assert self.roster.referee_of(token) == agent_id
            else:
                with pytest.raises(TokenInvalid):
                    self.roster.referee_of(token)
        with pytest.raises(TokenMissing):
            self.roster.referee_of(None)

    @invariant()
    def every_agent_is_as_it_was_let_in(self):
        members = self.roster.players | self.roster.referees
        assert members.keys() == self.agents.keys()
        for agent_id, agent in self.agents.items():
            member = members[agent_id]
            assert (member.agent_id, member.display_name, member.endpoint) == (
                agent_id,
                agent.shown,
                agent.endpoint,
            )
            assert member.agent_id in self.roster.displaced or not agent.is_displaced
            if agent.is_displaced:
                continue
            assert self.roster.digests_of(member) == [digest(each) for each in agent.acting]
            assert member.token_digest == digest(agent.acting[-1])
            assert len(agent.acting) <= TOKENS_MAX
        assert set(self.roster.removed) == self.removed

    @invariant()
    def names_are_short_and_where_they_must_be_unlike_one_another(self):
        here = [self.roster.players[each.agent_id] for each in self.players_here()]
        shown = [member.display_name for member in here]
        assert all(0 < len(name) <= 50 and name == name.strip() for name in shown)
        if self.unique_names != "off":
            assert len({looks(name) for name in shown}) == len(shown)

    @invariant()
    def what_was_recorded_gives_the_same_league(self):
        replayed = League()
        for event in self.decisions.events:
            kind = type(event).__struct_config__.tag
            replayed.apply(read_event(kind, 1, msgspec.json.encode(event)))
        assert vars(replayed.roster) == vars(self.roster)
        assert (replayed.seq, replayed.phase) == (self.league.seq, self.league.phase)

    @invariant()
    def no_row_holds_a_token(self):
        rows = b"\n".join(map(msgspec.json.encode, self.decisions.events))
        for token in self.given:
            assert token.rpartition("_")[2].encode() not in rows


def test_ids_names_and_tokens_stay_whose_they_are_whatever_happens():
    run_state_machine_as_test(
        RosterStates, settings=settings(max_examples=examples(100), stateful_step_count=40)
    )

"""Players that cannot be called: who has a seat at the manager, and who may call it."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import NoConnection
from agentleague.games import even_odd
from agentleague.league.events import (
    EndpointChanged,
    PlayerRegistered,
    TokenMisused,
    TokenRenewed,
)
from agentleague.league.league import Phase
from agentleague.manager import keys
from agentleague.manager.role import Manager
from agentleague.protocol.messages import (
    EndpointProof,
    GameInvitation,
    LeagueCommand,
    LeagueQuery,
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.protocol.tokens import channel_key, digest, league_token, match_token
from agentleague.records.reading import folded
from agentleague.records.verify import verify
from agentleague.roles.effects import Broadcast, Call, Record, Reply
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from memory_league import BEGAN, SECRETS
from records.journals import rows_of
from rules import rule

ANNS, REFEREES = "http://10.0.0.7:8101/mcp", "http://127.0.0.1:8001/mcp"
MANAGER = "http://10.0.0.1:8000/mcp"


class Seating:
    """A manager and all that it sends."""

    def __init__(self, events=(), **settings):
        self.settings = {"league_id": "league_test", "players": 2, "reply_seconds": 1.0, **settings}
        self.manager = Manager(ManagerSettings(**self.settings), SECRETS, even_odd)
        self.manager.league.manager_url = MANAGER
        self.events, self.calls, self.now = [*events], [], BEGAN
        for event in events:
            self.manager.apply(event)
        self.feed(Started(0.0))

    @property
    def roster(self):
        return self.manager.league.roster

    def feed(self, stimulus):
        """Handle it; what it answers."""
        answer = None
        self.now += 2.0
        for effect in self.manager.handle(stimulus, self.now):
            if isinstance(effect, Record):
                self.events.append(effect.event)
            elif isinstance(effect, Reply):
                answer = effect.answer
            elif isinstance(effect, Call):
                self.calls.append((effect.to, effect.message))
            elif isinstance(effect, Broadcast):
                self.calls += [(to, each[0]) for to, told in effect.letters for each in told]
        return answer

    def ask(self, message, token=None, source="10.0.0.9"):
        return self.feed(Asked(message, Caller(source, token), 1))

    def sits(self, name="Ann", claim="", *, token=None, seat=True, url="", source="10.0.0.9"):
        """A player registers, at a seat unless `seat` is False."""
        meta = PlayerMeta(name, url, "1.0.0", ["even_odd"], claim=claim or UNSET, seat=seat)
        return self.ask(LeagueRegisterRequest(meta), token, source)

    def referees(self, *, locks=True, url=REFEREES, source="127.0.0.1"):
        meta = RefereeMeta("Ref", url, "1.0.0", ["even_odd"], 4, locks=locks)
        return self.ask(RefereeRegisterRequest(meta), source=source)

    def command(self, name, /, **params):
        return self.ask(LeagueCommand(name, params), SECRETS.admin_token)

    def query(self, kind, token=None, **params):
        return self.ask(LeagueQuery(query_type=kind, query_params=params), token).data

    def assigned(self):
        """What the referee is told once the players know of the round."""
        self.feed(Woken(keys.AnnouncementAnswersDue(1)))
        return [message for to, message in self.calls if to.agent_id == "REF01"][-1].matches[0]

    def resumed(self):
        return Seating(self.events, **self.settings)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def may_call(self, player_id, token, source="10.0.0.9", match_id="R1M1"):
        message = GameInvitation(match_id=match_id, auth_token=token or UNSET)
        return self.manager.may_call(player_id, message, Caller(source, token))


def playing(**more):
    """Ann at a seat, Bob at an end point of his own, and a referee: their match has begun."""
    league = Seating(**more)
    league.ann = league.sits("Ann", "hers").auth_token
    league.bob = league.sits("Bob", "his", seat=False, url=ANNS).auth_token
    league.referee = league.referees().auth_token
    assert league.manager.league.round_id == 1
    return league


def of_match(player_id, direction="ref>player", epoch=1, match_id="R1M1"):
    key = channel_key(league_token(SECRETS.token_secret, "league_test", player_id, 1))
    return match_token(key, direction, "league_test", match_id, player_id, epoch)


@rule("R-SEAT-11")
def test_a_player_that_cannot_be_called_is_given_a_seat_and_is_not_looked_for():
    league = Seating(unreachable="refuse")
    league.manager.reachability.is_tried = True

    answer = league.sits("Ann", "hers")

    assert (answer.status, answer.player_id, answer.seat) == ("ACCEPTED", "P01", "/seats/P01")
    assert answer.seats is True
    assert league.of(PlayerRegistered)[0].endpoint == "/seats/P01/mcp"
    assert not league.calls, "nobody asks whose a seat is"
    assert not league.manager.reachability.unchecked
    assert not league.manager.unchecked
    assert league.manager.seat_of(answer.auth_token) == "P01"
    resumed = league.resumed()
    assert not resumed.calls
    assert not resumed.manager.reachability.unchecked
    assert resumed.manager.reachability.known == {"P01": True}


@rule("R-SEAT-11")
def test_who_may_ask_for_a_seat_is_told_so():
    league = Seating(players=9)

    assert league.sits("Ann", "hers", seat=UNSET, url=ANNS).seats is True
    knows = league.sits("Bob", seat=False, url="http://10.0.0.8:1/mcp")
    assert (knows.seats, knows.seat) == (True, UNSET)
    foreign = league.sits("Eve", seat=UNSET, url="http://10.0.0.9:1/mcp")
    assert (foreign.seats, foreign.seat) == (UNSET, UNSET)


@rule("R-SEAT-11")
def test_a_league_without_seats_says_what_to_do_instead():
    league = Seating(seats=False)

    answer = league.sits("Ann", "hers")

    assert (answer.status, answer.error_code) == ("REJECTED", "E043")
    assert "contact_endpoint and without player_meta.seat" in answer.hint
    assert league.sits("Ann", "hers", seat=False, url=ANNS).seats is UNSET
    assert league.sits("Ann", "hers", seat=True).status == "REJECTED"
    late = Seating(playing().events, seats=False)
    assert late.sits("Ann", "hers").seat == "/seats/P01", "who has one keeps it"


@rule("R-SEAT-12")
@pytest.mark.parametrize("shows", ["claim", "token"])
def test_who_comes_back_has_the_same_seat(shows):
    league = playing()
    known = {"claim": "hers"} if shows == "claim" else {"token": league.ann}

    again = league.sits("Ann", **known)

    assert (again.player_id, again.seat) == ("P01", "/seats/P01")
    assert league.manager.seat_of(again.auth_token) == "P01"
    assert league.roster.players["P01"].endpoint == "/seats/P01/mcp"
    assert league.resumed().manager.seat_of(again.auth_token) == "P01"


@rule("R-SEAT-12")
@pytest.mark.parametrize("claim", ["his", ""])
def test_a_player_that_nobody_reaches_changes_to_a_seat_and_back(claim):
    league = Seating()
    league.sits("Ann", "hers")
    first = league.sits("Bob", claim, seat=False, url=ANNS)
    league.referees()
    assert league.manager.league.phase is Phase.RUNNING
    assert league.assigned().seats[1].seat is UNSET

    seated = league.sits("Bob", claim, token=first.auth_token)

    assert seated.seat == "/seats/P02"
    assert league.of(TokenRenewed)[-1].endpoint == "/seats/P02/mcp"
    assert league.manager.seat_of(seated.auth_token) == "P02"
    back = league.sits("Bob", claim, token=seated.auth_token, seat=False, url=ANNS)
    assert (back.status == "ACCEPTED") == bool(claim), "who proves nothing stays from the start on"
    assert (league.manager.seat_of(seated.auth_token) is None) == bool(claim)


@rule("R-SEAT-12")
def test_before_the_start_a_player_leaves_its_seat_but_not_for_anothers_end_point():
    league = Seating(players=9)
    ann = league.sits("Ann").auth_token
    league.sits("Bob", "his", seat=False, url=ANNS)
    league.feed(Answered(keys.ProofCall("P02"), EndpointProof(True), None, 0.1))
    assert league.roster.was_proved("P02")

    assert league.sits("Ann", token=ann, seat=False, url=ANNS).status == "REJECTED"
    own = league.sits("Ann", token=ann, seat=False, url="http://10.0.0.9:8101/mcp")

    assert own.status == "ACCEPTED"
    assert league.manager.seat_of(own.auth_token) is None


@rule("R-SEAT-12")
def test_a_thief_of_an_end_point_where_somebody_listens_does_not_take_it_to_a_seat():
    league = Seating(players=9)
    thief = league.sits("Ann", seat=UNSET, url=ANNS).auth_token
    league.manager.reachability.learnt("P01", ANNS, True)

    assert league.sits("Ann", token=thief).error_code == "E043"
    assert league.manager.seat_of(thief) is None


@rule("R-SEAT-12")
def test_what_is_answered_at_the_end_point_that_it_left_takes_nobody_from_its_seat():
    league = Seating(players=9)
    ann = league.sits("Ann", "hers", seat=False, url=ANNS).auth_token

    league.sits("Ann", "hers", token=ann)
    league.feed(Answered(keys.ProofCall("P01"), EndpointProof(False), None, 0.1))

    assert not league.roster.displaced
    assert [to.url for to, _ in league.calls] == [ANNS], "nobody is asked at a seat"


@rule("R-OWN-01")
@pytest.mark.parametrize("by_seat", [False, True])
def test_what_is_answered_at_an_end_point_proves_no_other_to_which_it_moved_meanwhile(by_seat):
    league = Seating(players=9)
    eve = league.sits("Eve", "evil", seat=False, url="http://10.0.0.9:8101/mcp").auth_token
    if by_seat:
        eve = league.sits("Eve", "evil", token=eve).auth_token
    league.sits("Eve", "evil", token=eve, seat=False, url=ANNS)
    asked = len(league.calls)

    league.feed(Answered(keys.ProofCall("P01"), EndpointProof(True), None, 0.1))

    assert not league.roster.was_proved("P01")
    assert [to.url for to, _ in league.calls[asked:]] == [ANNS], "who is there now is asked"
    league.feed(Answered(keys.ProofCall("P01"), EndpointProof(False), None, 0.1))
    assert league.roster.displaced == {"P01"}


@rule("R-SEAT-13")
def test_where_a_seat_is_follows_from_the_managers_own_url_also_after_a_restart():
    league = playing()
    told = league.assigned()
    ann, bob = told.seats
    url = "http://10.0.0.1:8000/seats/P01/mcp"

    assert (ann.endpoint, ann.seat, bob.endpoint, bob.seat) == (url, True, ANNS, UNSET)
    assert told.player_A_endpoint == url
    own = {to.url for to, _ in league.calls if to.agent_id == "P01"}
    assert own == {"/seats/P01/mcp"}, "the manager's own calls never leave it"
    row = league.query("GET_AGENT", league.referee, agent_id="P01")["agent"]
    assert (row["endpoint"], row["seat"], row["reachable"]) == (url, True, True)
    assert "proved" not in row
    assert league.query("GET_PLAYER_STATS", league.ann)["player_stats"]["contact_endpoint"] == url
    assert league.query("GET_PLAYER_DIRECTORY", league.referee)["players"]["P01"] == url
    assert "endpoint" not in league.query("GET_AGENT", league.bob, agent_id="P01")["agent"]
    rows = rows_of(league.events, "league_test")
    assert verify(rows, lambda name: even_odd).difference is None
    assert folded(rows).url_of("P01") == "/seats/P01/mcp", "where nobody knows the manager's URL"
    moved = league.resumed()
    moved.manager.league.manager_url = "https://cup.example/mcp"
    row = moved.query("GET_AGENT", league.ann, agent_id="P01")["agent"]
    assert row["endpoint"] == "https://cup.example/seats/P01/mcp"


@rule("R-SEAT-13")
def test_the_organiser_moves_a_player_from_its_seat_and_its_token_takes_it_back():
    league = playing()

    league.command("set_endpoint", agent_id="P01", url="http://10.0.0.7:9000/mcp")

    assert league.of(EndpointChanged)
    assert league.manager.seat_of(league.ann) is None
    assert league.sits("Ann", "hers", token=league.ann).seat == "/seats/P01"


@rule("R-SEAT-14")
def test_only_the_referee_of_its_match_calls_a_seated_player():
    league = playing()

    assert league.may_call("P01", of_match("P01"))
    assert league.may_call("P01", league.referee)
    assert not league.may_call("P02", of_match("P02")), "it has no seat"
    assert not league.may_call("P77", league.referee)
    assert not league.may_call("P01", None)
    assert not league.may_call("P01", of_match("P01", epoch=2))
    assert not league.may_call("P01", of_match("P01", "player>ref"))
    assert not Seating(league.events[:2]).may_call("P01", of_match("P01")), "it has no match"
    league.command("pause")
    assert not league.of(TokenMisused), "of its own match: a former referee that is late"


@rule("R-SEAT-14")
def test_a_foreign_referee_calls_a_seat_without_a_token_where_such_may_report():
    league = Seating()
    ann = league.sits("Ann", "hers").auth_token
    league.sits("Bob", "his")
    league.referees(locks=UNSET)

    assert league.may_call("P01", None, source="127.0.0.1")
    assert not league.may_call("P01", None, source="10.0.0.9")
    assert not league.may_call("P01", ann, source="127.0.0.1"), "a player's token is not none"


@rule("R-SEAT-14")
@pytest.mark.parametrize(
    ("token", "whose", "scope"),
    [
        (of_match("P02"), "P02", "match"),
        (of_match("P02", "player>ref"), "P02", "match"),
        (league_token(SECRETS.token_secret, "league_test", "P02", 1), "P02", "league"),
    ],
)
def test_who_calls_anothers_seat_with_its_own_token_is_refused_and_named_once(token, whose, scope):
    league = playing()

    assert not league.may_call("P01", token)
    assert not league.may_call("P01", token)

    assert not league.of(TokenMisused), "no step was taken"
    assert sum(whose in line and "refused" in line for line in league.manager.news) == 1
    league.command("pause")
    assert league.of(TokenMisused) == [TokenMisused(whose, "GAME_INVITATION", scope)]
    assert not league.may_call("P01", token)
    league.command("start")
    assert len(league.of(TokenMisused)) == 1
    assert len(league.resumed().manager.league.misuses[whose]) == 1


@rule("R-SEAT-14")
def test_only_a_players_own_token_opens_its_seat():
    league = playing(referees_max=2)
    waits = Seating(referee_access="code", referee_code="right")
    waiting = waits.referees().auth_token
    waits.sits("Ann", "hers")

    assert league.manager.seat_of(league.ann) == "P01"
    for token in (league.bob, league.referee, of_match("P01"), "", None, "tok_P01_made_up"):
        assert league.manager.seat_of(token) is None
    assert waits.manager.seat_of(waiting) is None
    assert not waits.may_call("P01", waiting)


@rule("R-SEAT-14")
def test_a_token_that_may_only_ask_and_one_that_was_replaced_open_no_seat():
    league = Seating(players=9)
    first = league.sits("Ann", "hers", seat=False, url=ANNS, source="10.0.0.7")
    asks = league.sits("Ann", seat=UNSET, url=ANNS, source="10.0.0.7")
    assert (asks.player_id, asks.match_tokens) == ("P01", False)

    seated = league.sits("Ann", "hers", token=first.auth_token)

    assert league.manager.seat_of(asks.auth_token) is None
    assert league.manager.seat_of(first.auth_token) == "P01", "until the new one is used"
    league.query("GET_STATUS", seated.auth_token)
    assert league.manager.seat_of(first.auth_token) is None
    assert league.manager.seat_of(seated.auth_token) == "P01"


@rule("R-SEAT-15")
@pytest.mark.parametrize(
    "url",
    ["/seats/P01/mcp", "http://10.0.0.1:8000/seats/P01/mcp", "http://10.0.0.1/%73eats/P01/mcp"],
)
def test_nobody_is_called_at_anothers_seat(url):
    league = Seating(players=9)
    league.sits("Ann", "hers")

    assert league.sits("Eve", "x", seat=UNSET, url=url).error_code == "E043"
    refused = league.referees(url=url)
    assert (refused.status, "player_meta.seat true" in refused.hint) == ("REJECTED", True)
    assert "/seats/" in str(league.command("add_player", name="Eve", url=url))
    assert "/seats/" in str(league.command("set_endpoint", agent_id="P01", url=url))
    assert len(league.roster.players) == 1


@rule("R-SEAT-15")
def test_the_digest_of_a_claim_which_the_manager_shows_gives_nobody_its_seat():
    league = Seating(players=9)
    ann = league.sits("Ann", "hers", seat=False, url=ANNS).auth_token
    shown = league.calls[-1][1].claim_digest
    assert shown == digest("hers")
    league.sits("Ann", "hers", token=ann)

    thief = league.sits("Ann", shown)

    assert (thief.player_id, thief.seat) == ("P02", "/seats/P02")


@rule("R-SEAT-11")
def test_an_agent_that_is_refused_for_its_end_point_hears_of_seats():
    league = Seating(unreachable="refuse")
    league.manager.reachability.is_tried = True
    league.sits("Ann", "hers", seat=False, url=ANNS)
    key, _ = league.manager.unchecked.popleft()

    refused = league.feed(Answered(key, None, NoConnection("nobody"), 0.1))

    assert "player_meta.seat true" in refused.hint
    assert refused.status == "REJECTED"


@rule("R-SEAT-14")
def test_a_referee_may_say_how_a_match_ended_when_the_next_one_is_given_out():
    league = playing()
    first = of_match("P01")
    matches = league.manager.league.matches
    matches.of_player["P01"].append(replace(matches["R1M1"], match_id="R2M1", epoch=3))

    assert league.may_call("P01", first)
    matches.of_player["P01"].append(replace(matches["R1M1"], match_id="R3M1", epoch=3))
    assert not league.may_call("P01", first)

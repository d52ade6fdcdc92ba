"""How an agent registers, and how it comes back as itself."""

import msgspec
import pytest
from msgspec import UNSET

from agentleague.errors import NoConnection, PeerRefused, RateLimited
from agentleague.games import even_odd
from agentleague.league.events import LeaguePaused
from agentleague.player.role import Player
from agentleague.protocol.messages import (
    EndpointChallenge,
    GameInvitation,
    LeagueRegisterResponse,
    Receipt,
    RefereeRegisterResponse,
)
from agentleague.protocol.tokens import digest
from agentleague.referee.role import Referee
from agentleague.roles.agent import AgentState, Refused, RegisterKey, Registration
from agentleague.roles.effects import End, WakeAt
from agentleague.roles.settings import (
    AgentSettings,
    ManagerSettings,
    PlayerSettings,
    RefereeSettings,
    Secrets,
)
from agentleague.roles.stimuli import Answered, Asked, Caller, Started, Woken
from rules import rule

NOW = 100.0
OLD, NEW = "tok_P01_old", "tok_P01_new"
ACCEPTED = LeagueRegisterResponse("ACCEPTED", "P01", "league_x", match_tokens=True, auth_token=NEW)


def a_player(**settings):
    return Player(PlayerSettings(display_name="Ann", endpoint="http://ann/mcp", **settings))


def a_referee(**settings):
    terms = RefereeSettings(display_name="Owl", endpoint="http://owl/mcp", **settings)
    return Referee(terms, lambda name: even_odd)


def asked(role, remembered=""):
    """How it asks to be taken in."""
    role.remember(AgentState(token=remembered))
    (call,) = role.handle(Started(0.0), NOW)
    return call.message


def answered(role, message=None, error=None):
    return role.handle(Answered(RegisterKey(), message, error, 0.1), NOW)


def refusal(code):
    return PeerRefused("the peer answered with error 12: no", number=12, code=code, data={})


@rule("R-GUEST-04")
@pytest.mark.parametrize("make", [a_player, a_referee])
def test_an_agent_that_is_understood_in_no_form_ends_and_says_what_would_help(make):
    role = make()
    asked(role)
    error = NoConnection("HTTP 404", status=404, what_to_do="it said: HTTP 404. Ask.")

    (end,) = answered(role, error=error)

    assert isinstance(end, End)
    assert end.summary.reason.endswith(
        "/mcp understands no registration of ours: it said: HTTP 404. Ask."
    )


@rule("R-REG-13")
@pytest.mark.parametrize("make", [a_player, a_referee])
def test_an_agent_shows_the_token_of_its_last_run(make):
    assert asked(make(), OLD).auth_token == OLD
    assert asked(make()).auth_token is UNSET


@rule("R-REG-08")
def test_an_agent_says_the_join_code_that_it_was_told():
    assert asked(a_player(join_code="quokka-7")).player_meta.join_code == "quokka-7"
    assert asked(a_referee(join_code="quokka-7")).referee_meta.join_code == "quokka-7"
    assert asked(a_player()).player_meta.join_code is UNSET
    assert asked(a_referee()).referee_meta.join_code is UNSET


@pytest.mark.parametrize(("make", "meta"), [(a_player, "player_meta"), (a_referee, "referee_meta")])
def test_an_agent_shows_its_claim_and_keeps_it_for_its_next_run(make, meta):
    role = make()
    role.remember(AgentState(claim="clm_1"))

    (call,) = role.handle(Started(0.0), 0.0)

    assert getattr(call.message, meta).claim == "clm_1"
    assert role.state.claim == "clm_1"
    assert getattr(asked(make()), meta).claim is UNSET


@rule("R-OWN-01")
@pytest.mark.parametrize("make", [a_player, a_referee])
def test_an_agent_says_yes_to_its_own_claim_alone(make):
    role, silent = make(), make()
    role.remember(AgentState(claim="clm_1"))

    def proves(role, digest):
        asked = Asked(EndpointChallenge(digest), Caller("127.0.0.1"), 1)
        (reply,) = role.handle(asked, NOW)
        return reply.answer.proved

    assert proves(role, digest("clm_1"))
    assert not proves(role, digest("clm_2"))
    assert not proves(role, "clm_1")
    assert not proves(silent, digest(""))


RECEIPT = Receipt(41, "ab" * 32, seal="cd" * 20)


@rule("R-RESUME-04")
@pytest.mark.parametrize(("make", "meta"), [(a_player, "player_meta"), (a_referee, "referee_meta")])
def test_an_agent_shows_its_receipt_with_its_token_to_its_own_manager_alone(make, meta):
    kept = AgentState("P01", "league_x", OLD, receipt=RECEIPT)
    role, refused = make(), make()
    for each in (role, refused):
        each.remember(kept)
        (call,) = each.handle(Started(0.0), NOW)
        assert getattr(call.message, meta).receipt == RECEIPT

    answered(refused, error=refusal("E012"))
    (again,) = refused.handle(Woken(RegisterKey()), NOW)

    assert getattr(again.message, meta).receipt is UNSET
    assert getattr(asked(make()), meta).receipt is UNSET


@rule("R-RESUME-04")
def test_a_receipt_is_kept_in_its_own_league_alone():
    same, other = a_player(), a_player()
    for role, league_id in ((same, "league_x"), (other, "league_y")):
        role.remember(AgentState("P01", league_id, OLD, receipt=RECEIPT))
        role.handle(Started(0.0), NOW)
        answered(role, ACCEPTED)

    assert same.state.receipt == RECEIPT
    assert other.state.receipt is None


@rule("R-REG-13")
def test_what_it_needs_to_come_back_is_its_id_its_league_and_its_newest_token():
    role = a_player()
    asked(role, OLD)
    assert role.state == AgentState()

    answered(role, ACCEPTED)

    assert role.state == AgentState("P01", "league_x", NEW, match_tokens=True)


@rule("R-REG-13")
def test_an_agent_that_registers_again_while_it_runs_shows_its_newest_token():
    role = a_player()
    asked(role, OLD)
    answered(role, ACCEPTED)

    (call,) = role.register(NOW)

    assert call.message.auth_token == NEW


@rule("R-REG-13")
@pytest.mark.parametrize("code", ["E011", "E012"])
def test_a_manager_that_refuses_the_old_token_is_asked_without_it(code):
    role = a_player()
    asked(role, OLD)

    assert answered(role, error=refusal(code)) == [WakeAt(RegisterKey(), NOW)]
    (again,) = role.handle(Woken(RegisterKey()), NOW)

    assert again.message.auth_token is UNSET
    (end,) = answered(role, error=refusal(code))
    assert isinstance(end.summary, Refused)


@rule("R-REG-13")
def test_a_token_is_kept_while_the_manager_is_away_or_busy():
    role = a_player()
    asked(role, OLD)

    for error in (NoConnection("nobody"), RateLimited("slow down")):
        assert answered(role, error=error) == [WakeAt(RegisterKey(), NOW + 1.0)]
        (again,) = role.handle(Woken(RegisterKey()), NOW)
        assert again.message.auth_token == OLD


@rule("R-REG-13")
@pytest.mark.parametrize("error", [refusal("E003"), refusal(None)])
def test_any_other_refusal_is_final(error):
    role = a_player()
    asked(role, OLD)

    assert [type(effect) for effect in answered(role, error=error)] == [End]


@rule("R-REG-06")
@pytest.mark.parametrize(
    ("said", "held"),
    [
        ({"session": "ses_1", "lease_seconds": 4.0, "auth_token": "tok"}, ("ses_1", 4.0, "tok")),
        ({}, ("", 0.0, "")),  # a foreign manager
    ],
)
def test_a_referee_keeps_its_session_its_lease_and_its_token(said, held):
    registration = Registration(AgentSettings(display_name="Owl", endpoint="http://owl/mcp"))

    registration.answered(
        RefereeRegisterResponse("ACCEPTED", "REF01", "league_x", **said), None, NOW
    )

    assert (registration.session, registration.lease_seconds, registration.token) == held


@rule("R-LEAGUE-32")
@pytest.mark.parametrize(("said", "is_foreign"), [(True, False), (False, False), (UNSET, True)])
def test_a_player_knows_a_foreign_manager_by_what_it_does_not_say(said, is_foreign):
    role = a_player()
    asked(role)

    answered(role, msgspec.structs.replace(ACCEPTED, match_tokens=said))

    assert role.has_foreign_manager is is_foreign


@rule("R-TOK-05")
@rule("R-DIA-10")
def test_a_player_without_an_id_goes_by_its_name_until_a_message_calls_it_otherwise():
    player = a_player()
    answered(player, LeagueRegisterResponse("ACCEPTED", "", "cup"))
    assert player.agent_id == "Ann"

    def join(**named):
        invitation = GameInvitation(match_id="M1", **named)
        (reply,) = player.handle(Asked(invitation, Caller("127.0.0.1"), 1), NOW)
        return reply.answer.player_id

    assert [join(), join(player_id="P03"), join(player_id="P04")] == ["Ann", "P03", "P03"]
    said = "Registered as Ann in cup. The manager gave it no id: it goes by its name."
    assert player.news[0] == said
    assert list(player.news).count("It is called P03 here.") == 1
    mixed = "M1: a referee calls it P04, and its manager P03: are the end points mixed up?"
    assert list(player.news).count(mixed) == 1


def test_no_news_of_an_agent_tells_a_token():
    role = a_player()
    asked(role, OLD)
    answered(role, ACCEPTED)

    assert not [sentence for sentence in role.news if "tok_" in sentence]


@rule("R-REG-13")
def test_an_agent_that_is_too_late_is_told_how_it_would_have_come_back_whatever_the_form():
    late = LeagueRegisterResponse("REJECTED", reason="Registration closed", error_code="E019")
    full = LeagueRegisterResponse("REJECTED", reason="League full", error_code="E020")
    data = {"error_message": "the league has begun"}
    errors = [
        PeerRefused("error 4005", number=4005, code="E019", data=data),
        PeerRefused("error 2001: League full", number=2001, code="E020", data={}),
    ]
    reasons = []
    for answer, error in ((late, None), (None, errors[0]), (full, None), (None, errors[1])):
        role = a_player()
        asked(role)
        (end,) = answered(role, answer, error=error)
        reasons.append(end.summary.reason)

    back = "; one that was in it before comes back with the same --manager, --name, --port and"
    assert reasons[0].startswith(f"Registration closed{back} --state")
    assert reasons[1].startswith(f"the league has begun{back} --state")
    assert reasons[2:] == ["League full", "error 2001: League full"]


@rule("R-REG-13")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "this league has a join code; give it with --join-code or LEAGUE_JOIN_CODE"),
        ("guess", "wrong join code; give the right one with --join-code or LEAGUE_JOIN_CODE"),
    ],
)
def test_a_refused_join_code_is_told_in_the_words_of_the_command(given, said):
    role = a_player(join_code=given)
    asked(role)
    error = PeerRefused("player_meta.join_code is not it", number=12, code="E012", data={})

    (end,) = answered(role, error=error)

    assert end.summary.reason.startswith(said)
    assert "player_meta" not in end.summary.reason


@rule("R-ACCESS-01")
def test_a_referee_says_the_code_that_it_was_told_and_what_to_do_about_a_wrong_one():
    role = a_referee(referee_code="quokka-7")
    assert asked(role).referee_meta.referee_code == "quokka-7"
    assert asked(a_referee()).referee_meta.referee_code is UNSET
    error = PeerRefused("referee_meta.referee_code is not it", number=12, code="E012", data={})

    (end,) = answered(role, error=error)

    assert end.summary.reason.startswith("wrong referee code; give the right one with --referee-c")


def test_another_refusal_is_told_as_the_manager_told_it():
    role = a_player(join_code="sesame")
    asked(role)

    (end,) = answered(role, error=refusal("E003"))

    assert end.summary.reason == "the peer answered with error 12: no"


def test_an_agent_has_no_journal():
    with pytest.raises(TypeError, match="a player records nothing"):
        a_player().apply(LeaguePaused())


def test_secrets_are_not_printed_and_a_league_in_a_network_wants_tokens():
    assert repr(Secrets(b"draw", b"token", "admin")) == "Secrets(…)"
    assert ManagerSettings().takes_tokenless
    assert not ManagerSettings(network="lan").takes_tokenless
    assert ManagerSettings(network="lan", tokenless_referees=True).takes_tokenless


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("Ann (P02)", ["It is called 'Ann (P02)' there: its own name is taken, or unfit."]),
        ("Ann", []),  # It came back.
        (UNSET, []),
    ],
)
def test_an_agent_that_got_another_name_says_so(given, said):
    role = a_player()
    asked(role)

    answered(role, msgspec.structs.replace(ACCEPTED, display_name_effective=given))

    assert list(role.news) == ["Registered as P01 in league_x.", *said]

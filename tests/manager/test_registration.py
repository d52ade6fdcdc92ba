"""Who is let in, and what the others are told."""

import pytest
from msgspec import UNSET

from agentleague.errors import (
    DuplicateName,
    EndpointNotAllowed,
    LateRegistration,
    LeagueFull,
    RegistrationAfterEnd,
    TokenInvalid,
    TokenMissing,
    UnsupportedGame,
    VersionMismatch,
)
from agentleague.league.events import (
    LeagueStarted,
    PlayerRemoved,
    PlayerReturned,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.manager.claims import Claims
from agentleague.manager.reachability import Reachability
from agentleague.manager.registration import Registration
from agentleague.manager.step import Step
from agentleague.manager.tokens import Credentials
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.protocol.tokens import channel_key, digest, league_token, match_token, session
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Asked, Caller
from league.decisions import LEAGUE_ID, TOKEN_SECRET, Decisions, token
from rules import rule

URL = "http://127.0.0.1:9000/mcp"


def local_only(url, source):
    if "169.254." in url:
        raise EndpointNotAllowed(f"{url} lies where this league does not call")


def registration(league, check_endpoint=local_only, limits=None, **settings):
    """The part of a manager that lets agents into this league, and its step."""
    chosen = ManagerSettings(**{"league_id": LEAGUE_ID, **settings})
    step = Step(league, chosen, limits)
    reachability = Reachability(league)
    return step, Registration(
        step,
        credentials=Credentials(league, TOKEN_SECRET),
        reachability=reachability,
        claims=Claims(step, left=lambda referee_id: None),
        check_endpoint=check_endpoint,
    )


def admitting(decisions, settings):
    return registration(decisions.league, **{"players_max": 3, "referees_max": 2, **settings})[1]


def as_player(decisions, name="Ann", url=URL, games=("even_odd",), version=UNSET, **more):
    own = {field: more.get(field, UNSET) for field in ("join_code", "claim")}
    meta = PlayerMeta(name, url, "1.2.3", list(games), version, **own)
    caller = Caller(more.get("source", "10.0.0.9"), more.get("shown"))
    admit = admitting(decisions, more.get("terms", {})).admit_player
    return admit(LeagueRegisterRequest(meta), caller)


def as_referee(decisions, name="Referee", url=URL, games=("even_odd",), version=UNSET, **more):
    terms, caller = more.pop("terms", {}), Caller("10.0.0.9", more.pop("shown", None))
    meta = RefereeMeta(name, url, "1.2.3", list(games), protocol_version=version, **more)
    return admitting(decisions, terms).admit_referee(RefereeRegisterRequest(meta), caller)


ADMIT = [as_player, as_referee]


@rule("R-LEAGUE-18")
def test_a_player_gets_its_id_and_its_token():
    event, answer = as_player(Decisions(1))

    assert (event.player_id, event.display_name, event.endpoint) == ("P02", "Ann", URL)
    assert (event.version, event.token_digest) == ("1.2.3", digest(token("P02")))
    assert (answer.status, answer.player_id, answer.league_id) == ("ACCEPTED", "P02", LEAGUE_ID)
    assert (answer.auth_token, answer.reason) == (token("P02"), None)
    assert answer.display_name_effective is UNSET


@rule("R-LEAGUE-18")
def test_a_referee_gets_a_session_too():
    event, answer = as_referee(Decisions(0, 1), max_concurrent_matches=7, locks=True)

    assert (event.referee_id, event.capacity, event.locks) == ("REF02", 7, True)
    assert event.token_digest == digest(token("REF02"))
    assert (answer.status, answer.referee_id, answer.league_id) == ("ACCEPTED", "REF02", LEAGUE_ID)
    assert answer.auth_token == token("REF02")
    assert answer.session == session(TOKEN_SECRET, LEAGUE_ID, "REF02", 1)
    assert answer.lease_seconds == 10.0


@rule("R-LEAGUE-18")
@pytest.mark.parametrize(("said", "locks"), [(UNSET, False), (False, False), (True, True)])
def test_only_a_referee_that_says_so_locks(said, locks):
    event, _ = as_referee(Decisions(0, 0), locks=said)

    assert event.locks is locks


@rule("R-LEAGUE-15", "R-LEAGUE-16")
@pytest.mark.parametrize(
    ("admit", "wanted", "effective"),
    [
        (as_player, "Agent 1", "Agent 1 (P02)"),
        (as_player, " Ann\n", "Ann"),
        (as_player, "\x00", "P02"),
        (as_referee, " Ref\x1b ", "Ref"),
        (as_referee, "", "REF02"),
    ],
)
def test_an_agent_is_told_when_its_name_is_shown_otherwise(admit, wanted, effective):
    event, answer = admit(Decisions(1, 1), name=wanted)

    assert event.display_name == answer.display_name_effective == effective


@rule("R-LEAGUE-18")
def test_referees_may_share_a_name():
    _, answer = as_referee(Decisions(0, 1), name="Ref01")

    assert answer.display_name_effective is UNSET


@rule("R-LEAGUE-19")
def test_versions_from_2_0_0_are_taken():
    for version in [UNSET, "", "2.0.0", "2.1.0", "2", "2.9", "league.v2"]:
        for admit in ADMIT:
            _, answer = admit(Decisions(0, 0), version=version)

            assert answer.status == "ACCEPTED"


@rule("R-LEAGUE-19")
def test_other_versions_are_refused():
    for version in ["1.9.9", "3.0.0", "league.v1", "20.0.0", "two", "v2", "-2"]:
        for admit in ADMIT:
            with pytest.raises(VersionMismatch, match="this league speaks 2") as refused:
                admit(Decisions(0, 0), version=version)

            assert repr(version) in str(refused.value)
            assert refused.value.context["field"] == "protocol_version"


@rule("R-LEAGUE-20")
@pytest.mark.parametrize("admit", ADMIT)
def test_an_agent_that_does_not_play_the_game_is_refused(admit):
    with pytest.raises(UnsupportedGame, match="this league plays 'even_odd'"):
        admit(Decisions(0, 0), games=("chess", "go"))


@rule("R-LEAGUE-20")
@pytest.mark.parametrize("admit", ADMIT)
@pytest.mark.parametrize("games", [(), ("chess", "even_odd")])
def test_an_agent_that_plays_it_among_others_or_does_not_say_is_taken(admit, games):
    assert admit(Decisions(0, 0), games=games)[1].status == "ACCEPTED"


@rule("R-LEAGUE-20")
@pytest.mark.parametrize("admit", ADMIT)
def test_an_end_point_that_may_not_be_called_is_refused(admit):
    with pytest.raises(EndpointNotAllowed):
        admit(Decisions(0, 0), url="http://169.254.169.254/mcp")


@rule("R-LEAGUE-20")
def test_a_full_league_takes_no_more():
    with pytest.raises(LeagueFull, match="3 players are registered already") as refused:
        as_player(Decisions(3))
    assert refused.value.context == {"max_players": 3, "current_players": 3}

    with pytest.raises(LeagueFull, match="2 referees are registered already") as refused:
        as_referee(Decisions(0, 2))
    assert refused.value.context == {"max_referees": 2, "current_referees": 2}


@rule("R-LEAGUE-20")
def test_players_come_before_the_start_and_referees_until_the_end():
    running = Decisions(2, 1).start()
    with pytest.raises(LateRegistration, match="the league has begun"):
        as_player(running)
    assert as_referee(running)[1].status == "ACCEPTED"

    over = Decisions(2, 1).play_to_the_end()
    for register in (as_player, as_referee):
        with pytest.raises(RegistrationAfterEnd, match="the league is over") as refused:
            register(over)
        assert (refused.value.code, refused.value.number) == ("E031", 4005)


@rule("R-LEAGUE-20")
def test_a_refusal_takes_no_id():
    decisions = Decisions(0)
    with pytest.raises(UnsupportedGame):
        as_player(decisions, games=("chess",))

    assert as_player(decisions)[0].player_id == "P01"


PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"


@rule("R-LEAGUE-20")
@pytest.mark.parametrize(
    ("error", "message_type", "reason", "code", "number"),
    [
        (VersionMismatch, PLAYER, "Protocol version mismatch", "E018", -32602),
        (LateRegistration, PLAYER, "Registration closed - league already started", "E019", 4005),
        (
            RegistrationAfterEnd,
            PLAYER,
            "Registration closed - league already complete",
            "E031",
            4005,
        ),
        (LeagueFull, PLAYER, "Maximum players reached", "E020", 2001),
        (LeagueFull, REFEREE, "Maximum players reached", "E020", 1001),
        (DuplicateName, PLAYER, "Display name already taken", "E041", 2002),
        (UnsupportedGame, PLAYER, "Unsupported game type", "E042", 2004),
        (UnsupportedGame, REFEREE, "Unsupported game type", "E042", 1003),
        (EndpointNotAllowed, PLAYER, "Contact endpoint not allowed", "E043", 2003),
        (EndpointNotAllowed, REFEREE, "Contact endpoint not allowed", "E043", 1002),
    ],
)
def test_a_refused_agent_is_told_why_in_the_words_of_the_documents(
    error, message_type, reason, code, number
):
    def refuse(url, source):
        raise error("because " * 100)

    step, of_manager = registration(Decisions(0, 0).league, refuse)
    if message_type == PLAYER:
        message = LeagueRegisterRequest(PlayerMeta("Ann", URL))
        of_manager.register(Asked(message, Caller("10.0.0.9"), 1))
    else:
        message = RefereeRegisterRequest(RefereeMeta("Owl", URL))
        of_manager.register(Asked(message, Caller("10.0.0.9"), 1))

    (reply,) = step.effects
    answer = reply.answer
    assert (answer.status, answer.reason, answer.hint) == (
        "REJECTED",
        reason,
        ("because " * 100)[:500],
    )
    assert (answer.error_code, answer.code, answer.auth_token) == (code, number, UNSET)


@rule("R-LEAGUE-32")
@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("http://127.0.0.1:8101/mcp", "127.0.0.1"),
        ("http://localhost:8101/mcp", "127.0.0.1"),
        ("http://localhost/mcp", "::1"),
        ("http://[::1]:8101/mcp", "::1"),
        ("http://10.0.0.7:8101/mcp", "10.0.0.7"),
    ],
)
def test_an_agent_that_registers_again_from_its_own_address_keeps_its_id_also_after_the_start(
    url, source
):
    decisions = Decisions(0)
    first, answer = as_player(decisions, url=url, source=source)
    decisions.league.apply(first)
    decisions.league.apply(as_player(decisions, "Bob", "http://10.0.0.8/mcp")[0])
    decisions.league.apply(LeagueStarted(["P01", "P02"]))

    event, again = as_player(decisions, url=url, source=source)
    decisions.league.apply(event)
    third, same = as_player(decisions, url=url, source=source)

    assert (again.status, again.player_id) == ("ACCEPTED", "P01")
    assert again.match_tokens is False  # They are made from the token that was lost.
    assert again.auth_token != answer.auth_token
    owner = decisions.league.roster.owner
    assert owner(answer.auth_token) == owner(again.auth_token) == "P01"
    assert event.generation == 2
    assert (third, same.auth_token) == (None, again.auth_token)  # nobody makes the journal grow
    assert len(decisions.league.roster.players) == 2


@rule("R-LEAGUE-32")
@pytest.mark.parametrize(
    ("name", "url", "source"),
    [
        ("Bob", URL, "127.0.0.1"),  # under another name
        ("Ann", "http://127.0.0.1:9999/mcp", "127.0.0.1"),  # at another end point
    ],
)
def test_anybody_else_is_somebody_else(name, url, source):
    decisions = Decisions(0)
    decisions.league.apply(as_player(decisions)[0])

    event, _ = as_player(decisions, name, url, source=source)

    assert event.player_id == "P02"


@rule("R-LEAGUE-32")
def test_a_player_whose_name_was_changed_is_known_by_the_name_it_asks_for():
    decisions = Decisions(0)
    decisions.league.apply(as_player(decisions, url="http://10.0.0.7/mcp")[0])
    here = {"url": "http://127.0.0.1:8102/mcp", "source": "127.0.0.1"}
    decisions.league.apply(as_player(decisions, **here)[0])

    event, answer = as_player(decisions, **here)

    assert (event.player_id, answer.display_name_effective) == ("P02", "Ann (P02)")


ELSEWHERE = "http://127.0.0.1:9001/mcp"


@rule("R-REG-05")
@pytest.mark.parametrize("running", [False, True])
def test_a_player_that_shows_its_token_keeps_its_id_and_gets_a_fresh_one(running):
    decisions = Decisions(2).start() if running else Decisions(2)

    event, answer = as_player(decisions, "Agent 1", ELSEWHERE, shown=token("P01"))

    fresh = league_token(TOKEN_SECRET, LEAGUE_ID, "P01", 2)
    assert event == TokenRenewed("P01", digest(fresh), 2, ELSEWHERE)
    assert (answer.status, answer.player_id, answer.auth_token) == ("ACCEPTED", "P01", fresh)
    assert (answer.league_id, answer.match_tokens) == (LEAGUE_ID, True)
    assert answer.display_name_effective is UNSET
    decisions.record(event)
    assert decisions.league.roster.players["P01"].endpoint == ELSEWHERE
    assert len(decisions.league.roster.players) == 2


@rule("R-REG-05")
def test_its_name_stays_and_it_is_told():
    _, answer = as_player(Decisions(1), "Another", shown=token("P01"))

    assert answer.display_name_effective == "Agent 1"


@rule("R-REG-05")
def test_a_full_league_takes_those_back_who_were_in_it():
    assert as_player(Decisions(3), shown=token("P02"))[1].player_id == "P02"
    assert as_referee(Decisions(0, 2), shown=token("REF02"))[1].referee_id == "REF02"


@rule("R-REG-05")
def test_the_same_registration_again_gets_the_same_token_while_nobody_used_it():
    decisions = Decisions(1)
    first, answer = as_player(decisions, shown=token("P01"))
    decisions.record(first)

    event, again = as_player(decisions, shown=token("P01"))

    assert event is None
    assert again == answer
    moved, _ = as_player(decisions, url=ELSEWHERE, shown=token("P01"))
    assert (moved.generation, moved.endpoint) == (3, ELSEWHERE)


@rule("R-REG-05")
def test_with_the_token_it_was_given_last_it_gets_another():
    decisions = Decisions(1)
    first, answer = as_player(decisions, shown=token("P01"))
    decisions.record(first, TokenConfirmed("P01", 2))

    event, again = as_player(decisions, shown=answer.auth_token)

    assert event.generation == 3
    assert again.auth_token == league_token(TOKEN_SECRET, LEAGUE_ID, "P01", 3)


@rule("R-REG-05", "R-REG-06")
@pytest.mark.parametrize(("admit", "agent_id"), [(as_player, "P01"), (as_referee, "REF01")])
def test_whoever_was_in_it_comes_back_to_a_league_that_is_over(admit, agent_id):
    event, answer = admit(Decisions(2, 1).play_to_the_end(), shown=token(agent_id))

    assert (event.agent_id, answer.status) == (agent_id, "ACCEPTED")


@rule("R-REG-05", "R-REG-06")
def test_an_agent_that_comes_back_must_still_be_fit_to_play():
    for changes, error in [
        ({"url": "http://169.254.169.254/mcp"}, EndpointNotAllowed),
        ({"games": ("chess",)}, UnsupportedGame),
        ({"version": "1.0.0"}, VersionMismatch),
    ]:
        for admit, agent_id in [(as_player, "P01"), (as_referee, "REF01")]:
            with pytest.raises(error):
                admit(Decisions(1, 1), shown=token(agent_id), **changes)


@rule("R-REG-06")
def test_a_referee_that_shows_its_token_begins_a_session_each_time():
    decisions = Decisions(0, 1)

    event, answer = as_referee(
        decisions, url=ELSEWHERE, max_concurrent_matches=5, locks=True, shown=token("REF01")
    )
    decisions.record(event)
    again, another = as_referee(decisions, url=ELSEWHERE, shown=token("REF01"))

    fresh = league_token(TOKEN_SECRET, LEAGUE_ID, "REF01", 2)
    assert event == TokenRenewed("REF01", digest(fresh), 2, ELSEWHERE, 5)
    assert (answer.status, answer.referee_id, answer.auth_token) == ("ACCEPTED", "REF01", fresh)
    assert answer.session == session(TOKEN_SECRET, LEAGUE_ID, "REF01", 2)
    assert (answer.lease_seconds, answer.display_name_effective) == (10.0, "Ref01")
    assert (again.generation, another.session) == (
        3,
        session(TOKEN_SECRET, LEAGUE_ID, "REF01", 3),
    )


@rule("R-REG-06")
def test_a_lease_is_told_to_a_referee_that_locks_and_is_the_leagues():
    terms = {"lease_seconds": 3.5}

    assert as_referee(Decisions(0, 0), locks=True, terms=terms)[1].lease_seconds == 3.5
    assert as_referee(Decisions(0, 0), terms=terms)[1].lease_seconds is UNSET


@rule("R-LEAGUE-32")
def test_a_removed_player_comes_back_as_itself_also_where_another_was_before_it():
    decisions = Decisions(0)
    for player_id, source in (("P01", "10.0.0.9"), ("P02", "127.0.0.1")):
        event, _ = as_player(decisions, source=source)
        decisions.record(event, PlayerRemoved(player_id))

    _, answer = as_player(decisions, source="127.0.0.1")

    assert answer.player_id == "P02"


@rule("R-REG-07")
def test_any_other_token_counts_as_none_in_a_players_registration():
    for shown in [
        None,
        "",
        "tok_P01_of_another_league",
        token("REF01"),  # a referee's
        match_token(channel_key(token("P01")), "player>ref", LEAGUE_ID, "R1M1", "P01", 1),
        league_token(TOKEN_SECRET, LEAGUE_ID, "P01", 2),  # may only ask
    ]:
        decisions = Decisions(1, 1)
        further = league_token(TOKEN_SECRET, LEAGUE_ID, "P01", 2)
        decisions.record(PlayerReturned("P01", digest(further), 2))

        event, answer = as_player(decisions, shown=shown)

        assert (event.player_id, answer.player_id) == ("P02", "P02")


@rule("R-REG-07")
@pytest.mark.parametrize("shown", [None, token("P01"), token("REF02"), "tok_unknown"])
def test_any_other_token_counts_as_none_in_a_referees_registration(shown):
    event, answer = as_referee(Decisions(1, 1), shown=shown)

    assert (event.referee_id, answer.referee_id) == ("REF02", "REF02")


@rule("R-REG-08")
@pytest.mark.parametrize("admit", ADMIT)
def test_a_league_with_a_join_code_takes_only_those_who_know_it(admit):
    terms = {"join_code": "quokka-7"}

    assert admit(Decisions(0, 0), terms=terms, join_code="quokka-7")[1].status == "ACCEPTED"
    for wrong in ("quokka-8", "quokka-77", "quokka", "q", "7", "\ud800"):
        with pytest.raises(TokenInvalid, match=r"_meta\.join_code is not this league's") as refused:
            admit(Decisions(0, 0), terms=terms, join_code=wrong)
        assert wrong not in str(refused.value) + str(refused.value.context)
    for missing in ("", UNSET):
        with pytest.raises(TokenMissing, match=r"this league has a join_code") as refused:
            admit(Decisions(0, 0), terms=terms, join_code=missing)
        assert refused.value.context["field"].endswith("_meta.join_code")
        assert "quokka" not in str(refused.value)


@rule("R-REG-08")
@pytest.mark.parametrize(("admit", "agent_id"), [(as_player, "P01"), (as_referee, "REF01")])
def test_an_agent_that_shows_its_token_needs_no_join_code(admit, agent_id):
    _, answer = admit(Decisions(1, 1), terms={"join_code": "quokka-7"}, shown=token(agent_id))

    assert answer.status == "ACCEPTED"


@rule("R-REG-08")
def test_a_player_that_lost_its_token_needs_the_join_code():
    decisions, terms = Decisions(0), {"join_code": "quokka-7"}
    known = {"url": URL, "source": "127.0.0.1", "terms": terms}
    decisions.record(as_player(decisions, join_code="quokka-7", **known)[0])

    with pytest.raises(TokenMissing):
        as_player(decisions, **known)
    assert as_player(decisions, join_code="quokka-7", **known)[1].player_id == "P01"


@rule("R-REG-08")
@pytest.mark.parametrize("admit", ADMIT)
def test_a_join_code_where_none_is_wanted_is_ignored(admit):
    assert admit(Decisions(0, 0), join_code="any")[1].status == "ACCEPTED"


@rule("R-REG-09")
@pytest.mark.parametrize("name", ["Agent 1", "AGENT 1", "Agent\u200b 1"])
def test_a_name_that_is_taken_is_refused_where_the_league_wants_it_so(name):
    with pytest.raises(DuplicateName, match="register under another name"):
        as_player(Decisions(1), name, terms={"unique_names": "reject"})


@rule("R-REG-09", "R-ORG-05")
def test_a_player_who_was_removed_keeps_its_name_for_it_stays_in_the_table():
    decisions, reject = Decisions(1), {"unique_names": "reject"}
    decisions.record(PlayerRemoved("P01"))

    with pytest.raises(DuplicateName):
        as_player(decisions, "Agent 1", terms=reject)
    assert as_player(decisions, "Agent 1")[0].display_name == "Agent 1 (P02)"


@rule("R-REG-09")
def test_a_free_name_is_taken_as_it_is_whatever_the_setting():
    for setting in ("suffix", "reject", "off"):
        event, _ = as_player(Decisions(1), " Ann ", terms={"unique_names": setting})
        assert event.display_name == "Ann"


@rule("R-REG-09")
def test_two_players_may_have_one_name_where_the_league_allows_it():
    terms = {"unique_names": "off"}

    event, answer = as_player(Decisions(1), "Agent 1", terms=terms)

    assert (event.player_id, event.display_name) == ("P02", "Agent 1")
    assert answer.display_name_effective is UNSET
    assert as_player(Decisions(1), "\x00", terms=terms)[0].display_name == "P02"


@rule("R-REG-10")
@pytest.mark.parametrize("locks", [UNSET, False])
def test_a_league_may_refuse_referees_that_do_not_lock(locks):
    terms = {"foreign_referees": "refuse"}

    with pytest.raises(VersionMismatch, match=r"referee_meta\.locks true"):
        as_referee(Decisions(0, 0), locks=locks, terms=terms)
    assert as_referee(Decisions(0, 0), locks=True, terms=terms)[0].locks
    assert not as_referee(Decisions(0, 0), locks=locks)[0].locks


@rule("R-LEAGUE-16")
@pytest.mark.parametrize("unique_names", ["suffix", "reject", "off"])
def test_an_agent_that_chose_a_name_that_ends_like_a_given_one_is_not_taken_for_another(
    unique_names,
):
    decisions, terms = Decisions(0), {"unique_names": unique_names}

    def comes(name, claim=UNSET):
        more = {"source": "127.0.0.1", "terms": terms, "claim": claim}
        event, answer = as_player(decisions, name, **more)
        decisions.record(event)
        return answer

    first = comes("Ann (P01-2)")

    assert first.display_name_effective == "Ann (P01-2) (P01)"
    assert comes("Ann", claim="of Ann").player_id == "P02"
    assert comes("Ann (P01-2)").player_id == "P01"

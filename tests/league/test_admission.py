"""Who is let in, and what the others are told."""

import pytest
from msgspec import UNSET

from agentleague.errors import (
    DuplicateName,
    EndpointNotAllowed,
    LateRegistration,
    LeagueFull,
    UnsupportedGame,
    VersionMismatch,
)
from agentleague.league.admission import Terms, admit_player, admit_referee, rejection
from agentleague.league.events import LeagueStarted
from agentleague.protocol.messages import (
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.protocol.tokens import digest, session
from league.office import LEAGUE_ID, TOKEN_SECRET, Office, token
from rules import rule

URL = "http://127.0.0.1:9000/mcp"


def local_only(url):
    if "169.254." in url:
        raise EndpointNotAllowed(f"{url} lies where this league does not call")


TERMS = Terms(TOKEN_SECRET, 3, 2, local_only)


def as_player(office, name="Ann", url=URL, games=("even_odd",), version=UNSET, source="10.0.0.9"):
    meta = PlayerMeta(name, url, "1.2.3", list(games), version)
    return admit_player(office.league, TERMS, LeagueRegisterRequest(meta), source)


def as_referee(office, name="Referee", url=URL, games=("even_odd",), version=UNSET, **more):
    meta = RefereeMeta(name, url, "1.2.3", list(games), protocol_version=version, **more)
    return admit_referee(office.league, TERMS, RefereeRegisterRequest(meta))


ADMIT = [as_player, as_referee]


@rule("R-LEAGUE-18")
def test_a_player_gets_its_id_and_its_token():
    event, answer = as_player(Office(1))

    assert (event.player_id, event.display_name, event.endpoint) == ("P02", "Ann", URL)
    assert (event.version, event.token_digest) == ("1.2.3", digest(token("P02")))
    assert (answer.status, answer.player_id, answer.league_id) == ("ACCEPTED", "P02", LEAGUE_ID)
    assert (answer.auth_token, answer.reason) == (token("P02"), None)
    assert answer.display_name_effective is UNSET


@rule("R-LEAGUE-18")
def test_a_referee_gets_a_session_too():
    event, answer = as_referee(Office(0, 1), max_concurrent_matches=7, locks=True)

    assert (event.referee_id, event.capacity, event.locks) == ("REF02", 7, True)
    assert event.token_digest == digest(token("REF02"))
    assert (answer.status, answer.referee_id, answer.league_id) == ("ACCEPTED", "REF02", LEAGUE_ID)
    assert answer.auth_token == token("REF02")
    assert answer.session == session(TOKEN_SECRET, LEAGUE_ID, "REF02", 1)


@rule("R-LEAGUE-18")
@pytest.mark.parametrize(("said", "locks"), [(UNSET, False), (False, False), (True, True)])
def test_only_a_referee_that_says_so_locks(said, locks):
    event, _ = as_referee(Office(0, 0), locks=said)

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
    event, answer = admit(Office(1, 1), name=wanted)

    assert event.display_name == answer.display_name_effective == effective


@rule("R-LEAGUE-18")
def test_referees_may_share_a_name():
    _, answer = as_referee(Office(0, 1), name="Ref01")

    assert answer.display_name_effective is UNSET


@rule("R-LEAGUE-19")
@pytest.mark.parametrize("admit", ADMIT)
@pytest.mark.parametrize("version", [UNSET, "", "2.0.0", "2.1.0", "2", "2.9", "league.v2"])
def test_versions_from_2_0_0_are_taken(admit, version):
    _, answer = admit(Office(0, 0), version=version)

    assert answer.status == "ACCEPTED"


@rule("R-LEAGUE-19")
@pytest.mark.parametrize("admit", ADMIT)
@pytest.mark.parametrize("version", ["1.9.9", "3.0.0", "league.v1", "20.0.0", "two", "v2", "-2"])
def test_other_versions_are_refused(admit, version):
    with pytest.raises(VersionMismatch, match="this league speaks 2") as refused:
        admit(Office(0, 0), version=version)

    assert repr(version) in str(refused.value)
    assert refused.value.context["field"] == "protocol_version"


@rule("R-LEAGUE-20")
@pytest.mark.parametrize("admit", ADMIT)
def test_who_does_not_play_the_game_is_refused(admit):
    with pytest.raises(UnsupportedGame, match="this league plays 'even_odd'"):
        admit(Office(0, 0), games=("chess", "go"))


@rule("R-LEAGUE-20")
@pytest.mark.parametrize("admit", ADMIT)
@pytest.mark.parametrize("games", [(), ("chess", "even_odd")])
def test_who_plays_it_among_others_or_does_not_say_is_taken(admit, games):
    assert admit(Office(0, 0), games=games)[1].status == "ACCEPTED"


@rule("R-LEAGUE-20")
@pytest.mark.parametrize("admit", ADMIT)
def test_an_end_point_that_may_not_be_called_is_refused(admit):
    with pytest.raises(EndpointNotAllowed):
        admit(Office(0, 0), url="http://169.254.169.254/mcp")


@rule("R-LEAGUE-20")
def test_a_full_league_takes_no_more():
    with pytest.raises(LeagueFull, match="3 players are registered already") as refused:
        as_player(Office(3))
    assert refused.value.context == {"max_players": 3, "current_players": 3}

    with pytest.raises(LeagueFull, match="2 referees are registered already") as refused:
        as_referee(Office(0, 2))
    assert refused.value.context == {"max_referees": 2, "current_referees": 2}


@rule("R-LEAGUE-20")
def test_players_come_before_the_start_and_referees_until_the_end():
    running = Office(2, 1).start()
    with pytest.raises(LateRegistration, match="the league has begun"):
        as_player(running)
    assert as_referee(running)[1].status == "ACCEPTED"

    over = Office(2, 1).play_to_the_end()
    with pytest.raises(LateRegistration, match="the league is over"):
        as_referee(over)


@rule("R-LEAGUE-20")
def test_a_refusal_takes_no_id():
    office = Office(0)
    with pytest.raises(UnsupportedGame):
        as_player(office, games=("chess",))

    assert as_player(office)[0].player_id == "P01"


PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"


@rule("R-LEAGUE-20")
@pytest.mark.parametrize(
    ("error", "message_type", "reason", "code", "number"),
    [
        (VersionMismatch, PLAYER, "Protocol version mismatch", "E018", -32602),
        (LateRegistration, PLAYER, "Registration closed - league already started", "E019", 4005),
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
    fields = rejection(error("because " * 100), message_type)

    assert fields == {
        "status": "REJECTED",
        "reason": reason,
        "hint": ("because " * 100)[:500],
        "error_code": code,
        "code": number,
    }
    answer = LeagueRegisterResponse(**fields)
    assert (answer.player_id, answer.auth_token) == (None, UNSET)


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
def test_who_registers_again_from_its_own_address_keeps_its_id_also_after_the_start(url, source):
    office = Office(0)
    first, answer = as_player(office, url=url, source=source)
    office.league.apply(first)
    office.league.apply(as_player(office, "Bob", "http://10.0.0.8/mcp")[0])
    office.league.apply(LeagueStarted(["P01", "P02"]))

    event, again = as_player(office, url=url, source=source)
    office.league.apply(event)
    third, _ = as_player(office, url=url, source=source)

    assert (again.status, again.player_id) == ("ACCEPTED", "P01")
    assert again.match_tokens is UNSET
    assert again.auth_token != answer.auth_token
    owner = office.league.roster.owner
    assert owner(answer.auth_token) == owner(again.auth_token) == "P01"
    assert (event.generation, third.generation) == (2, 3)
    assert len(office.league.roster.players) == 2


@rule("R-LEAGUE-32")
@pytest.mark.parametrize(
    ("name", "url", "source"),
    [
        ("Ann", URL, "10.0.0.99"),  # from another address
        ("Bob", URL, "127.0.0.1"),  # under another name
        ("Ann", "http://127.0.0.1:9999/mcp", "127.0.0.1"),  # at another end point
    ],
)
def test_anybody_else_is_somebody_else(name, url, source):
    office = Office(0)
    office.league.apply(as_player(office)[0])

    event, _ = as_player(office, name, url, source=source)

    assert event.player_id == "P02"


@rule("R-LEAGUE-32")
def test_a_player_whose_name_was_changed_is_known_by_the_name_it_asks_for():
    office = Office(0)
    office.league.apply(as_player(office, url="http://10.0.0.7/mcp")[0])
    office.league.apply(as_player(office, url="http://127.0.0.1:8102/mcp")[0])

    event, answer = as_player(office, url="http://127.0.0.1:8102/mcp", source="127.0.0.1")

    assert (event.player_id, answer.display_name_effective) == ("P02", "Ann (P02)")

"""Players who come back in the next league of a season keep their id and name."""

import pytest
from msgspec import UNSET

from agentleague.games import even_odd
from agentleague.league.events import LeagueStarted, PlayerJoined, PlayerRegistered
from agentleague.league.season import Season, season_table
from agentleague.protocol.messages import LeagueRegisterRequest, PlayerMeta
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from agentleague.roles.stimuli import Caller
from manager.test_assignments import assert_complete, events_of
from memory_league import MemoryLeague
from records.journals import changed, rows_of


@pytest.fixture(scope="module")
def before():
    """A league of three that is over; all are at an end point of their own."""
    return MemoryLeague(3, 1).fill().play()


def following(before, **settings):
    """The next league of the season."""
    league = MemoryLeague(3, 1, season=Season([before.league]), **settings)
    league.add_referee()
    return league


def difference(before, events):
    """What is wrong with the next league of the season, by its events."""
    rows = rows_of(events, "league_test")
    return verify(rows, lambda name: even_odd, season=Season([before.league])).difference


def tokens(league):
    return {host.role.agent_id: host.role.state.token for host in league.hosts[1:]}


def ask(league, name, url, source="127.0.0.1", **more):
    """The registration of a foreign agent; its event."""
    answers, meta = [], PlayerMeta(name, url, "1.0.0", ["even_odd"], **more)
    league.hosts[0].ask(LeagueRegisterRequest(meta), Caller(source), answers.append)
    league.run_until(lambda: bool(answers))
    return events_of(league, PlayerRegistered)[-1]


@pytest.mark.parametrize("is_killed", [False, True])
def test_players_come_back_with_their_tokens_as_themselves_and_are_seeded_by_rating(
    before, is_killed
):
    league = following(before, seeding="rating")
    shown = tokens(before)
    league.add_player(name="Newcomer")
    for player_id in ("P03", "P01"):
        league.add_player(name="Whatever", remembered=shown[player_id])
        if is_killed:
            league.restart_manager()
    league.play()

    assert_complete(league)
    registered = events_of(league, PlayerRegistered)
    told = [(each.player_id, each.display_name, each.known_by) for each in registered]
    assert told[1:] == [("P03", "Player 3", "token"), ("P01", "Player 1", "token")]
    assert told[0][:2] == ("P04", "Newcomer")
    (started,) = events_of(league, LeagueStarted)
    elo = Season([before.league]).elo
    assert started.elo == {each: elo[each] for each in ("P01", "P03")}
    ranks = [elo.get(each, 1500) for each in started.players]
    assert ranks == sorted(ranks, reverse=True)
    rows = list(league.journal.read("league_test"))
    assert verify(rows, lambda name: even_odd).difference is None


def test_a_foreign_agent_is_the_same_by_name_and_end_point_from_where_it_came_and_is_marked():
    first = MemoryLeague(2, 1)
    first.add_referee()
    ask(first, "Ann", "http://127.0.0.1:81/mcp")
    ask(first, "Bob", "http://10.0.0.7:81/mcp", "10.0.0.7")
    league = following(first)

    elsewhere = ask(league, "Bob", "http://10.0.0.8:81/mcp", "10.0.0.8")
    thief = ask(league, "Bob", "http://10.0.0.7:81/mcp", "10.0.0.9")
    same = ask(league, "Ann", "http://127.0.0.1:81/mcp")

    assert (elsewhere.player_id, elsewhere.display_name) == ("P03", "Bob (P03)")
    assert (thief.player_id, thief.display_name) == ("P04", "Bob (P04)")
    assert (same.player_id, same.display_name, same.known_by) == ("P01", "Ann", "place")
    league.add_player(name="More")
    league.play()
    unproved = {row["player_id"]: row["unproved"] for row in season_table([league.league], "sum")}
    assert unproved["P01"]
    assert not unproved["P03"]


def test_who_made_a_claim_is_known_by_nothing_less():
    first = MemoryLeague(1, 1)
    ask(first, "Ann", "http://127.0.0.1:81/mcp", claim="c" * 64)
    league = following(first)

    other = ask(league, "Ann", "http://127.0.0.1:81/mcp")
    own = ask(league, "Anything", "http://127.0.0.1:82/mcp", claim="c" * 64)

    assert (other.player_id, other.display_name) == ("P02", "Ann (P02)")
    assert (own.player_id, own.display_name, own.known_by) == ("P01", "Ann", "claim")


def test_names_of_the_season_are_refused_to_others_where_names_are(before):
    league = following(before, unique_names="reject")
    registered = len(events_of(league, PlayerRegistered))

    answers, meta = [], PlayerMeta("Player 1", "http://new/mcp", "1.0.0", ["even_odd"])
    league.hosts[0].ask(LeagueRegisterRequest(meta), Caller("new"), answers.append)
    league.run_until(lambda: bool(answers))

    assert "a player is called 'Player 1' already" in answers[0].hint
    assert len(events_of(league, PlayerRegistered)) == registered


def test_who_comes_late_to_a_ladder_brings_its_rating(before):
    options = {"format": "ladder", "format_options": {"rounds": 4}, "late": "play_remaining"}
    league = following(before, **options)
    for number in range(3):
        league.add_player(name=f"New {number}")
    league.run_until(lambda: league.league.round_id == 1)
    strongest = max(Season([before.league]).elo, key=Season([before.league]).elo.get)
    league.add_player(remembered=tokens(before)[strongest])
    league.play()

    entrant = league.league.progress.field[-1]
    assert (entrant.player_id, entrant.elo) == (strongest, Season([before.league]).elo[strongest])
    events = [event_of(row) for row in league.journal.read("league_test")]
    assert difference(before, events) is None
    forged = difference(before, changed(events, PlayerJoined, elo=2400))
    assert forged.sentence.startswith(f"{strongest} joins with 2400, and brings {entrant.elo}")


# What is changed in the journal of the second league, and what is said of it.
@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (
            LeagueStarted,
            {"elo": {"P01": 2400}},
            "the players bring {'P01': 2400}, but by the",
        ),
        (PlayerRegistered, {"known_by": UNSET}, "is of the leagues before, and registers as new"),
        (
            PlayerRegistered,
            {"player_id": "P99"},
            "is not of the leagues before, and registers as kn",
        ),
    ],
)
def test_verify_knows_with_the_leagues_before_who_is_who_and_how_strong(before, kind, fields, said):
    league = following(before)
    for player_id, token in list(tokens(before).items())[:3]:
        if player_id.startswith("P"):
            league.add_player(name="Whatever", remembered=token)
    league.add_player(name="Newcomer")
    league.play()
    events = [event_of(row) for row in league.journal.read("league_test")]

    assert difference(before, events) is None
    assert said in difference(before, changed(events, kind, **fields)).sentence

"""One player that hangs costs the others all its retries once, and then one attempt a match."""

from dataclasses import replace as with_settings
from functools import partial

from msgspec import UNSET
from msgspec.structs import replace

from agentleague.league.queries import state_of
from agentleague.manager import notices
from agentleague.protocol.messages import AwaitedAnswer, ChooseParityCall, LeagueQuery
from agentleague.roles.stimuli import Caller
from agentleague.runtime.managers import check_rules
from memory_league import MemoryLeague
from rules import rule


class Hanging:
    """Runs a strategy that never ends, until it is mended."""

    is_mended = False

    def run(self, turn, done):
        if self.is_mended:
            done("even", None)


def league_with_a_hanging_player(**settings):
    league, hanging = MemoryLeague(4, 2, cycles=2, **settings), Hanging()
    for add in (league.add_referee, league.add_referee, *[league.add_player] * 4):
        add()
    league.hosts[3].role.strategy, league.hosts[3].runner = None, hanging
    return league, hanging


def attempts(league):
    """How often the first player was asked for its move, in each of its matches."""
    asked = [
        message.match_id
        for _, message in league.messages
        if isinstance(message, ChooseParityCall) and message.player_id == "P01"
    ]
    return [asked.count(match_id) for match_id in dict.fromkeys(asked)]


@rule("R-MATCH-19", "R-QUERY-02")
def test_by_default_only_its_first_match_takes_all_retries_with_each_referee_and_after_a_restart():
    league, hanging = league_with_a_hanging_player()

    league.run_until(lambda: league.league.rounds_ended == 1)
    league.kill(league.hosts[1])  # The referee to which this happened.
    league.run_until(lambda: league.league.rounds_ended == 2)
    league.restart_manager()
    league.run_until(lambda: league.league.rounds_ended == 3)
    states = [state_of(league.league, player_id) for player_id in ("P01", "P02")]
    hanging.is_mended = True
    league.run_until(lambda: league.league.rounds_ended == 4)
    states.append(state_of(league.league, "P01"))
    hanging.is_mended = False
    league.play()

    assert attempts(league) == [4, 1, 1, 1, 4, 1]
    assert states == ["SUSPENDED", "ACTIVE", "ACTIVE"]
    referees = [record.referee_id for record in league.league.matches.of_player["P01"]]
    assert referees == ["REF01", *["REF02"] * 5]


@rule("R-MATCH-19")
def test_with_the_patience_of_the_documents_every_match_takes_all_retries():
    league, _ = league_with_a_hanging_player(patience="documents")

    league.play()

    assert attempts(league) == [4] * 6


@rule("R-RESUME-02")
def test_a_league_that_was_begun_before_there_was_patience_goes_on_and_keeps_all_retries():
    league, _ = league_with_a_hanging_player(patience=UNSET)
    rows = list(league.journal.read("league_test"))
    assert b"patience" not in rows[0].body

    league.settings = with_settings(league.settings, patience="learning")
    check_rules(league.settings, iter(rows), "cup")
    league.restart_manager()
    league.play()

    assert attempts(league) == [4] * 6


def waits(league):
    return league.manager.awaited_answers(league.clock.now())


def said_about_waiting(league):
    return [sentence for sentence in league.manager.news if sentence.startswith("Waiting")]


@rule("R-QUERY-10")
def test_everybody_can_ask_who_is_waited_for_and_the_organiser_is_told_once():
    league, _ = league_with_a_hanging_player()
    league.run_until(lambda: attempts(league))
    league.wait(1.0)
    at_once = waits(league)

    league.wait(6.0)
    soon = waits(league)
    league.wait(5.0)
    before_half, asked_then = said_about_waiting(league), waits(league)
    answers = []
    query = LeagueQuery("GET_STATUS")
    league.hosts[0].ask(query, Caller("127.0.0.1"), answers.append)
    league.wait(24.0)
    again = waits(league)
    league.run_until(lambda: league.league.rounds_ended == 1)

    who = "P01 'Player' to choose in R1M1: "
    assert at_once == before_half == []
    still = [f"{who}18 s for attempt 1 of 4, 114 s in all"]  # with three more attempts and delays
    assert soon == [f"{who}23 s for attempt 1 of 4, 119 s in all"]
    assert asked_then == answers[0].data["awaited_answers"] == still
    assert again == [f"{who}26 s for attempt 2 of 4, 90 s in all"]
    assert waits(league) == []
    assert said_about_waiting(league) == [
        f"Waiting for {who}13 s for attempt 1 of 4, 109 s in all."
    ]


@rule("R-MATCH-19")
def test_the_organiser_is_told_why_a_player_that_hangs_is_asked_only_once_from_then_on():
    league, _ = league_with_a_hanging_player()

    league.run_until(lambda: league.league.rounds_ended == 2)

    (told,) = (each for each in league.manager.news if "no answer in time" in each)
    assert told == (
        "P01 Player lost R1M1: no answer in time. Until it answers again it is asked only once. "
        "See it with: league match R1M1 --dir DIR"
    )


def test_the_organiser_is_told_of_each_further_loss_without_a_game_while_they_are_few(monkeypatch):
    monkeypatch.setattr(notices, "LOSSES_TOLD", 2)
    league, _ = league_with_a_hanging_player()

    league.play()

    first, *others = (each for each in league.manager.news if "lost" in each or "losses" in each)
    assert "P01 Player lost R1M1: no answer in time." in first
    assert [each.split(":")[0] for each in others] == [
        "P01 Player lost R2M1 without a game",
        "P01 Player lost R3M1 without a game",
        "Further losses without a game stand in the table",
    ]


def test_a_referee_can_only_wait_for_players_of_its_own_open_matches():
    league, _ = league_with_a_hanging_player()
    league.run_until(lambda: len(league.league.open_matches) > 0)
    named = [
        AwaitedAnswer(match_id, player_id, "GAME_INVITATION", 1.0, 1, 1)
        for match_id in ("R1M1", "R1M2", "R9M9")
        for player_id in ("P01", "P02", "P09")
    ]
    named += [AwaitedAnswer("R1M1", "P01", "GAME_INVITATION", 1.0, *no) for no in ((2, 1), (1, 9))]

    league.manager._assignments.awaited.hear("REF01", named)

    mine = league.league.matches["R1M1"]
    assert mine.referee_id == "REF01"
    assert [words.split()[0] for words in waits(league)] == [
        player_id for player_id in ("P01", "P02") if player_id in mine.players
    ]


@rule("R-QUERY-10")
def test_whatever_a_referee_repeats_the_organiser_is_told_once_and_reads_no_nonsense():
    league, _ = league_with_a_hanging_player()
    league.run_until(lambda: len(league.league.open_matches) > 0)
    hear = partial(league.manager._assignments.awaited.hear, "REF01")
    long = AwaitedAnswer("R1M1", "P01", "GAME_INVITATION", 1.7e308, 2, 4)

    for _ in range(3):
        hear([long] * 60)
        hear([])
    hear([replace(long, attempt=attempt, attempts=2) for attempt in (-5, 0, 3)])
    nonsense = waits(league)
    hear([long] * 60)

    shown = "P01 'Player' to join in R1M1: 5 s for attempt 2 of 4, 26 s in all"
    assert nonsense == []
    assert waits(league) == [shown]
    assert said_about_waiting(league) == [f"Waiting for {shown}."]
    league.play()
    league.manager._assignments.awaited.hear("REF01", [long])
    assert waits(league) == []


def test_a_status_is_only_read_for_the_referee_that_sent_it_and_a_query_for_ten_rows(monkeypatch):
    league = MemoryLeague(24, 2).fill()
    league.run_until(lambda: len(league.league.open_matches) == 12)
    awaited, named = league.manager._assignments.awaited, []

    class Players(dict):
        def __getitem__(self, player_id):
            named.append(player_id)
            return super().__getitem__(player_id)

    monkeypatch.setattr(league.league.roster, "players", Players(league.league.roster.players))
    rows = {"REF01": [], "REF02": []}
    for record in map(league.league.matches.__getitem__, league.league.open_matches):
        for player_id in record.players:
            row = AwaitedAnswer(record.match_id, player_id, "GAME_INVITATION", 5.0, 1, 2)
            rows[record.referee_id].append(row)

    awaited.hear("REF01", rows["REF01"])
    awaited.hear("REF02", [replace(rows["REF02"][0], attempt=2)])
    told = len(named)
    awaited.hear("REF02", rows["REF02"])
    waits(league)

    assert (told, len(named)) == (1, 1 + 10)

"""What `verify` finds in leagues of every format: one lie each, with a valid chain."""

from functools import cache

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.games import even_odd
from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    MatchDecided,
    MatchRuled,
    RoundEnded,
    RoundScheduled,
    StageStarted,
    TimeUp,
)
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from agentleague.storage import chain
from memory_league import BEGAN, MemoryLeague
from records.journals import changed, place, rows_of, twice, without

LEAGUES = {
    "swiss": {"format": "swiss", "format_options": {"rounds": 3}},
    "knockout": {"format": "knockout", "format_options": {"best_of": 1, "third_place": 1}},
    "groups": {"format": "groups", "format_options": {"groups": 2, "advance": 2}},
    "ladder": {"format": "ladder", "format_options": {"rounds": 3}},
    "timed": {"format": "ladder", "format_options": {"rounds": 3, "seconds": 15}},
    "drawn": {"format": "swiss", "seeding": "random"},
}


@cache
def journal(name):
    """The events of a league of five players, who choose even and odd by turns."""
    league = MemoryLeague(players=5, referees=1, **LEAGUES[name])
    league.think_seconds = (lambda: 10.0) if name == "timed" else None
    league.add_referee()
    for number in range(5):
        league.add_player(lambda turn, own=("even", "odd")[number % 2]: own, f"Player {number}")
    return tuple(event_of(row) for row in league.play().journal.read("league_test"))


def difference(events, season=None):
    rows = rows_of(events, "league_test", chain.moment(BEGAN))
    return verify(rows, lambda name: even_odd, season=season).difference


def round_of(events, round_id):
    """Where a round is scheduled."""
    of_rounds = [n for n, event in enumerate(events) if isinstance(event, RoundScheduled)]
    return of_rounds[round_id - 1]


def rescheduled(round_id, change):
    """A lie: a round with other matches and byes."""

    def lie(events):
        place = round_of(events, round_id)
        matches, byes = change(events[place].matches, events[place].byes)
        return [
            *events[:place],
            replace(events[place], matches=matches, byes=byes),
            *events[place + 1 :],
        ]

    return lie


def pairs_crossed(matches, byes):
    one, other, *more = matches
    return [
        replace(one, player_b=other.player_b),
        replace(other, player_b=one.player_b),
        *more,
    ], byes


def seats_swapped(matches, byes):
    one, *more = matches
    return [replace(one, player_a=one.player_b, player_b=one.player_a), *more], byes


def another_rests(matches, byes):
    one, *more = matches
    return [replace(one, player_b=byes[0]), *more], [one.player_b]


def nobody_rests(matches, byes):
    return matches, []


def order_changed(matches, byes):
    one, other, *more = matches
    ids = replace(other, match_id=one.match_id), replace(one, match_id=other.match_id)
    return [*ids, *more], byes


def left_out(round_id):
    """A lie: a round never was."""

    def lie(events):
        first = round_of(events, round_id)
        return [*events[:first], *events[round_of(events, round_id + 1) :]]

    return lie


def one_more(events):
    """A lie: after the last round comes another one."""
    last = events[round_of(events, 0)]
    ids = [replace(each, match_id=f"R{last.round_id + 1}M1") for each in last.matches[:1]]
    end = place(events, LeagueEnded)
    more = replace(last, round_id=last.round_id + 1, matches=ids, byes=[])
    return [*events[:end], more, *events[end:]]


def ended_early(events):
    """A lie: the league is over after its first round."""
    ended = place(events, RoundEnded) + 1
    return [*events[:ended], events[place(events, LeagueEnded)]]


def with_options(**options):
    """A lie: the first stage had other options."""

    def lie(events):
        first, *others = events[0].stages
        changed = replace(first, options={**first.options, **options})
        return [replace(events[0], stages=[changed, *others]), *events[1:]]

    return lie


def with_version(events):
    first, *others = events[0].stages
    return [replace(events[0], stages=[replace(first, version=99), *others]), *events[1:]]


def moved(kind, before):
    """A lie: a row stands earlier, before the last of a kind ahead of it."""

    def lie(events):
        here = place(events, kind)
        there = max(n for n, event in enumerate(events[:here]) if isinstance(event, before))
        return [*events[:there], events[here], *events[there:here], *events[here + 1 :]]

    return lie


def other(kind, **fields):
    return lambda events: changed(list(events), kind, **fields)


def ruled_on(events):
    """A lie: the organiser ruled on the first match, and nobody heeded it."""
    match = events[round_of(events, 1)].matches[0]
    winner = events[place(events, MatchDecided, match.match_id)].result.winner_player_id
    loser = match.player_b if winner in (match.player_a, None) else match.player_a
    ended = place(events, RoundEnded)
    ruling = MatchRuled(match.match_id, "win", loser, "seen on video")
    return [*events[: ended + 1], ruling, *events[ended + 1 :]]


def without_last_round_end(events):
    last = max(n for n, event in enumerate(events) if isinstance(event, RoundEnded))
    return [*events[:last], *events[last + 1 :]]


def stage_reversed(events):
    players = events[place(events, StageStarted)].players
    return changed(list(events), StageStarted, players=players[::-1])


def seeds_reversed(events):
    players = events[place(events, LeagueStarted)].players
    return changed(list(events), LeagueStarted, players=players[::-1])


def a_day_longer(events):
    longer = with_options(seconds=86_400)(events)
    return changed(list(longer), LeagueStarted, ends_at=int(BEGAN) + 86_400)


def twice_in(kind):
    return lambda events: twice(list(events), kind)


def without_in(kind):
    return lambda events: without(list(events), kind)


def added(event):
    """A lie: a row more, after the first round."""
    return lambda events: [*events[: (n := place(events, RoundEnded))], event, *events[n:]]


ALL = [*LEAGUES]
MORE = [each for each in LEAGUES if each != "knockout"]  # have two matches in round 1
PAIRED = ["swiss", "knockout", "ladder"]  # by results
LIES = {
    "pairs crossed": (MORE, rescheduled(1, pairs_crossed), "but the schedule R1M1 between"),
    "seats swapped": (ALL, rescheduled(1, seats_swapped), "but the schedule R1M1 between"),
    "matches in another order": (PAIRED, rescheduled(2, order_changed), "but the schedule R2M1"),
    "a bye for another": (
        ["swiss", "ladder"],
        rescheduled(1, another_rests),
        "but the schedule R1M",
    ),
    "a bye for nobody": (["swiss", "ladder"], rescheduled(1, nobody_rests), "and the byes []"),
    "a round left out": (
        [each for each in ALL if each != "timed"],
        left_out(2),
        "round 3 is scheduled when 1 rounds are over",
    ),
    "a round more": (ALL, one_more, "is scheduled, of"),
    "an early end": (ALL, ended_early, "the league ends after 1"),
    "an end in a round": (ALL, without_last_round_end, "the league ends after"),
    "another version": (ALL, with_version, "version 99, which is not known here"),
    "an option that nobody knows": (ALL, with_options(colour=1), "has no option 'colour'"),
    "an option that cannot be": (ALL, with_options(advance=-1), "must be a whole number"),
    "a ruling that nobody heeds": (PAIRED, ruled_on, "but the schedule R2M1"),
    "another champion": (ALL, other(LeagueEnded, champion="P99"), "its champion is 'P99'"),
    "fewer rounds asked for": (["swiss"], with_options(rounds=2), "round 3 is scheduled, of 2"),
    "more rounds asked for": (["ladder"], with_options(rounds=4), "the league ends after 3"),
    "no match for place 3": (["knockout"], with_options(third_place=0), "has 2 matches"),
    "ties of three games": (["knockout"], with_options(best_of=3), "but the schedule R2M1"),
    "other groups": (["groups"], with_options(groups=1), "but the schedule R1M"),
    "fewer of each group": (
        ["groups"],
        with_options(advance=1),
        "but by the results it is stage 2",
    ),
    "a stage too early": (["groups"], moved(StageStarted, RoundEnded), "before the one before it"),
    "a stage twice": (["groups"], twice_in(StageStarted), "stage 2 begins before"),
    "a stage left out": (["groups"], without_in(StageStarted), "is scheduled, of"),
    "a stage of others": (["groups"], stage_reversed, "but by the results it is stage 2 with"),
    "a stage that ends by the clock": (
        ["groups"],
        other(StageStarted, ends_at=9),
        "stage 2 has a time",
    ),
    "time up where none is": (
        ["ladder"],
        added(TimeUp(1)),
        "the time of stage 1 is up, but it has none",
    ),
    "time up left out": (["timed"], without_in(TimeUp), "the league ends after 2"),
    "time up twice": (["timed"], twice_in(TimeUp), "is up a second time"),
    "time up earlier": (["timed"], moved(TimeUp, RoundScheduled), "round 2 is scheduled, of 1"),
    "time up of another stage": (["timed"], other(TimeUp, stage=2), "the time of stage 2 is up"),
    "an end a day later": (
        ["timed"],
        other(LeagueStarted, ends_at=int(BEGAN) + 86_400),
        "has 15 s",
    ),
    "an end a day before": (
        ["timed"],
        other(LeagueStarted, ends_at=int(BEGAN) - 86_400),
        "has 15 s",
    ),
    "time up a day before": (["timed"], a_day_longer, "is up 86400 s too early"),
    "no time to end at": (["timed"], other(LeagueStarted, ends_at=UNSET), "has no time at which"),
    "another seed": (
        ["drawn"],
        other(LeagueStarted, seed="00" * 32),
        "does not open the commitment",
    ),
    "seeds not sealed": (["drawn"], other(LeagueOpened, seeding_commitment=UNSET), "not sealed"),
    "seeds not drawn": (["drawn"], other(LeagueOpened, seeding=UNSET), "and a draw was sealed"),
    "another order of seeds": (ALL, seeds_reversed, "but by their seeds it is"),
}


@pytest.mark.parametrize("name", LEAGUES)
def test_a_league_of_each_format_is_true_and_so_is_every_beginning(name):
    events = journal(name)

    assert difference(events) is None
    for end in range(0, len(events), 7):
        assert difference(events[:end]) is None


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_rounds_and_stages_is_found_and_named(lie):
    leagues, change, sentence = LIES[lie]

    for name in leagues:
        events = journal(name)
        assert sentence in difference(change(events)).sentence, name

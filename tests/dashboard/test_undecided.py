"""No page tells anything of an undecided match: a journal cut at every row, seen on every page."""

from itertools import product
from random import Random
from string import Formatter
from types import SimpleNamespace

import msgspec
import pytest
from msgspec import Raw

from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES
from agentleague.games.game import Outcome
from agentleague.league.events import (
    Disputed,
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    MatchLocked,
    MatchRuled,
    RoundEnded,
)
from agentleague.league.league import League
from agentleague.protocol.messages import Exchange
from agentleague.runtime.host import JournalArchive
from agentleague.simulation.modes import MODES, attempt
from dashboard.views import page_of, view_of
from league.decisions import LEAGUE_ID, Decisions

SECRETS = 10**8, 2 * 10**9  # between which each move and each number is known when it is seen


def guessing():
    """Both guess a large number, twice; each time one is drawn."""
    seats = ("A", "B")
    return SimpleNamespace(
        name="guessing",
        seats=seats,
        start=lambda options: (),
        to_move=lambda state: seats if len(state) < 2 else (),
        view=lambda state, seat: list(state),
        legal_moves=lambda state, seat: None,
        check=lambda state, seat, move: None,
        chance=lambda state: SECRETS,
        play=lambda state, moves, number: (*state, number),
        outcome=lambda state: (
            Outcome("A", f"{state}", {"drawn_number": state[-1]}) if len(state) == 2 else None
        ),
    )


def journal():
    """A league in which each match has two locks, and one of them everything that may happen."""
    league, chance = Decisions(4, referees=2, game=guessing()), Random(1)
    league.start()
    while True:
        for match_id in sorted(league.league.open_matches):
            play(league, match_id, chance)
        league.record(RoundEnded(league.league.round_id))
        if league.league.round_id == 2:
            return league.events
        league.schedule(2)


def play(league, match_id, chance):
    record = league.league.matches[match_id]
    moves = [(turn, each, chance.randint(*SECRETS)) for turn in (0, 1) for each in record.players]
    at = {"match_id": match_id, "referee": record.referee_id}
    league.lock(moves[:2], **at)
    if match_id == "R1M1":
        league.record(Disputed(match_id, "REF02", "not its referee"))
        league.record(MatchAssigned(match_id, 2, "REF02", "REF01 was silent"))
        at["referee"] = "REF02"
    league.lock(moves, index=1, epoch=record.epoch, **at)
    rows = [Exchange(5, each, "GAME_MOVE_CALL", 1, "ok", move, 2) for _, each, move in moves]
    league.record(MatchClosed(match_id, record.epoch, Raw(msgspec.json.encode(rows))))
    if match_id == "R1M1":
        league.record(MatchRuled(match_id, "draw", None, "a lesson"))


def secrets_of(events):
    """Everything of each match that nobody may see before its result."""
    found = {}
    for event in events:
        if isinstance(event, MatchLocked | MatchDecided):
            secrets = found.setdefault(event.match_id, set())
            secrets.update(str(move) for _, _, move in event.moves)
            is_lock = isinstance(event, MatchLocked)
            secrets.add(str(event.value) if is_lock else str(event.result.drawn_number))
            secrets.update(() if is_lock else {event.seed})
    return found


def every_page(view):
    """Each page that there is, with what stands in its address."""
    roster, league = view.league.roster, view.league
    rounds = filter(None, map(league.planned_round, range(1, league.known_rounds + 1)))
    known = {
        "match_id": [match_id for each in rounds for match_id, _ in each.matches],
        "player_id": [*roster.players],
        "referee_id": [*roster.referees, *roster.waiting],
        "stage": [str(n) for n, _ in enumerate(league.stages, start=1)],
    }
    for page in PAGES.values():
        names = [name for _, name, _, _ in Formatter().parse(page.path) if name]
        for values in product(*(known[name] for name in names)):
            yield page, dict(zip(names, values, strict=True))


def shown(view):
    """The facts of every page that there is, as one text."""
    facts = (page.facts(view, params) for page, params in every_page(view))
    return "\n".join(msgspec.json.encode(each).decode() for each in facts)


def test_no_move_number_or_seed_of_an_undecided_match_is_on_any_page():
    events = journal()
    secrets = secrets_of(events)
    reader = view_of(events).reader
    view, seen = LeagueView(reader, LEAGUE_ID, guessing()), 0

    for row in reader.read(LEAGUE_ID):
        view.take(row)
        text = shown(view)
        for match_id, hidden in secrets.items():
            record = view.league.matches.get(match_id)
            told = {secret for secret in hidden if secret in text}
            if record and record.decided:
                assert told, match_id  # The test would see them.
                seen += 1
            else:
                assert not told, (row.seq, match_id)
                if record:
                    html = page_of(view, "match", match_id=match_id)
                    assert not any(secret in html for secret in hidden)

    assert seen > len(secrets)


@pytest.mark.parametrize(("mode", "seed"), [("hostile", 7), ("liveness", 5)])
def test_every_page_of_a_troubled_league_can_be_made_at_every_row(mode, seed):
    simulated, _ = attempt(MODES[mode](seed))
    reader = view_of(simulated.observer.events).reader
    view = LeagueView(reader, LEAGUE_ID)
    view.league = League(JournalArchive(reader, LEAGUE_ID, at_hand=0))  # It forgets all it can.

    for row in reader.read(LEAGUE_ID):
        view.take(row)
        shown(view)

    assert view.league.decided_total
    for page, params in every_page(view):
        assert "</html>" in page_of(view, page.name, **params)
        if page.name == "match":
            ended = page.facts(view, params)["ended"]
            assert (ended is not None) == (params["match_id"] in view.ended)
            assert not (ended and ended["proof"]["problems"])

"""No page tells anything of an undecided match: a journal cut at every row, seen on every page."""

from itertools import product
from random import Random
from string import Formatter
from types import SimpleNamespace

import msgspec
from msgspec import Raw

from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES
from agentleague.errors import LeagueError
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
from agentleague.protocol.messages import Exchange
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


def shown(view):
    """The facts of every page that there is, as one text."""
    roster, league = view.league.roster, view.league
    known = {
        "match_id": [each for each in ("R1M1", "R1M2", "R2M1", "R2M2") if league.has_started],
        "player_id": [*roster.players],
        "referee_id": [*roster.referees],
    }
    texts = []
    for page in PAGES.values():
        names = [name for _, name, _, _ in Formatter().parse(page.path) if name]
        for values in product(*(known[name] for name in names)):
            params = dict(zip(names, values, strict=True))
            try:
                texts.append(msgspec.json.encode(page.facts(view, params)).decode())
            except LeagueError:
                assert not league.has_started
    return "\n".join(texts)


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

"""The journal of a league that is over cannot be changed so that `verify` agrees."""

from random import Random

from agentleague.records.verify import verify
from agentleague.simulation.modes import MODES, attempt
from agentleague.simulation.tampering import CHANGES, forge

# With byes, with matches that changed hands, with stages of which one ends by the clock.
SEEDS = (("chaos", 12), ("chaos", 170), ("formats", 41))
TRIES = 150


def test_every_change_is_made_and_none_is_overlooked():
    made = set()
    for mode, seed in SEEDS:
        league, violation = attempt(MODES[mode](seed))
        assert violation == ""
        rows, events = league.observer.rows, league.observer.events
        for number in range(TRIES):
            forgery = forge(rows, events, Random(f"{seed}|{number}"))
            if forgery:
                found = verify(forgery.rows, league.load_game).difference
                assert found, f"seed {seed}, row {forgery.seq}: {forgery.what}"
                made.add(forgery.what)

    assert made == {f"{kind.__name__} {what}" for kind, what in CHANGES}


def test_what_is_forged_is_chained_as_a_journal_is():
    league, _ = attempt(MODES["chaos"](12))
    forgery = forge(league.observer.rows, league.observer.events, Random("1"))

    assert [row.seq for row in forgery.rows] == list(range(1, len(forgery.rows) + 1))
    assert "not what was written" not in verify(forgery.rows, league.load_game).difference.sentence

"""The page of a match: the verdict, what was said, what was unusual, and the proof of its draw."""

import hmac
from hashlib import sha256
from types import SimpleNamespace

import msgspec
import pytest
from msgspec import Raw

from agentleague.dashboard import paging
from agentleague.dashboard.pages import PAGES
from agentleague.dashboard.person import Table
from agentleague.errors import MatchMismatch, WrongType
from agentleague.games import even_odd, tic_tac_toe
from agentleague.league.events import Disputed, MatchAssigned, MatchClosed, MatchRuled
from agentleague.protocol.messages import Exchange
from dashboard.views import page_of, view_of
from league.decisions import Decisions
from records.journals import one_match, otherwise

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]
INVITED = [(0, each, "GAME_INVITATION", 1, "ok", None, 3) for each in ("P01", "P02")]
TIMEOUT = "failed to respond within timeout"
SILENT = [
    *INVITED,
    (5, "P01", "CHOOSE_PARITY_CALL", 1, "ok", "even", 2),
    (5, "P02", "CHOOSE_PARITY_CALL", 1, "E001", None, None),
    (32_005, "P02", "CHOOSE_PARITY_CALL", 2, "late", "odd", 31_000),
]


def facts(events, match_id="R1M1", **live):
    view = view_of(events, **live)
    view.game = even_odd
    return PAGES["match"].facts(view, {"match_id": match_id})


def cross_wins():
    """A match of tic-tac-toe that X wins in five turns."""
    cells = [(turn, ("P01", "P02")[turn % 2], cell) for turn, cell in enumerate((0, 3, 1, 4, 2))]
    view = view_of(one_match(cells, game=tic_tac_toe).events)
    view.game = tic_tac_toe
    return view


def test_a_match_that_is_won_has_a_score_a_verdict_and_advice():
    found = facts(one_match(BOTH, transcript=INVITED).events)

    assert [each["name"] for each in found["players"]] == ["Agent 1", "Agent 2"]
    assert found["ended"]["score"] == ["0", "1"]
    assert found["ended"]["outcomes"] == ["lost", "won"]
    assert found["ended"]["sentence"] == "Agent 2 won: Agent 2 chose odd, number was 9 (odd)"
    assert found["ended"]["advice"] == [
        "Agent 1 could change nothing: both parities are equally likely."
    ]


def test_each_exchange_says_what_was_asked_in_words_and_what_came_of_it():
    joined, _, chose, silent, late = facts(one_match(BOTH, transcript=SILENT).events)["ended"][
        "conversation"
    ]

    assert (joined["asked"], joined["message"]) == ("invited to the match", "GAME_INVITATION")
    assert (joined["answer"], joined["after_ms"]) == ("joins", 3)
    assert (chose["asked"], chose["answer"]) == ("asked for even or odd", '"even"')
    assert silent["is_failure"]
    assert (silent["verdict"], silent["came"]) == ("E001", "no answer in time")
    assert silent["change"].startswith("answer before the `deadline` of the call")
    assert silent["after_ms"] is None
    assert (late["attempt"], late["is_failure"]) == (2, False)
    assert late["came"] == "it counts until the phase ends"


def test_a_technical_loss_says_what_the_loser_should_change():
    match = one_match([], [("P02", TIMEOUT)], [*INVITED, SILENT[3]])

    ended = facts(match.events)["ended"]

    assert (ended["status"], ended["score"]) == ("TECHNICAL_LOSS", ["1", "0"])
    assert ended["outcomes"] == ["won", "forfeited"]
    assert ended["sentence"].startswith("Agent 2 lost without a game")
    assert "Agent 2 should answer before the `deadline`" in ended["advice"][0]


def test_what_to_change_is_said_once_for_all_attempts_that_failed_alike():
    rows = [(n, "P02", "GAME_INVITATION", n, "E001", None, None) for n in (1, 2, 3)]

    told = facts(one_match([], [("P02", TIMEOUT)], rows).events)["ended"]["conversation"]

    assert [bool(row["change"]) for row in told] == [False, False, True]
    assert all(row["is_failure"] for row in told)


def test_nothing_but_who_plays_and_who_is_waited_for_is_told_of_an_undecided_match():
    waits = "P02 'Agent 2' to choose in R1M1: 20 s for attempt 1 of 4, 80 s in all"
    others = "P03 'in R1M1: at most' to choose in R1M2: 9 s for attempt 1 of 4, 9 s in all"
    reports = [
        f"{each}: it waits for REF01, 9 s still; then no contest" for each in ("R1M1", "R1M12")
    ]
    events = Decisions(4).start().events

    assert facts(events, awaited_answers=[waits, others], awaited_reports=reports) == {
        "match_id": "R1M1",
        "round_id": 1,
        "game": "even_odd",
        "players": [{"id": "P01", "name": "Agent 1"}, {"id": "P02", "name": "Agent 2"}],
        "referee": {"id": "REF01", "name": "Ref01"},
        "previous": None,
        "next": "R1M2",
        "since": "2025-11-15T10:00:00.000Z",
        "state": "It is being played, and there is no result yet.",
        "awaited": [f"Waiting for {waits}.", "It waits for REF01, 9 s still; then no contest."],
        "ended": None,
    }


def test_a_match_of_a_later_round_has_no_referee_yet():
    found = facts(Decisions(4).start().events, "r2m1")

    assert found["state"] == "It has not begun: round 2 comes later."
    assert (found["referee"], found["since"], found["ended"]) == (None, None, None)


def test_after_a_ruling_its_word_is_the_score():
    league = one_match(BOTH)
    league.record(MatchRuled("R1M1", "win", "P01", "P02 read the seed"))

    ended = facts(league.events)["ended"]

    assert (ended["score"], ended["overruled"]) == (["1", "0"], True)
    assert ended["advice"] == ended["rules"] == []  # Neither counts any more.
    assert ended["ruling"]["words"] == "the organiser ruled: Agent 1 won (Agent 2 read the seed)"
    assert "Agent 2 won" in ended["sentence"]
    assert "The organiser ruled: Agent 1 won (Agent 2 read the seed)" in page_of(
        view_of(league.events), "match", match_id="R1M1"
    )


def test_a_dispute_says_who_said_what_and_what_the_organiser_types():
    league = Decisions(referees=2).start()
    league.record(MatchAssigned("R1M1", 2, "REF02", "REF01 was silent for 15 s"))
    league.lock(BOTH, referee="REF02", epoch=2)
    league.record(Disputed("R1M1", "REF01", "not its referee"))

    ended = facts(league.events)["ended"]

    assert ended["given_again"] == [
        {"referee": {"id": "REF02", "name": "Ref02"}, "why": "REF01 was silent for 15 s"}
    ]
    assert ended["disputes"] == [
        "REF01 spoke for it and is not its referee; that was refused",
    ]
    assert ended["commands"] == [
        "league rule R1M1 --let-stand --dir DIR",
        'league rule R1M1 --winner P01 --reason "..." --dir DIR',
        'league rule R1M1 --winner P02 --reason "..." --dir DIR',
        'league rule R1M1 --no-contest --reason "..." --dir DIR',
    ]


def test_the_proof_of_a_draw_is_checked_and_a_lie_is_named():
    events = one_match(BOTH).events

    assert facts(events)["ended"]["proof"]["problems"] == []
    assert facts(otherwise(events, "R1M1", drawn_number=4))["ended"]["proof"]["problems"] == [
        "the number drawn is 4 in the journal, but 9 follows from seed and moves"
    ]


def test_the_number_follows_from_what_the_proof_names():
    proof = facts(one_match(BOTH).events)["ended"]["proof"]

    (drawn,) = proof["draws"]
    signed = hmac.new(bytes.fromhex(proof["seed"]), drawn["text"].encode(), "sha256").digest()
    low, high = drawn["bounds"]
    assert low + int.from_bytes(signed, "big") % (high - low + 1) == drawn["number"] == 9
    assert sha256(proof["sealed"].encode()).hexdigest() == proof["commitment"]


def test_a_match_is_stepped_through_by_the_turn_in_the_address():
    view = cross_wins()

    def step(**params):
        return PAGES["match"].facts(view, {"match_id": "R1M1", **params})["ended"]

    assert step()["turn"] == 5
    assert step(turn="2")["turn"] == 2
    assert step(turn="2")["steps"][2]["moves"] == [
        {"player": {"id": "P02", "name": "Agent 2"}, "move": "3"}
    ]
    assert len({step(turn=str(turn))["picture"]["text"] for turn in range(6)}) == 6
    html = page_of(view, "match", match_id="R1M1", turn="2")
    assert "<title>R1M1: Agent 1 1\N{EN DASH}0 Agent 2" in html
    assert 'class="board"' in html
    for turn in (0, 1, 3, 5):
        assert f'href="/match/R1M1?turn={turn}#board"' in html
    for wrong in ("6", "-1", "x", "٣"):
        with pytest.raises(WrongType, match="turn must be a number from 0 to 5"):
            step(turn=wrong)


def test_without_its_game_a_match_has_its_moves_and_says_why_there_is_no_board():
    view = cross_wins()
    view.game = None

    ended = PAGES["match"].facts(view, {"match_id": "R1M1"})["ended"]

    assert ended["picture"] is None
    assert [step["moves"][0]["move"] for step in ended["steps"][1:]] == ["0", "3", "1", "4", "2"]
    html = page_of(view, "match", match_id="R1M1")
    assert "the game tic_tac_toe is not installed here" in html
    assert "<code>--game FILE.py</code>" in html
    assert "turn=2" not in html


def test_a_match_that_is_not_there_is_an_error_that_says_which_are():
    with pytest.raises(MatchMismatch, match="there are R1M1 to R1M1"):
        facts(one_match(BOTH).events, "R9M9")


def test_names_and_moves_are_text_on_the_page():
    nasty = "<img src=x onerror=alert(1)>"
    league = Decisions(name=lambda number: f"{nasty}{number}").start()
    league.lock(BOTH)
    row = Exchange(5, "P01", nasty, 1, nasty, nasty, 2, f"as {nasty}")
    league.record(MatchClosed("R1M1", 1, Raw(msgspec.json.encode([row]))))
    league.record(MatchRuled("R1M1", "win", "P01", nasty))
    view = view_of(league.events)

    for name in ("match", "player", "disputes"):
        html = page_of(view, name, match_id="R1M1", player_id="P02")
        assert nasty not in html
        assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_the_title_of_a_page_names_whom_it_is_about():
    view = view_of(one_match(BOTH).events)

    titles = {
        name: page_of(view, name, stage="1", match_id="R1M1", player_id="P02", referee_id="REF01")
        .partition("<title>")[2]
        .partition(" · league_")[0]
        for name in PAGES
    }

    assert titles["match"] == "R1M1: Agent 1 0\N{EN DASH}1 Agent 2"
    assert titles["player"] == "Agent 2"
    assert titles["referee"] == view.name_of("REF01") != "REF01"
    assert titles["cross_table"] == "Cross-table"


def test_ids_become_names_as_whole_words_and_once(monkeypatch):
    view = view_of(one_match(BOTH).events)
    names = {"P01": "Tia", "P02": "Bo (P02)"}  # The latter: others are called so, too.
    monkeypatch.setattr(view, "name_of", names.get)

    told = paging.with_names(view, "Tia (P01) won: P01 beat Bo (P02), not P011 or P02x; P02", names)

    assert told == "Tia won: Tia beat Bo (P02), not P011 or P02x; Bo (P02)"


@pytest.mark.parametrize("names", [{1: "P02", 2: "Bo"}, {1: "Bo", 2: "P01"}])
def test_a_name_that_is_the_id_of_another_muddles_no_sentence(names):
    league = Decisions(2, name=names.get).start()
    league.play("R1M1", forfeits=["P01"])
    view = view_of(league.events)
    reason = f"{names[1]} (P01) lost: P01 was late, P02 was not"

    told = paging.with_names(view, reason, ("P01", "P02"))
    happened = PAGES["overview"].facts(view, {})["happenings"][0]["why"]
    (last,) = Table(SimpleNamespace(view=view))._results("P01")

    assert told == f"{names[1]} lost: {names[1]} was late, {names[2]} was not"
    assert happened.startswith(f"{names[1]} ")
    assert last["sentence"].startswith(f"{names[1]} ")

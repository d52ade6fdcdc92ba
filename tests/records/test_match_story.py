"""Matches in words: six that ended in each of the ways there are, and what else may be known."""

import re
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from agentleague.errors import LeagueError, MatchMismatch
from agentleague.games import rock_paper_scissors, tic_tac_toe
from agentleague.league.events import Disputed, MatchAssigned, MatchClosed, MatchRuled
from agentleague.protocol.messages import Exchange
from agentleague.records import player_story
from agentleague.records.explanations import advice, explained
from agentleague.records.match_story import facts_of, in_words, named, read_answer
from agentleague.records.player_story import player_match
from games.throwaway import THROWAWAY
from league.decisions import Decisions
from records.journals import one_match
from rules import rule

BOTH = [(0, "P01", "even"), (0, "P02", "odd")]
INVITED = [
    (0, "P01", "GAME_INVITATION", 1, "ok", None, 3),
    (0, "P02", "GAME_INVITATION", 1, "ok", None, 4),
]
DECLINED = (0, "P02", "GAME_INVITATION", 1, "declined", None, 7)
TIMEOUT = "failed to respond within timeout"
PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def words(decisions, match_id="R1M1", *, in_full=False):
    return in_words(facts_of(decisions.league, match_id, decisions.events), in_full=in_full)


def asked(player_id, move, verdict="ok", attempt=1, at=5, after=2):
    return (at, player_id, "CHOOSE_PARITY_CALL", attempt, verdict, move, after)


# The six.


def test_a_win():
    moves = [asked("P01", "even"), asked("P02", "odd", after=9)]

    assert words(one_match(BOTH, transcript=[*INVITED, *moves])) == [
        "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02).",
        "Referee: Ref01 (REF01).",
        "    0.000 s  Agent 1 (P01)  GAME_INVITATION: ok after 3 ms",
        "    0.000 s  Agent 2 (P02)  GAME_INVITATION: ok after 4 ms",
        '    0.005 s  Agent 1 (P01)  CHOOSE_PARITY_CALL: "even", ok after 2 ms',
        '    0.005 s  Agent 2 (P02)  CHOOSE_PARITY_CALL: "odd", ok after 9 ms',
        "The number 9 (odd) was drawn from the sealed seed and these moves.",
        "Agent 2 (P02) won: P02 chose odd, number was 9 (odd). Agent 1 (P01) could "
        "change nothing: both parities are equally likely.",
    ]


def test_a_draw():
    same = [(0, "P01", "odd"), (0, "P02", "odd")]
    moves = [asked("P01", "odd"), asked("P02", "odd", "late", after=31_000)]

    assert words(one_match(same, transcript=moves)) == [
        "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02).",
        "Referee: Ref01 (REF01).",
        '    0.005 s  Agent 1 (P01)  CHOOSE_PARITY_CALL: "odd", ok after 2 ms',
        '    0.005 s  Agent 2 (P02)  CHOOSE_PARITY_CALL: "odd", late (it counts until the phase '
        "ends) after 31000 ms",
        "The number 1 (odd) was drawn from the sealed seed and these moves.",
        "A draw: Both chose odd, number was 1 (odd) - both correct.",
    ]


def test_a_timeout():
    moves = [
        asked("P01", "even"),
        asked("P02", None, "E001", after=None),
        asked("P02", None, "E001", attempt=2, at=32_005, after=None),
    ]

    assert words(one_match(BOTH[:1], [("P02", TIMEOUT)], moves)) == [
        "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02).",
        "Referee: Ref01 (REF01).",
        '    0.005 s  Agent 1 (P01)  CHOOSE_PARITY_CALL: "even", ok after 2 ms',
        "    0.005 s  Agent 2 (P02)  CHOOSE_PARITY_CALL: E001 (no answer in time)",
        "   32.005 s  Agent 2 (P02)  CHOOSE_PARITY_CALL, attempt 2: E001 (no answer in time)",
        "Agent 2 (P02) lost without a game (technical loss): P02 failed to respond within timeout "
        "- P01 wins by default. Agent 2 (P02) should answer before the `deadline` of the call; a "
        "slow model needs a time limit of its own.",
    ]


def test_an_invitation_that_was_never_answered():
    row = (0, "P02", "GAME_INVITATION", 1, "E001", None, None, "came no answer in time")

    *_, row, last = words(one_match([], [("P02", TIMEOUT)], [row]))

    assert row.endswith("GAME_INVITATION: E001 (no answer in time)")  # It is said once.
    assert "P02) should answer an invitation within `join_seconds`, which are 5 unless" in last
    assert "deadline" not in last


@rule("R-MATCH-32")
def test_an_answer_that_a_strict_league_refused():
    strict = "this league has missing_fields=refuse, and "
    for verdict, setting, why in (
        ("E003", strict, "the answer lacks sender, auth_token"),
        ("E011", strict, "the answer lacks auth_token"),
        ("E021", "", "timestamp '12:00' is not UTC"),
    ):
        row = (*asked("P01", None, verdict), f"came {setting}{why}")
        decisions = one_match([], [("P01", "gave no usable answer")], [row])

        *_, line, last = words(decisions)

        assert f"{verdict} (an answer that was refused: {why}) after 2 ms" in line
        assert "should send every field as docs/reference/messages.md has it" in last
        assert last.endswith(f"`auth_token` of the call: {setting}{why}.")
        (failure,) = player_match(facts_of(decisions.league, "R1M1"), "P01").failures
        assert failure.change.endswith(why)


def test_an_illegal_move():
    note = "came Choice must be 'even' or 'odd', got 'EVEN?'"
    moves = [asked("P01", "even"), (*asked("P02", "EVEN\x1b[2J", "E004"), note)]

    assert words(one_match(BOTH[:1], [("P02", "made an illegal move")], moves)) == [
        "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02).",
        "Referee: Ref01 (REF01).",
        '    0.005 s  Agent 1 (P01)  CHOOSE_PARITY_CALL: "even", ok after 2 ms',
        '    0.005 s  Agent 2 (P02)  CHOOSE_PARITY_CALL: "EVEN\\u001b[2J", E004 (an illegal move: '
        "Choice must be 'even' or 'odd', got 'EVEN?') after 2 ms",
        "Agent 2 (P02) lost without a game (technical loss): P02 made an illegal move - P01 wins "
        "by default. Agent 2 (P02) should send a legal move, exactly as it is named: Choice must "
        "be 'even' or 'odd', got 'EVEN?'.",
    ]


def test_an_invitation_that_was_declined():
    transcript = [INVITED[0], DECLINED]

    assert words(one_match([], [("P02", "declined the invitation")], transcript)) == [
        "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02).",
        "Referee: Ref01 (REF01).",
        "    0.000 s  Agent 1 (P01)  GAME_INVITATION: ok after 3 ms",
        "    0.000 s  Agent 2 (P02)  GAME_INVITATION: declined (a refusal to play) after 7 ms",
        "Agent 2 (P02) lost without a game (technical loss): P02 declined the invitation - P01 "
        "wins by default. Agent 2 (P02) should answer GAME_INVITATION with `accept: true`.",
    ]


def test_both_failed():
    moves = [(0, "P01", "GAME_INVITATION", 1, "E009", None, None), DECLINED]
    causes = [("P01", "could not be reached"), ("P02", "declined the invitation")]

    assert words(one_match([], causes, moves)) == [
        "R1M1 of round 1, even_odd: Agent 1 (P01) against Agent 2 (P02).",
        "Referee: Ref01 (REF01).",
        "    0.000 s  Agent 1 (P01)  GAME_INVITATION: E009 (no usable answer)",
        "    0.000 s  Agent 2 (P02)  GAME_INVITATION: declined (a refusal to play) after 7 ms",
        "Agent 1 (P01) and Agent 2 (P02) lost without a game (technical loss): P01 could not "
        "be reached, P02 declined the invitation - nobody wins. Agent 1 (P01) should be "
        "running first (start it in a terminal of its own), be reachable at the end point that it "
        "registered (where nobody can call it, it plays from a seat: league player --outbound), "
        "and answer every POST with HTTP 200 and JSON. Agent 2 (P02) should answer "
        "GAME_INVITATION with `accept: true`.",
    ]


# What else may be known.


def test_a_match_that_has_not_begun_says_so():
    assert words(Decisions(4).start(), "R3M2") == [
        "R3M2 of round 3, even_odd: Agent 2 (P02) against Agent 3 (P03).",
        "It has not begun: its round comes later.",
    ]


def test_a_match_that_is_being_played_says_so():
    assert words(Decisions(2).start())[-1] == (
        "It is being played: REF01 has it, and there is no result yet."
    )


def test_a_match_that_waits_for_another_referee_is_not_said_to_be_played():
    league = Decisions(2).start().league
    waits = "it waits for another referee than REF01, 9 s still; then it is no contest"

    said = list(in_words({**facts_of(league, "R1M1"), "awaited": waits}))

    assert said[-1] == f"There is no result yet. I{waits[1:]}."


def test_before_the_start_there_are_no_matches():
    with pytest.raises(MatchMismatch, match="the league has not begun: there are no matches yet"):
        facts_of(Decisions(2).league, "R1M1")


def test_an_unknown_match_is_answered_with_those_there_are():
    for wanted, sentence in [
        ("R1M3", "there is no match 'R1M3' in this league; did you mean R1M2? There are R1M1 to"),
        ("final", "there is no match 'final' in this league; there are R1M1 to R3M2"),
        ("\x1b[2J", "there is no match '?[2J' in this league"),
    ]:
        with pytest.raises(MatchMismatch) as caught:
            facts_of(Decisions(4).start().league, wanted)

        assert str(caught.value).startswith(sentence)


def test_a_match_given_out_again_tells_to_whom_and_why():
    decisions = Decisions(2, referees=3).start()
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "REF01 fell silent"))
    decisions.record(MatchAssigned("R1M1", 3, "REF03", "unreachable"))

    assert words(decisions)[1:4] == [
        "Referee: Ref03 (REF03); REF01 had it first.",
        "Given to REF02 because REF01 fell silent (epoch 2).",
        "Given to REF03 because the referee before reached neither player (epoch 3).",
    ]


def test_the_reason_of_a_new_assignment_may_be_missing():
    """A manager does not say why; its journal does."""
    decisions = Decisions(2, referees=2).start()
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "REF01 fell silent"))

    assert in_words(facts_of(decisions.league, "R1M1"))[2] == "Given to REF02 (epoch 2)."


def test_a_match_without_a_contest_says_so():
    decisions = Decisions(2).start()
    decisions.record(
        decisions.adjudicator.no_contest("R1M1", "4 referees could not bring it to an end")
    )
    decisions.record(MatchClosed("R1M1", 1, told="manager"))

    assert words(decisions, in_full=True)[-2:] == [
        "No referee was left to tell the players the result; the manager did.",
        "It counts for neither player: no contest: 4 referees could not bring it to an end "
        "(R-LEASE-05).",
    ]


def test_a_believed_result_says_that_nobody_checked_it():
    decisions = Decisions(2, locks=False).start()
    decisions.report("P01", details={"drawn_number": 4})

    assert words(decisions, in_full=True)[-2:] == [
        "The number was 4, says the referee; it was not drawn by the league.",
        "Agent 1 (P01) won, as its referee reported it; the league could not check that "
        "(R-LEAGUE-12).",
    ]


def test_a_match_without_a_transcript_tells_its_moves():
    assert words(one_match(BOTH))[2:5] == [
        "What was said to whom was not kept, only the moves.",
        '  turn 1  Agent 1 (P01): "even"',
        '  turn 1  Agent 2 (P02): "odd"',
    ]


def test_what_the_transcript_has_no_room_for_is_counted():
    decisions = Decisions(2).start()
    decisions.lock(BOTH)
    decisions.record(
        MatchClosed("R1M1", 1, Raw(msgspec.json.encode([Exchange(*INVITED[0])])), left_out=7)
    )

    assert "  ... and 7 exchanges more, which were not kept." in words(decisions)


def test_a_dispute_is_shown():
    decisions = one_match(BOTH)
    decisions.record(Disputed("R1M1", "REF01", "another result"))

    lines = words(decisions)
    assert (
        "Disputed: REF01 reported another result than the one that stands; that was refused."
        in lines
    )
    assert "The result stands until the organiser rules: league rule R1M1 ..." in lines


def test_a_ruling_is_shown_last():
    decisions = one_match(BOTH)
    decisions.record(Disputed("R1M1", "REF01", "another result"))
    decisions.record(MatchRuled("R1M1", "draw", None, "both crashed"))

    lines = words(decisions)

    assert lines[-1] == (
        "The organiser ruled: a draw (both crashed); that counts in the table, not the result "
        "above."
    )
    assert not any("until the organiser rules" in line for line in lines)


def test_a_result_that_the_organiser_lets_stand_is_shown_so():
    decisions = one_match(BOTH)
    decisions.record(MatchRuled("R1M1", "stand", None, ""))

    assert words(decisions)[-1] == "The organiser ruled: the result stands."


def test_numbers_drawn_on_the_way_are_counted():
    decisions = Decisions(2, game=THROWAWAY["dice"]).start()
    decisions.lock([(0, "P01", 1), (0, "P02", 6)])

    assert "Numbers drawn on the way, each from seed and moves: 1." in words(decisions)


def test_another_game_has_its_own_rules():
    moves = [(0, "P01", 0), (1, "P02", 3), (2, "P01", 1), (3, "P02", 4), (4, "P01", 2)]

    won = words(one_match(moves, game=tic_tac_toe), in_full=True)[-1]
    failed = words(one_match([], [("P01", "made an illegal move")], game=tic_tac_toe))[-1]

    assert "(R-GAME-11). Agent 2 (P02) could have taken other cells" in won
    assert failed.endswith("Agent 1 (P01) should send a legal move, exactly as it is named.")


def test_a_reason_that_names_the_winner_does_not_name_it_twice():
    throws = [(n, f"P0{1 + p}", ("rock", "paper")[p]) for n in range(2) for p in range(2)]

    last = words(one_match(throws, game=rock_paper_scissors))[-1]

    assert last.startswith("Agent 2 (P02) won: 2 to 0 after 2 throws.")


def test_advice_follows_from_the_cause_and_from_the_last_verdict():
    for cause, verdict, words in [
        ("unreachable", "", "should be running first"),
        ("was removed by the organiser", "", "could change nothing: the organiser removed it"),
        ("gave no usable answer", "E015", "should repeat the `match_id` of the call"),
        ("gave no usable answer", "no content", "should answer with what was asked for"),
        ("gave no usable answer", "rate limited", "without a rate limit"),
        ("failed", "E004", "should send a legal move, exactly as it is named"),
        ("failed", "something new", "should answer with what was asked for"),
    ]:
        assert words in advice(cause, verdict, "")


def test_a_verdict_that_nobody_knows_yet_is_printed_as_it_is():
    decisions = one_match(BOTH, transcript=[asked("P01", None, "from\x07 Mars")])

    assert "CHOOSE_PARITY_CALL: from? Mars after 2 ms" in words(decisions)[2]


def test_a_long_move_is_shortened():
    decisions = one_match(BOTH, transcript=[asked("P01", "x" * 5000, "E004")])

    assert len(words(decisions)[2]) < 200


def test_a_long_transcript_is_shown_from_its_first_row_to_its_last():
    rows = [asked("P01", f"move {n}", "E004", attempt=n, at=n) for n in range(1, 251)]
    decisions = one_match(BOTH, transcript=rows)

    facts = facts_of(decisions.league, "R1M1")

    assert [row["attempt"] for row in facts["transcript"]] == list(range(1, 251))
    assert len(in_words(facts)) > 250


def test_the_facts_say_how_it_ended_too():
    facts = facts_of(one_match(BOTH).league, "R1M1")

    assert facts["ending"]["rules"] == ["R-GAME-03"]
    assert facts["assignments"] == []
    assert facts_of(Decisions(2).start().league, "R1M1")["ending"] is None


def test_what_is_no_match_is_an_error_and_no_traceback():
    for facts in [{}, {"match_id": 7}]:
        with pytest.raises(LeagueError, match="these are no facts of a match"):
            in_words(facts)


def test_an_answer_without_a_match_is_an_error():
    for data in [None, {}, {"match": []}, {"match": {}, "total": "many"}]:
        with pytest.raises(LeagueError, match="answer has no match"):
            read_answer(data)


def test_every_rule_that_an_explanation_cites_is_written_down():
    records = Path(__file__).parents[2] / "src/agentleague/records"
    sources = [(records / name).read_text() for name in ("explanations.py", "match_story.py")]
    cited = set(re.findall(r"R-[A-Z]+-\d\d", "".join(sources)))

    written_down = set(re.findall(r"\*\*(R-[A-Z]+-\d\d)\*\*", PAGE.read_text(encoding="utf-8")))

    assert cited
    assert cited <= written_down


def test_a_null_is_shown_as_no_move_and_not_as_a_wrong_one():
    rows = [(5, "P02", "CHOOSE_PARITY_CALL", n, "E004", None, 2) for n in (1, 2, 3)]

    lines = words(one_match(BOTH[:1], [("P02", "made an illegal move")], rows))

    assert "E004 (null, which is no move)" in lines[-2]
    assert "should return a move: null is sent when its function raised" in lines[-1]


def test_a_name_that_ends_with_the_id_is_not_given_it_twice():
    assert named("Ann (P05)", "P05") == "Ann (P05)"
    assert named("Ann (P05)", "P06") == "Ann (P05) (P06)"


def test_a_player_that_sent_nothing_but_null_made_no_illegal_move():
    moves = [asked("P01", "even"), asked("P02", None, "E004")]

    last = words(one_match(BOTH[:1], [("P02", "made an illegal move")], moves))[-1]

    assert last.startswith(
        "Agent 2 (P02) lost without a game (technical loss): no move was sent, only null"
    )
    assert "its function raised an exception or returned nothing" in last


def test_a_winner_by_a_ruling_gets_no_advice():
    moves = [asked("P01", "even"), asked("P02", "EVEN", "E004")]
    decisions = one_match(BOTH[:1], [("P02", "made an illegal move")], moves)
    decisions.record(MatchRuled("R1M1", "win", "P02", "the referee was wrong"))
    facts = facts_of(decisions.league, "R1M1", decisions.events)

    winner, loser = (
        list(player_story.in_words(player_story.player_match(facts, p))) for p in ("P02", "P01")
    )

    *_, before, _ = words(decisions)
    assert before.endswith("P02 made an illegal move - P01 wins by default.")
    assert winner == ["R1M1    won by a ruling against Agent 1 (P01): the referee was wrong."]
    assert loser == ["R1M1    lost by a ruling against Agent 2 (P02): the referee was wrong."]


@rule("R-DIA-09")
@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("HTTP 500: Internal Server Error", "answer without breaking: its own log says at what"),
        ("HTTP 307 with an empty body", "be given by the URL to which it redirects"),
        ("HTTP 429: slow down", "without a rate limit"),
        ("HTTP 200 with an empty body", "in even_odd with the value even or odd"),
        ("text that is not JSON, from byte 0 on: hello", "answer with one whole JSON object"),
        ("JSON that breaks off after 9 bytes: {", "answer with one whole JSON object"),
        ("HTTP 404: no such route", "be given by its whole URL, with the path"),
        ("HTTP 405: Method Not Allowed", "be given by its whole URL, with the path"),
        ("error -32601: unknown", "take one of the methods of"),
        ("error -32602: no team", "with or without what it complained of"),
        ('{"result": {"field": "EVEN!"}}', "in even_odd with the value even or odd, in lower case"),
        ("try me tomorrow", "answer without an error: its own output says what failed"),
    ],
)
def test_the_advice_fits_what_a_player_said(said, change):
    for verdict in ("no content", "something new"):
        assert change in explained(verdict, f"said {said}").change


@rule("R-DIA-09")
@pytest.mark.parametrize(
    ("came", "change"),
    [
        ("the connection was refused: nobody listens there", "be running first"),
        ("no connection: none of its addresses is allowed here", "start the referee with --lan"),
        ("the connection was refused: nobody listens there", "league player --outbound"),
        ("the name of the host was not found", "be given by a name that can be looked up here"),
        ("it does not speak https; try the same URL with http://", "that begins with http://"),
        ("it is not HTTP: SSH-2.0", "speak HTTP: another program may listen at that port"),
        ("it closed the connection without an answer", "send a whole answer"),
        ("its answer is longer than 10240 bytes", "answer every POST with HTTP 200 and JSON"),
        ("something new", "be running first"),
    ],
)
def test_the_advice_fits_what_came_instead_of_an_answer(came, change):
    cause = explained("E009", f"came {came}")

    assert cause.came == f"no usable answer: {came}"
    assert change in cause.change
    assert explained("something new", f"came {came}") is None


@rule("R-DIA-09")
def test_what_a_player_said_that_did_not_understand_is_shown_and_not_our_search():
    decisions = Decisions(2).start()
    decisions.lock([], forfeits=[("P01", "gave no usable answer")])
    note = "said HTTP 422: team: Field required [asked as tool, bare]"
    decisions.report("P02", transcript=[Exchange(*asked("P01", None, "no content"), note)])

    *_, row, last = words(decisions)
    assert row.endswith("no content (HTTP 422: team: Field required) after 2 ms")
    assert " Agent 1 (P01) answered: HTTP 422: team: Field required. It should take" in last
    assert words(decisions, in_full=True)[-2] == f"{row} (asked as tool, bare)"
    (failure,) = player_match(facts_of(decisions.league, "R1M1"), "P01").failures
    assert failure.came == "HTTP 422: team: Field required"
    assert failure.rules == ["R-DIA-09"]


def test_what_came_before_a_good_answer_is_not_shown():
    row = (*asked("P01", "even"), 'said {"status":"ok"}')

    assert "said" not in words(one_match(BOTH, transcript=[row]))[2]


@rule("R-DIA-09")
def test_the_forms_that_were_tried_are_shown_of_leagues_that_noted_them_so():
    row = (*asked("P01", None, "no content"), "tried tool (HTTP 500), bare (HTTP 500)")
    decisions = one_match(BOTH, transcript=[row])

    assert "tried" not in words(decisions)[2]
    in_full = words(decisions, in_full=True)[2]
    assert in_full.endswith("(tried tool (HTTP 500), bare (HTTP 500))")

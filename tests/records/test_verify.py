"""What `verify` finds: every lie has a valid chain, so only its content gives it away."""

from functools import cache

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.errors import UnsupportedGame
from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.league.events import (
    Disputed,
    EndpointChanged,
    EndpointProved,
    LeagueEnded,
    LeagueOpened,
    LeaguePaused,
    LeagueStarted,
    LossAccepted,
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    MatchLocked,
    MatchRuled,
    PlayerRegistered,
    PlayerRemoved,
    PlayerReturned,
    RefereeRegistered,
    RegistrationDisplaced,
    RoundEnded,
    RoundScheduled,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.league.formats.format import Stage
from agentleague.league.standings import Table
from agentleague.protocol.messages import GameResult
from agentleague.records.verify import missing_receipt, verify
from agentleague.runtime import plugins
from games.throwaway import CLUMSY, THROWAWAY
from league.decisions import LEAGUE_ID, Decisions
from records.journals import changed, otherwise, place, played, rows_of, twice, without

LEAGUE = played()  # four players, three rounds, six matches
DICE = [(0, "P01", 1), (0, "P02", 6), (1, "P01", 3), (1, "P02", 4)]


def found(events, game=even_odd):
    return verify(rows_of(events), lambda name: game)


def lie(events, game=even_odd):
    """The first difference: its match and its sentence."""
    difference = found(events, game).difference
    return difference.match_id, difference.sentence


def inserted(events, kind, *added):
    """The journal with rows more, before the first of a kind."""
    index = place(events, kind)
    return [*events[:index], *added, *events[index:]]


def believed(**fields):
    decisions = Decisions(2, locks=False).start()
    decisions.report("P01")
    return changed(decisions.events, MatchDecided, **fields) if fields else decisions.events


def diced():
    """A match with a lock before its result."""
    decisions = Decisions(2, game=THROWAWAY["dice"]).start()
    decisions.lock(DICE[:2])
    decisions.lock(DICE, index=1)
    return decisions.events


def test_a_league_that_was_played_is_true():
    findings = found(LEAGUE)

    assert findings.difference is None
    assert (findings.complete, findings.aborted, findings.champion) == (True, False, "P02")
    assert (findings.rows, findings.players, findings.rounds_ended) == (len(LEAGUE), 4, 3)
    assert (findings.matches_decided, findings.recomputed, findings.forfeited) == (6, 6, 0)
    assert (findings.league_id, findings.game_type) == (LEAGUE_ID, "even_odd")
    assert findings.head == f"{len(LEAGUE)}:{rows_of(LEAGUE)[-1].hash.hex()}"


def test_every_beginning_of_a_true_journal_is_true_so_far():
    for end in range(len(LEAGUE)):
        findings = found(LEAGUE[:end])
        assert (findings.difference, findings.complete) == (None, False)


def test_leagues_of_any_size_with_forfeits_and_byes_are_true():
    for players in [2, 3, 5, 8]:
        decisions = Decisions(players, referees=2, cycles=2).start()
        decisions.play("R1M1", forfeits=[decisions.league.matches["R1M1"].players[0]])

        decisions.play_round()

        assert found(decisions.events).difference is None
        assert found(decisions.events).forfeited == 1


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        (rock_paper_scissors, [("rock", "paper"), ("rock", "paper")]),
        (tic_tac_toe, [(0,), (3,), (1,), (4,), (2,)]),
        (THROWAWAY["dice"], [(1, 6), (3, 4)]),
    ],
)
def test_games_of_several_turns_are_played_again(game, moves):
    decisions = Decisions(2, game=game).start()
    players = ("P01", "P02")
    turns = [
        (turn, players[turn % 2] if len(made) == 1 else player, move)
        for turn, made in enumerate(moves)
        for player, move in zip(players, made, strict=False)
    ]
    if game.name == "dice":
        decisions.lock(turns[:2])
    decisions.lock(turns, index=len(decisions.league.matches["R1M1"].locks))

    assert decisions.league.matches["R1M1"].decided
    assert (found(decisions.events, game).difference, found(decisions.events, game).recomputed) == (
        None,
        1,
    )


def test_a_result_that_no_lock_brought_is_believed_and_listed():
    findings = found(believed())

    assert (findings.difference, findings.believed, findings.recomputed) == (None, ["R1M1"], 0)


def test_a_match_without_a_contest_counts_for_nobody_and_is_listed():
    decisions = Decisions(2).start()
    decisions.record(decisions.adjudicator.no_contest("R1M1", "no referee was there"))
    decisions.record(MatchClosed("R1M1", 1, told="manager"), RoundEnded(1), LeagueEnded("P01"))

    findings = found(decisions.events)

    assert (findings.difference, findings.no_contests, findings.complete) == (None, ["R1M1"], True)


def test_a_match_that_was_given_out_again_is_true():
    decisions = Decisions(2, referees=2).start()
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "REF01 fell silent"))
    decisions.lock([(0, "P01", "even"), (0, "P02", "odd")], referee="REF02", epoch=2)
    decisions.record(MatchClosed("R1M1", 1))  # An older epoch may report the same.

    assert found(decisions.events).difference is None


def test_what_may_come_after_the_end_is_true():
    after = [Disputed("R1M1", "REF01", "late"), PlayerReturned("P01", "d", 2), LeaguePaused()]

    findings = found([*LEAGUE, *after])

    assert (findings.difference, findings.disputed) == (None, ["R1M1"])


def test_agents_may_renew_their_tokens_at_any_time():
    renewed = [
        event
        for agent_id in ("P01", "REF01")
        for event in (
            TokenRenewed(agent_id, "d", 2, "http://127.0.0.1:81/mcp"),
            TokenConfirmed(agent_id, 2),
        )
    ]

    assert found(inserted(LEAGUE, RoundEnded, *renewed)).difference is None
    assert found([*LEAGUE, *renewed]).difference is None


def test_a_league_that_was_ended_early_is_true():
    for champion in ["P01", ""]:
        begun = LEAGUE[: place(LEAGUE, MatchDecided)]
        findings = found([*begun, LeagueEnded(champion, aborted=True)])

        assert (findings.difference, findings.complete, findings.aborted) == (None, True, True)


def test_a_league_that_was_ended_before_its_start_is_true():
    opened = LEAGUE[: place(LEAGUE, LeagueStarted)]

    assert found([*opened, LeagueEnded("", aborted=True)]).difference is None


def test_a_player_removed_before_the_start_need_not_start():
    decisions = Decisions(3)
    decisions.record(PlayerRemoved("P03"), LeagueStarted(["P01", "P02"]))

    assert found(decisions.events).difference is None


def test_the_first_difference_is_named_with_its_row_and_nothing_after_it():
    events = otherwise(otherwise(LEAGUE, "R3M1", drawn_number=0), "R2M1", drawn_number=0)

    difference = found(events).difference

    assert difference.row == place(LEAGUE, MatchDecided, "R2M1") + 1
    assert difference.match_id == "R2M1"


NUMBER = LEAGUE[place(LEAGUE, MatchDecided, "R1M1")].result.drawn_number
OTHER = NUMBER % 10 + 1


def test_a_number_that_was_not_drawn_is_refused():
    assert lie(otherwise(LEAGUE, "R1M1", drawn_number=OTHER)) == (
        "R1M1",
        f"the number drawn is {OTHER} in the journal, but {NUMBER} follows from seed and moves",
    )


def test_the_wrong_winner_is_refused():
    winner = LEAGUE[place(LEAGUE, MatchDecided, "R1M1")].result.winner_player_id
    loser = {"P01": "P02", "P02": "P01"}[winner]

    assert lie(otherwise(LEAGUE, "R1M1", winner_player_id=loser)) == (
        "R1M1",
        f"the winner is '{loser}' in the journal, but '{winner}' follows from seed and moves",
    )


def test_a_result_that_does_not_follow_is_refused():
    for fields, sentence in [
        ({"status": "DRAW"}, "the status is 'DRAW' in the journal, but 'WIN' follows"),
        ({"number_parity": None}, "the parity is None in the journal, but"),
        ({"choices": {}}, "the choices is {} in the journal, but {'P01': 'even', 'P02': 'odd'}"),
    ]:
        match_id, problem = lie(otherwise(LEAGUE, "R1M1", **fields))

        assert match_id == "R1M1"
        assert problem.startswith(sentence)


def test_other_words_for_the_same_reason_are_no_difference():
    assert found(otherwise(LEAGUE, "R1M1", reason="in other words")).difference is None


def test_moves_exchanged_afterwards_are_refused():
    moves = [(0, "P01", "odd"), (0, "P02", "even")]

    match_id, sentence = lie(changed(LEAGUE, MatchDecided, "R1M1", moves=moves))

    assert match_id == "R1M1"
    assert "follows from seed and moves" in sentence


def test_a_seed_that_does_not_open_the_commitment_is_refused():
    for seed in ["00" * 32, "no seed", ""]:
        assert lie(changed(LEAGUE, MatchDecided, "R1M2", seed=seed)) == (
            "R1M2",
            "the seed in its result does not open the commitment that was made before the match; "
            "its draws may have been chosen",
        )


def test_a_commitment_exchanged_afterwards_is_refused():
    event = LEAGUE[place(LEAGUE, RoundScheduled)]
    matches = [replace(event.matches[0], commitment="0" * 64), *event.matches[1:]]

    match_id, sentence = lie(changed(LEAGUE, RoundScheduled, matches=matches))

    assert match_id == "R1M1"
    assert "does not open the commitment" in sentence


def test_a_seed_is_checked_even_where_nothing_else_can_be():
    assert "does not open" in lie(believed(seed="00" * 32))[1]


def test_an_illegal_move_is_refused():
    moves = [(0, "P01", "maybe"), (0, "P02", "odd")]

    match_id, sentence = lie(changed(LEAGUE, MatchDecided, "R1M1", moves=moves))

    assert match_id == "R1M1"
    assert sentence.startswith("nothing follows from its moves: ")
    assert "Choice must be 'even' or 'odd', got 'maybe'" in sentence


def test_a_game_that_fails_on_a_move_is_no_traceback():
    decisions = Decisions(2, game=THROWAWAY["nim"]).start()
    decisions.lock([(0, "P01", 3), (1, "P02", 2)])
    broken = [(0, "P01", 3), (1, "P02", 2)]
    clumsy = replace(decisions.events[place(decisions.events, MatchDecided)], moves=broken)
    game = type("Broken", (), {**vars(THROWAWAY["nim"]), "play": lambda *_: 1 / 0})

    events = [*decisions.events[:-1], clumsy]

    assert "the game failed on its moves (ZeroDivisionError" in lie(events, game)[1]
    assert "nothing follows from its moves" in lie(events, CLUMSY)[1]


def test_a_result_of_a_game_that_goes_on_is_refused():
    events = changed(diced(), MatchDecided, moves=DICE[:2], index=1)

    assert lie(events, THROWAWAY["dice"]) == (
        "R1M1",
        "it has a result, but by its moves the game goes on",
    )


def test_a_result_of_another_lock_is_refused():
    events = changed(without(diced(), MatchLocked), MatchDecided, index=0)

    assert lie(events, THROWAWAY["dice"])[1] == "its result is lock 0, but by its moves lock 1"


def test_a_lock_with_another_number_is_refused_when_the_seed_is_open():
    value = diced()[place(diced(), MatchLocked)].value

    match_id, sentence = lie(changed(diced(), MatchLocked, value=7), THROWAWAY["dice"])

    assert match_id == "R1M1"
    assert sentence == (
        f"the number of lock 0 is 7 in the journal, but {value} follows from seed and moves"
    )


def test_moves_that_were_locked_may_not_change():
    other = [(0, "P01", 2), *DICE[1:]]

    assert lie(changed(diced(), MatchDecided, moves=other), THROWAWAY["dice"])[1] == (
        "its moves do not begin with those that were locked before"
    )


def test_a_lock_out_of_order_is_refused():
    assert lie(changed(diced(), MatchLocked, index=1), THROWAWAY["dice"])[1] == (
        "it is locked with index 1 after 0 locks"
    )


def test_a_second_result_is_refused():
    assert lie(twice(LEAGUE, MatchDecided, "R1M1")) == (
        "R1M1",
        "it has a result already; the first one stands",
    )


def test_a_missing_result_is_refused_where_the_match_is_closed():
    assert lie(without(LEAGUE, MatchDecided, "R1M1")) == ("R1M1", "it is closed and has no result")


def test_a_missing_result_is_refused_where_the_round_ends():
    events = without(without(LEAGUE, MatchDecided, "R1M2"), MatchClosed, "R1M2")

    assert lie(events) == (None, "round 1 ends and its match R1M2 has no result")


def test_a_match_that_is_not_closed_holds_its_round_up():
    assert lie(without(LEAGUE, MatchClosed, "R1M2")) == (
        None,
        "round 1 ends and its match R1M2 is not closed",
    )


def test_a_match_is_closed_once_and_in_an_epoch_that_was():
    assert lie(twice(LEAGUE, MatchClosed))[1] == "it is closed a second time"
    assert lie(changed(LEAGUE, MatchClosed, epoch=2))[1] == (
        "it is closed in epoch 2, and was never given out so often"
    )


def test_a_row_about_a_match_that_is_not_scheduled_is_refused():
    for event in [
        MatchDecided("R9M9", 1, 0, [], [], GameResult("DRAW"), ""),
        MatchLocked("R9M9", 1, 0, [], 3),
        MatchAssigned("R9M9", 2, "REF01", "why not"),
        MatchClosed("R9M9", 1),
        Disputed("R9M9", "REF01", "why not"),
        MatchRuled("R9M9", "draw", None, "why not"),
    ]:
        assert lie(inserted(LEAGUE, RoundEnded, event)) == (
            "R9M9",
            "R9M9 is no match of the rounds scheduled so far",
        )


def test_another_pairing_than_that_of_the_schedule_is_refused():
    event = LEAGUE[place(LEAGUE, RoundScheduled)]
    matches = [replace(event.matches[0], player_b="P03"), *event.matches[1:]]

    assert lie(changed(LEAGUE, RoundScheduled, matches=matches))[1] == (
        "the journal has R1M1 between P01 and P03, but the schedule R1M1 between P01 and P02"
    )


def test_a_round_that_lacks_a_match_is_refused():
    event = LEAGUE[place(LEAGUE, RoundScheduled)]

    assert lie(changed(LEAGUE, RoundScheduled, matches=event.matches[:1]))[1] == (
        "round 1 has 1 matches and the byes [], but in the schedule it has 2 and []"
    )


def test_a_bye_of_nobodys_turn_is_refused():
    assert "the byes ['P01']" in lie(changed(LEAGUE, RoundScheduled, byes=["P01"]))[1]


def test_a_round_in_the_wrong_order_is_refused():
    assert lie(twice(LEAGUE, RoundScheduled))[1] == "round 1 is scheduled when 0 rounds are over"
    assert lie(changed(LEAGUE, RoundScheduled, round_id=2))[1] == (
        "round 2 is scheduled when 0 rounds are over"
    )
    fourth = replace(LEAGUE[place(LEAGUE, RoundScheduled)], round_id=4)
    assert lie(inserted(LEAGUE, LeagueEnded, fourth))[1] == "round 4 is scheduled, of 3"
    assert lie(inserted(LEAGUE, LeagueStarted, fourth))[1] == (
        "a round is scheduled before the league has started"
    )


def test_a_round_that_is_not_played_cannot_end():
    assert lie(twice(LEAGUE, RoundEnded))[1] == "round 1 ends, but round 1 is played no more"
    assert lie(changed(LEAGUE, RoundEnded, round_id=2))[1] == "round 2 ends, but round 1 is played"


def test_a_referee_that_never_registered_is_refused():
    event = LEAGUE[place(LEAGUE, RoundScheduled)]
    matches = [replace(event.matches[0], referee_id="REF09"), *event.matches[1:]]
    given = MatchAssigned("R1M1", 2, "REF09", "why not")

    assert lie(changed(LEAGUE, RoundScheduled, matches=matches))[1] == (
        "REF09 is given a match and was never let in"
    )
    assert lie(inserted(LEAGUE, MatchDecided, given))[1] == (
        "it is given to REF09, which was never let in"
    )


def test_epochs_count_one_by_one():
    given = MatchAssigned("R1M1", 3, "REF02", "why not")

    assert lie(inserted(LEAGUE, MatchDecided, given))[1] == (
        "it is given out as epoch 3, after epoch 1"
    )


def test_only_the_current_epoch_may_lock():
    given = MatchAssigned("R1M1", 2, "REF02", "why not")

    assert lie(inserted(LEAGUE, MatchDecided, given))[1] == (
        "it is locked in epoch 1, but epoch 2 has it"
    )


def test_a_closed_match_is_given_to_nobody():
    given = MatchAssigned("R1M1", 2, "REF02", "why not")

    assert lie(inserted(LEAGUE, RoundEnded, given))[1] == "it is given out after it was closed"


def test_the_wrong_champion_is_refused():
    assert lie(changed(LEAGUE, LeagueEnded, champion="P04")) == (
        None,
        "its champion is 'P04', but by the results 'P02' is first",
    )
    assert "its champion is ''" in lie(changed(LEAGUE, LeagueEnded, champion=""))[1]


def test_a_league_cannot_end_before_its_last_round():
    events = [*LEAGUE[: place(LEAGUE, RoundEnded) + 1], LeagueEnded("P01")]

    assert lie(events)[1] == "the league ends after 1 of 3 rounds"


def test_nothing_after_the_end_may_change_a_result():
    for event in [
        LEAGUE[place(LEAGUE, MatchDecided)],
        LEAGUE[place(LEAGUE, RoundEnded)],
        LeagueEnded("P01"),
        PlayerRemoved("P01"),
        MatchAssigned("R3M2", 2, "REF01", "why not"),
    ]:
        assert lie([*LEAGUE, event])[1] == (
            "the league had ended before; nothing may change its results any more"
        )


def test_a_league_begins_once_with_its_opening():
    assert lie(LEAGUE[1:])[1] == "the journal begins with player_registered, not with league_opened"
    assert lie(twice(LEAGUE, LeagueOpened))[1] == "the league is opened a second time"
    assert lie(twice(LEAGUE, LeagueStarted))[1] == "the league starts a second time"


def test_a_league_opened_under_another_name_is_refused():
    assert lie(changed(LEAGUE, LeagueOpened, league_id="other"))[1] == (
        "it opens league 'other' in the journal of 'league_2026_even_odd_office'"
    )


def test_rules_that_nothing_follows_from_are_refused():
    rules = replace(LEAGUE[0].rules, game_options={"best": 3})

    assert (
        "tie-break 'beauty' is unknown"
        in lie(changed(LEAGUE, LeagueOpened, tie_breaks=["beauty"]))[1]
    )
    assert lie(changed(LEAGUE, LeagueOpened, rules=rules))[1] == (
        "the game refuses the league's options: even_odd has no option 'best'; leave it out, there"
        " are lowest and highest"
    )
    assert "must be a whole number from 1" in lie(changed(LEAGUE, LeagueOpened, cycles=0))[1]


def test_options_that_the_format_cannot_use_are_refused():
    for options in ({"cycles": "many"}, {"cycles": 0}, {"speed": 1}):
        events = changed(LEAGUE, LeagueOpened, stages=[Stage("round_robin", 1, options)])
        assert "the row cannot follow those before it" in lie(events)[1]


def test_points_that_were_set_otherwise_change_the_champion():
    """Rewriting the rules of a league afterwards means rewriting its champion."""
    worth_less = changed(LEAGUE, LeagueOpened, points=(-1, 0, 0))

    assert "its champion is 'P02', but by the results 'P04'" in lie(worth_less)[1]


def test_another_field_of_players_is_refused():
    for players, sentence in [
        (["P01", "P02", "P03", "P09"], "P09 starts and never registered"),
        (["P01", "P02", "P03"], "P04 registered and does not start"),
        (
            ["P01", "P02", "P03", "P04", "P04"],
            "the players start as",
        ),
    ]:
        assert lie(changed(LEAGUE, LeagueStarted, players=players))[1].startswith(sentence)


def test_another_order_of_the_players_is_not_that_of_their_seeds():
    players = ["P02", "P01", "P03", "P04"]

    assert "but by their seeds it is" in lie(changed(LEAGUE, LeagueStarted, players=players))[1]


def test_nobody_registers_twice_or_too_late():
    late = PlayerRegistered("P05", "Late", "http://127.0.0.1:81/mcp", "1", "d")

    assert lie(twice(LEAGUE, PlayerRegistered))[1] == "P01 is registered a second time"
    assert lie(twice(LEAGUE, RefereeRegistered))[1] == "REF01 is registered a second time"
    assert lie(inserted(LEAGUE, RoundScheduled, late))[1] == "P05 is registered after the start"


def test_rows_about_nobody_are_refused():
    for event in [
        TokenRenewed("P09", "d", 2, "http://127.0.0.1:81/mcp"),
        TokenConfirmed("P09", 2),
        PlayerReturned("P09", "d", 2),
        EndpointChanged("P09", "http://127.0.0.1:81/mcp"),
        EndpointProved("P09"),
        RegistrationDisplaced("P09", ""),
        RegistrationDisplaced("P01", "P09"),
        PlayerRemoved("P09"),
    ]:
        assert lie(inserted(LEAGUE, LeagueStarted, event))[1] == "nobody is registered as P09"


def test_a_player_is_removed_once_and_neither_earlier_nor_later():
    removed = inserted(LEAGUE, LeagueEnded, PlayerRemoved("P01", 4))

    assert lie(twice(removed, PlayerRemoved))[1] == "P01 is removed a second time"
    for from_round in (2, 5):
        event = PlayerRemoved("P01", from_round)
        assert lie(inserted(LEAGUE, LeagueEnded, event))[1] == (
            f"P01 is removed from round {from_round} on, in round 3"
        )


def test_a_believed_result_must_make_sense():
    assert lie(believed(result=GameResult("WIN", "P09")))[1] == "P09 wins it and does not play it"
    assert lie(believed(result=GameResult("DRAW", "P01")))[1] == (
        "its status is DRAW and its winner P01"
    )
    assert found(believed(result=GameResult("TECHNICAL_LOSS"))).difference is None


def test_a_match_without_a_contest_has_no_winner():
    result = GameResult("TECHNICAL_LOSS", "P01", no_contest=True)

    assert lie(changed(LEAGUE, MatchDecided, result=result))[1] == (
        "it is a no-contest and has a winner"
    )


def test_a_table_that_counts_wrongly_is_found(monkeypatch):
    """The table is counted twice, by two programs; here one of them is broken."""
    count = Table.count
    monkeypatch.setattr(Table, "count", lambda *a, **k: (count(*a, **k), count(*a, **k)))

    assert "by the results it is {" in found(LEAGUE).difference.sentence


def test_a_row_that_the_league_cannot_take_in_is_a_difference(monkeypatch):
    monkeypatch.setattr(Table, "count", lambda *a, **k: {}["no such row"])

    assert lie(LEAGUE)[1] == "the row cannot follow those before it ('no such row')"


def test_a_row_that_cannot_be_read_is_a_difference():
    rows = rows_of(LEAGUE)
    at = place(LEAGUE, MatchDecided) + 1  # The row before is about a match.
    rows[at] = rows[at]._replace(kind="from_the_future")

    difference = verify(rows, lambda name: even_odd).difference

    assert (difference.row, difference.match_id) == (at + 1, None)
    assert "'from_the_future'" in difference.sentence


def test_a_game_that_is_not_there_is_an_error_and_no_difference():
    events = changed(LEAGUE, LeagueOpened, game_type="chess")

    with pytest.raises(UnsupportedGame, match="no game 'chess' is installed"):
        verify(rows_of(events), plugins.load_game)


def test_a_receipt_proves_that_a_row_is_there():
    rows = rows_of(LEAGUE)
    receipts = [(row.seq, row.hash.hex()) for row in rows]

    assert missing_receipt(rows, receipts) is None
    assert missing_receipt(rows, []) is None


def test_a_cut_tail_is_found_with_a_receipt():
    rows = rows_of(LEAGUE)
    receipt = (rows[-1].seq, rows[-1].hash.hex())

    assert verify(rows[:-1], lambda name: even_odd).difference is None
    difference = missing_receipt(rows[:-1], [receipt])
    assert difference.row == len(rows)
    assert difference.sentence == (
        f"the receipt names row {len(rows)}, but the journal ends with row {len(rows) - 1}: its "
        "tail was cut off"
    )


def test_a_journal_that_was_written_anew_is_found_with_a_receipt():
    row = rows_of(LEAGUE)[20]
    anew = rows_of(played(name=lambda number: f"Another {number}"))

    assert verify(anew, lambda name: even_odd).difference is None
    difference = missing_receipt(anew, [(row.seq, row.hash.hex())])
    assert difference.row == 21
    assert "it was written anew" in difference.sentence


def test_a_registration_is_displaced_once_and_a_player_only_before_the_start():
    displaced = RegistrationDisplaced("P03", "")
    twice = [*LEAGUE[: place(LEAGUE, LeagueStarted)], displaced, displaced]
    late = inserted(LEAGUE, RoundScheduled, displaced)

    assert lie(twice)[1] == "P03 is displaced a second time"
    assert lie(late)[1] == "P03 is displaced after the start"


# Losses that the organiser accepted


@cache
def lossy():
    """A league whose first round is half played when rows are lost, to its end."""
    decisions = Decisions(4, referees=2).start()
    decisions.play("R1M1")
    decisions.record(decisions.adjudicator.begin_anew(1_000, 99))
    decisions.play("R1M2")
    decisions.record(RoundEnded(1))
    for round_id in (2, 3):
        decisions.schedule(round_id).play_round()
    decisions.record(LeagueEnded(decisions.league.table.rows()[0].player_id))
    return decisions.events


def test_what_is_drawn_anew_after_a_loss_is_true_and_said():
    findings = found(lossy())

    assert (findings.difference, findings.complete) == (None, True)
    ((row, words),) = findings.losses.items()
    assert words == (
        "rows up to 99 were lost, and the organiser went on without them; R1M2 began anew with new "
        "draws (draw generation 1000)"
    )
    assert isinstance(lossy()[row - 1], LossAccepted)


def test_an_accepted_loss_cannot_pick_the_matches_that_are_drawn_anew():
    for commitments in ({}, {"R1M1": "0" * 64, "R1M2": "0" * 64}, {"R1M1": "0" * 64}):
        _, sentence = lie(changed(lossy(), LossAccepted, commitments=commitments))

        assert "are drawn anew after a loss, but ['R1M2'] have no result" in sentence


def test_an_accepted_loss_has_a_higher_generation_and_other_commitments():
    scheduled = lossy()[place(lossy(), RoundScheduled)]
    same = {"R1M2": scheduled.matches[1].commitment}

    _, sentence = lie(changed(lossy(), LossAccepted, commitments=same))
    assert "R1M2 is drawn anew and keeps its commitment" in sentence
    _, sentence = lie(changed(lossy(), LossAccepted, generation=0))
    assert "it begins generation 0 after 0" in sentence


def test_a_round_after_a_loss_has_draws_of_its_generation():
    events = [*lossy()]
    second = next(e for e in events if isinstance(e, RoundScheduled) and e.round_id == 2)
    index = events.index(second)
    events[index] = replace(second, generation=UNSET)

    _, sentence = lie(events)

    assert sentence.startswith("round 2 has draws of generation 0, and the last loss accepted")


def test_a_receipt_of_a_lost_row_is_missing_and_it_is_said_why():
    rows = rows_of(lossy())

    cut_off = missing_receipt(rows, [(len(rows) + 1, "0" * 64)])
    other = missing_receipt(rows, [(1, "0" * 64)])

    for difference in (cut_off, other):
        assert "says that rows were lost before it" in difference.sentence

"""Whatever a player does, its match ends with the right result, and nobody else waits for it."""

import asyncio
from collections import Counter

import pytest

from agentleague.league.events import MatchAssigned, MatchClosed
from hostile.contest import contest, contests

GOOD, BAD = "P01", "P02"  # The good player registers first.
SILENT = "failed to respond within timeout"
EMPTY = "gave no usable answer"
UNUSABLE_HTTP = "gave no usable HTTP answer"
CLOSED = "closed the connection before it had answered"
GONE = "could not be reached"
UNUSABLE = "gave no usable answer"
FAILED = "answered with an error of its own"
ILLEGAL = "made an illegal move"
DECLINED = "declined the invitation"

# What happens to somebody who does that when asked to join or to move: three attempts, or two if
# it understood no form, come to this, and the match is lost for this reason.
FAILURES = [
    ("silent", ["E001"] * 3, SILENT),
    ("trickles", ["E001"] * 3, SILENT),  # a byte a second
    ("closes", ["E009"] * 3, CLOSED),
    ("endless_headers", ["E009"] * 3, UNUSABLE_HTTP),
    ("long_body", ["E009"] * 3, UNUSABLE_HTTP),  # over 10,240 bytes
    ("zipped", ["E009"] * 3, UNUSABLE_HTTP),
    ("redirects", ["E009"] * 3, "answered with HTTP 307"),
    ("html", ["E009"] * 3, UNUSABLE),
    ("not_found", ["E009", "no content"], UNUSABLE),  # HTTP 404 without JSON
    ("breaks", ["E009"] * 2, "answered with HTTP 500"),  # without JSON
    ("rpc_error", ["E052"] * 2, FAILED),
    ("empty_object", ["no content"] * 2, EMPTY),  # It may still push its answer until the deadline.
    ("status_ok", ["no content"] * 2, EMPTY),
    ("accepted", ["no content"] * 2, EMPTY),  # HTTP 202 and nothing
    ("other_match", ["E015"] * 3, UNUSABLE),
]
SECONDS = {"E001": 0.6, "no content": 3.0}  # how long is waited for those who must be waited for
# Who answers in a way of its own, and yet what is needed: the verdicts on its attempts.
PLAY = [
    ("well@all", ["ok", "ok"]),
    ("wrong_id@all", ["ok", "ok"]),  # an id that nobody sent
    ("other_player@all", ["ok", "ok"]),  # says that it is its opponent
    ("error_null@all", ["ok", "ok"]),
    ("pushes@join", ["pushed", "ok"]),  # HTTP 202, then to the referee's own end point
    ("pushes@move", ["ok", "pushed"]),
    ("pushes_signed@join", ["pushed", "ok"]),
    ("pushes_signed@move", ["ok", "pushed"]),
    ("pushes_first@join", ["pushed", "ok"]),
    ("pushes_first@move", ["ok", "pushed"]),
    ('says_then_well="Even"@move', ["ok", "E004", "ok"]),
    ("lacks_then_well@move", ["ok", "E003", "ok"]),  # asked again in the same attempt
    ("lacks_and_pushes@move", ["ok", "pushed"]),
    ("corrects@move", ["ok", "E004", "ok"]),  # in the answer to GAME_ERROR
    ("limits@join", ["rate limited", "ok", "ok"]),  # HTTP 429 with Retry-After
    ("limits@move", ["ok", "rate limited", "ok"]),
    ("limits_in_json@join", ["rate limited", "ok", "ok"]),
    ("limits_in_json@move", ["ok", "rate limited", "ok"]),
]

# The others: verdicts, and why the match is lost.
LOSE = [
    ('says="Even"@move', ["ok", "E004", "E004", "E004"], ILLEGAL),
    ("says=0@move", ["ok", "E004", "E004", "E004"], ILLEGAL),
    ("says=true@move", ["ok", "E004", "E004", "E004"], ILLEGAL),
    ("says=null@move", ["ok", "E004", "E004", "E004"], ILLEGAL),
    ('says=""@move', ["ok", "E004", "E004", "E004"], ILLEGAL),
    ('says=["even"]@move', ["ok", "E004", "E004", "E004"], ILLEGAL),
    ("lacks@move", ["ok", "E003", "E003", "E003"], UNUSABLE),
    ("declines@join", ["declined"], DECLINED),  # at once
    ("dies@join", ["ok", "E009", "E009", "E009"], GONE),  # and stays dead
]


def played(directory, *behaviours, **more):
    return asyncio.run(contest(directory, behaviours, **more))


def each_played(directory, behaviours):
    """The league against each, with its rules; the last that is printed is the one that fails."""
    for behaviour, game in asyncio.run(contests(directory, behaviours)).items():
        print(behaviour)
        yield game


def failing_at(step):
    """Each failure, with time enough to answer on a busy machine, unless it never answers."""
    return {
        f"{does}@{step}": {f"{step}_seconds": SECONDS.get(verdicts[0], 10.0)}
        for does, verdicts, _ in FAILURES
    }


def assert_lost(game, cause):
    """The bad player lost technically, the good one has its points."""
    (match,) = game.decided()
    assert (match.result.status, match.result.winner_player_id) == ("TECHNICAL_LOSS", GOOD)
    assert match.forfeits == [(BAD, cause)]
    good, bad = game.rows[GOOD], game.rows[BAD]
    assert (good.rank, good.wins, good.points, good.technical_losses) == (1, 1, 3, 0)
    assert (bad.rank, bad.losses, bad.points, bad.technical_losses) == (2, 1, 0, 1)


def assert_counted(game):
    """The bad player's move counted, and the number decided."""
    (match,) = game.decided()
    assert match.result.status == "WIN"  # One said even, the other odd.
    assert match.result.choices == {GOOD: "even", BAD: "odd"}
    assert match.forfeits == []
    assert [row.technical_losses for row in game.rows.values()] == [0, 0]


def test_a_player_that_cannot_be_made_to_join_loses(tmp_path):
    games = each_played(tmp_path, failing_at("join"))
    for (_, verdicts, cause), game in zip(FAILURES, games, strict=True):
        assert_lost(game, cause)
        assert game.verdicts(BAD) == verdicts
        assert game.decided()[0].moves == []  # Nobody was asked for a move.


def test_a_player_that_cannot_be_made_to_move_loses(tmp_path):
    games = each_played(tmp_path, failing_at("move"))
    for (_, verdicts, cause), game in zip(FAILURES, games, strict=True):
        assert_lost(game, cause)
        assert game.verdicts(BAD) == ["ok", *verdicts]
        assert game.decided()[0].moves == [(0, GOOD, "even")]


def test_a_player_that_gives_nothing_that_counts_loses(tmp_path):
    games = each_played(tmp_path, {does: {} for does, _, _ in LOSE})
    for (_, verdicts, cause), game in zip(LOSE, games, strict=True):
        assert_lost(game, cause)
        assert game.verdicts(BAD) == verdicts


def test_a_player_that_dies_after_the_join_and_comes_back_plays_on(tmp_path):
    game = played(tmp_path, "dies@join", comes_back=True, retry_delay_seconds=2.0, retries=5)

    assert_counted(game)
    assert (game.verdicts(BAD)[:2], game.verdicts(BAD)[-1]) == (["ok", "E009"], "ok")


def test_a_player_that_answers_in_its_own_way_plays(tmp_path):
    games = each_played(tmp_path, {does: {} for does, _ in PLAY})
    for (_, verdicts), game in zip(PLAY, games, strict=True):
        assert_counted(game)
        assert game.verdicts(BAD) == verdicts


@pytest.mark.parametrize("step", ["join", "move"])
def test_an_answer_after_its_time_counts_until_the_phase_ends(tmp_path, step):
    game = played(tmp_path, f"late=0.6@{step}", **{f"{step}_seconds": 0.4})

    assert_counted(game)
    assert "late" in game.verdicts(BAD)


@pytest.mark.parametrize(
    ("does", "verdict"), [("answers_and_pushes", "ok"), ("pushes_and_answers", "pushed")]
)
def test_of_two_different_answers_the_first_counts(tmp_path, does, verdict):
    game = played(tmp_path, f"{does}@move")  # first odd, then even

    assert_counted(game)
    assert game.verdicts(BAD)[1] == verdict


@pytest.mark.parametrize(
    ("does", "other", "words"),
    [
        ("silent@all", "silent@all", SILENT),  # not begun again: they were reached
        ("closes@move", 'says="Even"@move', ILLEGAL),
        ("declines@join", "html@join", DECLINED),
        ("dies@join", "dies@join", GONE),
    ],
)
def test_two_who_fail_both_lose(tmp_path, does, other, words):
    game = played(tmp_path, does, other, good=0, join_seconds=0.3)

    (match,) = game.decided()
    assert not [event for event in game.events if isinstance(event, MatchAssigned)]
    assert (match.result.status, match.result.winner_player_id) == ("TECHNICAL_LOSS", None)
    assert {player_id for player_id, _ in match.forfeits} == {"P01", "P02"}
    assert words in match.result.reason
    for row in game.rows.values():
        assert (row.losses, row.points, row.technical_losses) == (1, 0, 1)


def test_no_good_match_waits_for_a_bad_one(tmp_path):
    game = played(tmp_path, "silent@join", "trickles@join", good=2, join_seconds=0.3)

    pairs = game.pairs()
    order = [match.match_id for match in game.decided()]
    good = next(match_id for match_id, pair in pairs.items() if pair == {"P01", "P02"})
    bad = next(match_id for match_id, pair in pairs.items() if pair == {"P03", "P04"})
    assert good.partition("M")[0] == bad.partition("M")[0]  # They are in the same round.
    assert order.index(good) < order.index(bad)
    assert len(order) == len(pairs) == 6


AT_ONCE = ["html@join", "breaks@move", "long_body@join", "zipped@move", "declines@join"]


def test_a_good_match_takes_no_attempt_more_whoever_else_plays(tmp_path):
    game = played(tmp_path, *AT_ONCE, good=3)

    among_themselves = {"P01", "P02", "P03"}
    good = [each for each, pair in game.pairs().items() if pair <= among_themselves]
    closed = [event for event in game.events if isinstance(event, MatchClosed)]
    rows = [row for event in closed if event.match_id in good for row in event.exchanges]
    assert Counter((row.message, row.attempt, row.verdict) for row in rows) == {
        ("GAME_INVITATION", 1, "ok"): 6,
        ("CHOOSE_PARITY_CALL", 1, "ok"): 6,
    }
    assert len(closed) == len(game.decided()) == 28
    assert {game.rows[player_id].technical_losses for player_id in among_themselves} == {0}


def test_a_player_who_is_silent_to_everybody_does_not_keep_the_league_from_ending(tmp_path):
    game = played(tmp_path, "silent@all", "closes@all", good=2, join_seconds=0.3)

    assert len(game.decided()) == 6
    assert [game.rows[player_id].technical_losses for player_id in ("P01", "P02")] == [0, 0]
    assert [game.rows[player_id].technical_losses for player_id in ("P03", "P04")] == [3, 3]

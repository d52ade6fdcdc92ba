"""The messages that the manager sends to many: all fields, the right secrets, at most 10 KB."""

import msgspec
import pytest
from msgspec import UNSET

from agentleague.league.events import LeagueEnded
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.step import Step
from agentleague.manager.tokens import Credentials
from agentleague.protocol import codec
from agentleague.protocol.messages import (
    Champion,
    LeagueCompleted,
    LeagueStandingsUpdate,
    PlayerRecord,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    RoundSummary,
    Rules,
    Seated,
    StandingRow,
)
from agentleague.protocol.timestamps import Calendar
from agentleague.protocol.tokens import digest, match_token
from agentleague.roles.settings import ManagerSettings
from league.decisions import LEAGUE_ID, Decisions, token
from rules import rule

NOON = "2026-01-01T12:00:00Z"
BYTES_MAX = 10_240
TOKEN_SECRET = bytes(32)
ENVELOPE = {"sender": "league_manager", "timestamp": NOON, "league_id": LEAGUE_ID}
REFEREE = "http://127.0.0.1:80/REF01/mcp"
LONG_NAMES = {
    "letters": lambda number: f"{number:04}" + "x" * 46,
    "foxes": lambda number: f"{number:04}" + "🦊" * 46,  # 4 bytes each
    "quotes": lambda number: f"{number:04}" + '"' * 46,  # 2 bytes each in JSON
}


def broadcasts_of(decisions):
    step = Step(decisions.league, ManagerSettings())
    step.calendar = Calendar(1_767_268_800.0)  # noon
    return Broadcasts(step, Credentials(decisions.league, TOKEN_SECRET))


def message_to(rows, player_id):
    """What one player gets of these rows."""
    return dict(rows.to_each([player_id]))[player_id]


def read(message):
    """The message as its receiver reads it."""
    return msgspec.json.decode(codec.encode(message), type=type(message))


def played(players, name=None):
    decisions = Decisions(players, name=name).start()
    decisions.play_round()
    decisions.record(LeagueEnded(decisions.league.table.rows()[0].player_id))
    return decisions


def to_each(decisions):
    """What each player is sent: (player id, announcement, table, end)."""
    broadcasts = broadcasts_of(decisions)
    matches, table = broadcasts.match_rows(), broadcasts.table_rows()
    final = broadcasts.final_table()
    for player_id in decisions.league.roster.players:
        yield (
            player_id,
            message_to(matches, player_id),
            message_to(table, player_id),
            broadcasts.league_completed(final, player_id),
        )


@rule("R-LEAGUE-25")
def test_an_announcement_has_all_its_fields():
    decisions = Decisions(5).start()
    broadcasts = broadcasts_of(decisions)

    message = message_to(broadcasts.match_rows(), "P01")

    assert read(message) == RoundAnnouncement(
        **ENVELOPE,
        conversation_id="conv-round-1-announce",
        round_id=1,
        matches=[
            RoundMatch("R1M1", "even_odd", "P02", "P03", REFEREE),
            RoundMatch("R1M2", "even_odd", "P05", "P04", REFEREE),
        ],
        byes=["P01"],
    )


@rule("R-LEAGUE-13", "R-LEAGUE-25")
@pytest.mark.parametrize(
    ("player_id", "sealed"),
    [("P01", []), ("P02", ["R1M1"]), ("P03", ["R1M1"]), ("P04", ["R1M2"])],
)
def test_a_player_sees_the_commitment_of_its_own_match_alone(player_id, sealed):
    decisions = Decisions(5).start()
    broadcasts = broadcasts_of(decisions)

    message = read(message_to(broadcasts.match_rows(), player_id))

    seen = {m.match_id: m.draw_commitment for m in message.matches if m.draw_commitment}
    assert seen == {name: decisions.league.matches[name].commitment for name in sealed}


@rule("R-LEAGUE-26")
def test_a_referees_copy_has_all_it_needs_to_run_its_matches():
    decisions = Decisions(3).start()
    broadcasts = broadcasts_of(decisions)
    file = decisions.league.matches["R1M1"]

    message = broadcasts.assignment("REF01", [broadcasts.assigned(file)])

    urls = [f"http://127.0.0.1:81/{player_id}/mcp" for player_id in ("P02", "P03")]
    assert read(message) == RoundAnnouncement(
        **ENVELOPE,
        conversation_id="conv-round-1-announce",
        round_id=1,
        matches=[
            RoundMatch(
                *("R1M1", "even_odd", "P02", "P03", REFEREE),
                file.commitment,
                UNSET,
                UNSET,
                *urls,
                1,
                [
                    Seated(
                        "P02", urls[0], "Agent 2", PlayerRecord(), *secrets_of(decisions, "P02")
                    ),
                    Seated(
                        "P03", urls[1], "Agent 3", PlayerRecord(), *secrets_of(decisions, "P03")
                    ),
                ],
            )
        ],
        session=Credentials(decisions.league, TOKEN_SECRET).session(
            decisions.league.roster.referees["REF01"]
        ),
        rules=Rules(),
    )


def secrets_of(decisions, player_id):
    """Both match tokens, and the digest of the league token."""
    names = (LEAGUE_ID, "R1M1", player_id, 1)
    channel = Credentials(decisions.league, TOKEN_SECRET).channel(player_id)
    both = [match_token(channel, way, *names) for way in ("ref>player", "player>ref")]
    return (*both, [digest(token(player_id))])


@rule("R-LEAGUE-26")
def test_a_referee_is_told_the_players_records():
    decisions = Decisions(2, cycles=2).start()
    decisions.play("R1M1", forfeits=["P02"])
    decisions.schedule(2)

    seats = broadcasts_of(decisions).assigned(decisions.league.matches["R2M1"]).seats

    records = {seat.player_id: seat.record for seat in seats}
    assert records == {"P01": PlayerRecord(1, 0, 0, 3), "P02": PlayerRecord(0, 1, 0, 0)}


@rule("R-LEAGUE-26")
def test_end_points_and_tokens_of_players_are_in_no_other_message():
    decisions = played(6)
    broadcasts = broadcasts_of(decisions)
    sent = [message for _, *messages in to_each(decisions) for message in messages]
    sent += [broadcasts.round_completed(1, is_last=False)]

    text = b"".join(codec.encode(message) for message in sent).decode()

    for secret in ("tok_", "ses_", "127.0.0.1:81/", "seats", "session", '"epoch"', "endpoint_A"):
        assert secret not in text
    assert all(message.auth_token is UNSET for message in sent)


@rule("R-TABLE-05")
def test_the_table_has_all_its_fields():
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P01"])
    broadcasts = broadcasts_of(decisions)

    message = message_to(broadcasts.table_rows(), "P01")

    assert read(message) == LeagueStandingsUpdate(
        **ENVELOPE,
        conversation_id="conv-round-1-standings",
        round_id=1,
        standings=[
            StandingRow(1, "P02", "Agent 2", 1, 1, 0, 0, 0, 3),
            StandingRow(2, "P01", "Agent 1", 1, 0, 0, 1, 1, 0),
        ],
    )


@rule("R-LEAGUE-27")
@pytest.mark.parametrize(
    ("forfeits", "summary"),
    [
        ([], RoundSummary(3, 3, 0, 0)),
        (["R1M2"], RoundSummary(3, 2, 0, 1)),  # a technical win is not among the wins
        (["R1M1", "R1M2", "R1M3"], RoundSummary(3, 0, 0, 3)),
    ],
)
def test_the_end_of_a_round_sums_it_up(forfeits, summary):
    decisions = Decisions(6).start()
    for match_id in ("R1M1", "R1M2", "R1M3"):
        players = decisions.league.matches[match_id].players
        decisions.play(match_id, forfeits=players[:1] if match_id in forfeits else [])

    assert read(broadcasts_of(decisions).round_completed(1, is_last=False)) == RoundCompleted(
        **ENVELOPE,
        conversation_id="conv-round-1-complete",
        round_id=1,
        matches_played=3,
        matches_completed=3,
        next_round_id=2,
        summary=summary,
    )


@rule("R-LEAGUE-27")
def test_draws_are_summed_up_and_the_last_round_has_no_next():
    decisions = Decisions(2).start()
    decisions.lock([(0, "P01", "odd"), (0, "P02", "odd")])

    message = broadcasts_of(decisions).round_completed(1, is_last=True)

    assert message.summary == RoundSummary(1, 0, 1, 0)
    assert message.next_round_id is None


@rule("R-LEAGUE-28")
def test_the_end_of_the_league_has_all_its_fields():
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P01"])
    decisions.record(LeagueEnded("P02"))
    broadcasts = broadcasts_of(decisions)

    message = broadcasts.league_completed(broadcasts.final_table(), "REF01")

    assert read(message) == LeagueCompleted(
        **ENVELOPE,
        conversation_id="conv-league-complete",
        total_rounds=1,
        total_matches=1,
        champion=Champion("P02", "Agent 2", 3),
        champions=[Champion("P02", "Agent 2", 3)],
        session=Credentials(decisions.league, TOKEN_SECRET).session(
            decisions.league.roster.referees["REF01"]
        ),
        final_standings=[
            StandingRow(1, "P02", "Agent 2", 1, 1, 0, 0, 0, 3),
            StandingRow(2, "P01", "Agent 1", 1, 0, 0, 1, 1, 0),
        ],
    )


@rule("R-TABLE-06")
def test_every_message_to_a_player_is_at_most_10_kb():
    for players in [2, 100, 500]:
        for name in LONG_NAMES:
            for _, *messages in to_each(played(players, LONG_NAMES[name])):
                for message in messages:
                    assert len(codec.write_request(message, 2**31)) <= BYTES_MAX


@rule("R-TABLE-06")
def test_what_is_cut_keeps_the_receivers_own_row_and_says_so():
    for players in [100, 499, 500]:
        for name in LONG_NAMES:
            for player_id, announcement, table, end in to_each(played(players, LONG_NAMES[name])):
                rows = read(table).standings
                assert player_id in {row.player_id for row in rows}
                final = read(end).final_standings
                assert player_id in {row.player_id for row in final}
                for message, shown, total in (
                    (announcement, read(announcement).matches, players // 2),
                    (table, rows, players),
                    (end, final, players),
                ):
                    is_cut = len(shown) < total
                    assert message.truncated is (True if is_cut else UNSET)
                    assert message.total == (total if is_cut else UNSET)
                pairs = [
                    (match.player_A_id, match.player_B_id) for match in read(announcement).matches
                ]
                if player_id not in announcement.byes:
                    assert player_id in {each for pair in pairs for each in pair}


@rule("R-TABLE-06")
def test_the_first_three_and_the_nearest_rows_stay_and_as_many_as_fit():
    decisions = played(500, LONG_NAMES["letters"])
    ranks = {row.player_id: row.rank for row in decisions.league.table.rows()}

    for player_id, _, table, _ in to_each(decisions):
        first, second, third, *shown = [row.rank for row in read(table).standings]
        own = ranks[player_id]
        above, below = own - shown[0], shown[-1] - own

        assert (first, second, third) == (1, 2, 3)
        assert shown == list(range(shown[0], shown[-1] + 1))
        assert 44 <= len(shown) + 3 <= 60
        assert own <= 3 or shown[0] <= own <= shown[-1]
        if shown[0] > 4 and shown[-1] < 500:
            assert abs(above - below) <= 1


@rule("R-TABLE-10")
def test_a_short_table_has_the_first_three_the_receivers_own_row_and_its_neighbours():
    for players in [31, 100, 499]:
        decisions = played(players, LONG_NAMES["foxes"])
        rows = broadcasts_of(decisions).table_rows(is_short=True)
        told = {each: message_to(rows, each) for each in decisions.league.roster.players}

        for place, row in enumerate(decisions.league.table.rows()):
            message = read(told[row.player_id])
            shown = [each.player_id for each in message.standings]
            near = decisions.league.table.rows()[max(0, place - 1) : place + 2]
            assert {each.player_id for each in near} <= set(shown)
            assert [each.rank for each in message.standings[:3]] == [1, 2, 3]
            assert (message.total, message.truncated, len(shown) <= 13) == (players, True, True)
            assert len(shown) == len(set(shown))
        assert len({id(message) for message in told.values()}) == (players - 1) // 8 + 1


@rule("R-TABLE-10", "R-LEAGUE-25")
def test_a_short_announcement_has_the_receivers_match_with_its_commitment_and_both_names():
    decisions = Decisions(99).start()
    rows = broadcasts_of(decisions).match_rows(is_short=True)
    told = {each: message_to(rows, each) for each in decisions.league.roster.players}

    for player_id, message in told.items():
        matches = {m.match_id: m for m in read(message).matches}
        assert len(matches) <= 10
        assert (message.total, message.truncated, len(message.byes)) == (49, True, 1)
        record = decisions.league.matches.last_of(player_id)
        if player_id not in message.byes:
            (own,) = [m for m in matches.values() if player_id in (m.player_A_id, m.player_B_id)]
            names = (own.player_A_name, own.player_B_name)
            members = decisions.league.roster.players
            assert names == tuple(
                members[each].display_name for each in (own.player_A_id, own.player_B_id)
            )
            assert own.draw_commitment == record[-1].commitment
    assert len({id(message) for message in told.values()}) == 7 + 1  # One for the bye.


@rule("R-TABLE-06")
def test_all_who_get_the_same_rows_get_the_same_message():
    told = list(to_each(played(10)))

    assert len({id(table) for _, _, table, _ in told}) == 1
    assert len({id(announcement) for _, announcement, _, _ in told}) == 5  # One for each match.


@rule("R-TABLE-06")
def test_a_referee_sees_the_head_of_a_table_that_is_cut():
    decisions = played(500)
    broadcasts = broadcasts_of(decisions)

    end = read(broadcasts.league_completed(broadcasts.final_table(), "REF01"))

    assert end.final_standings[0].rank == 1
    assert end.truncated
    assert end.total == 500


@rule("R-TABLE-06")
def test_nothing_is_said_of_cutting_where_nothing_is_cut():
    for _, *messages in to_each(played(2)):
        for message in messages:
            assert b"truncated" not in codec.encode(message)
            assert b'"total"' not in codec.encode(message)


@rule("R-LEAGUE-26")
def test_twenty_matches_of_long_names_fit_into_a_referees_64_kb():
    decisions = Decisions(40, name=LONG_NAMES["foxes"]).start()
    broadcasts = broadcasts_of(decisions)
    matches = [broadcasts.assigned(file) for file in decisions.league.matches.values()]

    assert len(matches) == 20
    assert len(codec.write_request(broadcasts.assignment("REF01", matches), 1)) <= 65_536

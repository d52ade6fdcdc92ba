"""What the manager writes to everybody: announcements, the table, the end of rounds and league.

A message is at most 10 KB (document 004 section 14.1). When all rows do not fit, the receiver's own
and those nearest to it stay, and the message says so.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from agentleague.league.league import League
from agentleague.league.match_records import MatchRecord
from agentleague.protocol.messages import (
    Champion,
    GameOver,
    LeagueCompleted,
    LeagueStandingsUpdate,
    LockResponse,
    PlayerRecord,
    RoundAnnouncement,
    RoundCompleted,
    RoundMatch,
    RoundSummary,
    Seated,
)
from agentleague.protocol.tokens import match_token

SENDER = "league_manager"
encode = msgspec.json.Encoder().encode
ROWS_BYTES = 9_400  # of the 10,240 that an agent reads; the rest is the envelope


class Broadcasts:
    """Writes for one league."""

    def __init__(self, league: League) -> None:
        self._league = league

    def announcement(self, now_text: str, rows: "Rows", player_id: str | None) -> RoundAnnouncement:
        """Who meets whom; to a player with the commitment of its own match."""
        league = self._league
        return RoundAnnouncement(
            **self._envelope(now_text, f"conv-round-{league.round_id}-announce"),
            round_id=league.round_id,
            byes=league.byes[league.round_id],
            **_fitted("matches", rows, player_id),
        )

    def match_rows(self) -> "Rows":
        """The matches of the running round, one row each."""
        league = self._league
        rows, own, index = [], [], {}
        for number, record in enumerate(self._of_round(league.round_id)):
            row = self._match(record)
            rows.append(encode(row))
            own.append(encode(msgspec.structs.replace(row, draw_commitment=record.commitment)))
            index[record.players[0]] = index[record.players[1]] = number
        return Rows(rows, index, own)

    def assignment(
        self, now_text: str, matches: Sequence[RoundMatch], session: str
    ) -> RoundAnnouncement:
        """A referee's copy of the announcement: the matches it is to run."""
        league = self._league
        return RoundAnnouncement(
            **self._envelope(now_text, f"conv-round-{league.round_id}-announce"),
            round_id=league.round_id,
            matches=list(matches),
            session=session,
            rules=league.rules.rules,
        )

    def assigned(self, record: MatchRecord, channel: Callable[[str], bytes]) -> RoundMatch:
        """One match as its referee needs to know it; `channel` gives a player's channel key."""
        seats = [
            self._seated(record, player_id, channel(player_id)) for player_id in record.players
        ]
        return msgspec.structs.replace(
            self._match(record),
            draw_commitment=record.commitment,
            player_A_endpoint=seats[0].endpoint,
            player_B_endpoint=seats[1].endpoint,
            epoch=record.epoch,
            seats=seats,
            locks=len(record.locks) or UNSET,
            decided=True if record.decided else UNSET,
        )

    def moved(self, now_text: str, record: MatchRecord) -> RoundAnnouncement:
        """To the two players of a match: it has another referee."""
        row = msgspec.structs.replace(self._match(record), draw_commitment=record.commitment)
        return RoundAnnouncement(
            **self._envelope(now_text, f"conv-round-{record.round_id}-announce"),
            round_id=record.round_id,
            matches=[row],
        )

    def game_over(
        self, now_text: str, record: MatchRecord, locked: LockResponse, seat: int, channel: bytes
    ) -> GameOver:
        """How a match ended, where no referee is left to say so: in the referee's stead."""
        league, player_id = self._league, record.players[seat]
        assert locked.result
        names = (league.rules.league_id, record.match_id, player_id, record.epoch)
        return GameOver(
            game_result=locked.result.game_result,
            **self._envelope(now_text, f"conv-{record.match_id.lower()}-{record.epoch:03d}"),
            auth_token=match_token(channel, "ref>player", *names),
            round_id=record.round_id,
            match_id=record.match_id,
            player_id=player_id,
            epoch=record.epoch,
            referee_endpoint=league.roster.referees[record.referee_id].endpoint,
            game_type=league.rules.game_type,
            reason=locked.result.game_result.reason,
            draw=locked.draw,
        )

    def table_rows(self) -> "Rows":
        """The table, one row each."""
        standings = self._league.table.rows()
        rows = [encode(standing) for standing in standings]
        return Rows(rows, {row.player_id: number for number, row in enumerate(standings)})

    def standings(self, now_text: str, rows: "Rows", player_id: str) -> LeagueStandingsUpdate:
        """The table as it stands."""
        round_id = self._league.round_id
        return LeagueStandingsUpdate(
            **self._envelope(now_text, f"conv-round-{round_id}-standings"),
            round_id=round_id,
            **_fitted("standings", rows, player_id),
        )

    def round_completed(self, now_text: str, round_id: int) -> RoundCompleted:
        """A round is over; one without a contest counts among the technical losses too."""
        league = self._league
        assert league.schedule
        records = self._of_round(round_id)
        results = [record.result for record in records if record.result]
        outcomes = [result.status for result in results]
        return RoundCompleted(
            **self._envelope(now_text, f"conv-round-{round_id}-complete"),
            round_id=round_id,
            matches_played=len(outcomes),
            matches_completed=len(outcomes),
            next_round_id=round_id + 1 if round_id < league.schedule.rounds_total else None,
            summary=RoundSummary(
                len(records),
                outcomes.count("WIN"),
                outcomes.count("DRAW"),
                outcomes.count("TECHNICAL_LOSS"),
                sum(result.no_contest is True for result in results),
            ),
        )

    def league_completed(
        self, now_text: str, rows: "Rows", agent_id: str | None
    ) -> LeagueCompleted:
        """The league is over."""
        league = self._league
        first = league.table.row(league.champion) if league.champion else None
        return LeagueCompleted(
            **self._envelope(now_text, "conv-league-complete"),
            total_rounds=league.schedule.rounds_total if league.schedule else 0,
            total_matches=league.schedule.matches_total if league.schedule else 0,
            champion=Champion(first.player_id, first.display_name, first.points) if first else None,
            aborted=True if league.aborted else UNSET,
            **_fitted("final_standings", rows, agent_id),
        )

    def _envelope(self, now_text: str, conversation_id: str) -> dict[str, Any]:
        return {
            "sender": SENDER,
            "timestamp": now_text,
            "conversation_id": conversation_id,
            "league_id": self._league.rules.league_id,
        }

    def _match(self, record: MatchRecord) -> RoundMatch:
        league = self._league
        return RoundMatch(
            record.match_id,
            league.rules.game_type,
            *record.players,
            league.roster.referees[record.referee_id].endpoint,
        )

    def _seated(self, record: MatchRecord, player_id: str, channel: bytes) -> Seated:
        league = self._league
        member = league.roster.players[player_id]
        names = (league.rules.league_id, record.match_id, player_id, record.epoch)
        return Seated(
            player_id,
            member.endpoint,
            member.display_name,
            PlayerRecord(*league.table.record(player_id)),
            match_token(channel, "ref>player", *names),
            match_token(channel, "player>ref", *names),
            league.roster.digests_of(player_id),
            league.is_suspended(player_id),
            league.roster.dialects.get(player_id, UNSET),
        )

    def _of_round(self, round_id: int) -> list[MatchRecord]:
        assert self._league.schedule
        pairings = self._league.schedule.round(round_id).pairings
        return [self._league.matches[pairing.match_id] for pairing in pairings]


class Rows:
    """Rows of a message, encoded once for all its receivers; `own` is how each sees its own."""

    def __init__(
        self, rows: Sequence[bytes], index: Mapping[str, int], own: Sequence[bytes] | None = None
    ) -> None:
        self.rows, self._index, self._own = rows, index, own
        longest = max(map(len, own or rows), default=0) + 1
        fits = sum(map(len, rows)) + len(rows) + longest <= ROWS_BYTES
        self._window = len(rows) if fits else ROWS_BYTES // longest
        self._whole = b"" if own or not fits else b"[" + b",".join(rows) + b"]"  # The same for all.

    def fit(self, agent_id: str | None) -> tuple[bytes, bool]:
        """All rows, or as many as fit around this agent's own; and whether some are missing."""
        if self._whole:
            return self._whole, False
        own = self._index.get(agent_id or "")
        low = (own or 0) - self._window // 2
        low = max(0, min(low, len(self.rows) - self._window))
        chosen = list(self.rows[low : low + self._window])
        if own is not None and self._own:
            chosen[own - low] = self._own[own]
        return b"[" + b",".join(chosen) + b"]", len(chosen) < len(self.rows)


def _fitted(field: str, rows: Rows, agent_id: str | None) -> dict[str, Any]:
    """The field with its rows as they are encoded already: msgspec copies Raw as it is."""
    text, truncated = rows.fit(agent_id)
    if not truncated:
        return {field: msgspec.Raw(text)}
    return {field: msgspec.Raw(text), "total": len(rows.rows), "truncated": True}

"""The messages that the manager sends to many: announcements, the table, ends of rounds and league.

A message is at most 10 KB (document 004 section 14.1). If not all rows fit, the receiver's own row
and those nearest to it are sent, of a table also the first three, and the message says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from agentleague.league.match_records import MatchRecord
from agentleague.league.standings import champion_moves
from agentleague.manager.step import SENDER, Step
from agentleague.manager.tokens import Credentials
from agentleague.protocol import messages
from agentleague.protocol.tokens import match_token

encode = msgspec.json.Encoder().encode
CHAMPIONS_TOLD = 10  # of those who share rank 1
ROWS_BYTES = 9_400  # of the 10,240 that an agent reads; the rest is the envelope


class Broadcasts:
    """Writes the messages of one league."""

    def __init__(self, step: Step, credentials: Credentials) -> None:
        self._step, self._credentials = step, credentials
        self._league = step.league

    def announcement(self, rows: "Rows", player_id: str) -> messages.RoundAnnouncement:
        """The matches of a round, for a player: with the commitment of its own match."""
        round_id, matches = self._league.round_id, _fitted("matches", rows, player_id)
        return self._announcement(round_id, byes=self._league.byes[round_id], **matches)

    def match_rows(self) -> "Rows":
        """The matches of the running round, one row each."""
        league = self._league
        rows, own, index = [], [], {}
        for number, record in enumerate(league.matches.of_round(league.round_id)):
            row = self._match(record)
            rows.append(encode(row))
            own.append(encode(_sealed(row, record)))
            index[record.players[0]] = index[record.players[1]] = number
        return Rows(rows, index, own)

    def assignment(
        self, referee_id: str, matches: Sequence[messages.RoundMatch]
    ) -> messages.RoundAnnouncement:
        """A referee's copy of the announcement: the matches it is to run."""
        league = self._league
        session = self._credentials.session(league.roster.referees[referee_id])
        given = {"matches": list(matches), "session": session, "rules": league.rules.rules}
        return self._announcement(league.round_id, **given)

    def assigned(self, record: MatchRecord) -> messages.RoundMatch:
        """One match as its referee needs to know it."""
        seats = [self._seated(record, player_id) for player_id in record.players]
        return msgspec.structs.replace(
            _sealed(self._match(record), record),
            player_A_endpoint=seats[0].endpoint,
            player_B_endpoint=seats[1].endpoint,
            epoch=record.epoch,
            seats=seats,
            locks=len(record.locks) or UNSET,
            decided=True if record.decided else UNSET,
        )

    def new_referee(self, record: MatchRecord) -> messages.RoundAnnouncement:
        """For the two players of a match: it has another referee."""
        row = _sealed(self._match(record), record)
        return self._announcement(record.round_id, matches=[row])

    def game_over(
        self, record: MatchRecord, locked: messages.LockResponse, player_id: str
    ) -> messages.GameOver:
        """How a match ended, if no referee is left to say so."""
        league, channel = self._league, self._credentials.channel(player_id)
        assert locked.result
        names = (league.rules.league_id, record.match_id, player_id, record.epoch)
        return messages.GameOver(
            game_result=locked.result.game_result,
            **self._envelope(f"conv-{record.match_id.lower()}-{record.epoch:03d}"),
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

    def table_rows(self, *, room: int = 0) -> "Rows":
        """The table, one row each, with room for so many bytes beside it."""
        standings = self._league.table.rows()
        rows = [encode(standing) for standing in standings]
        index = {row.player_id: number for number, row in enumerate(standings)}
        return Rows(rows, index, room=room)

    def standings(self, rows: "Rows", player_id: str) -> messages.LeagueStandingsUpdate:
        """The table, for a player."""
        round_id = self._league.round_id
        return messages.LeagueStandingsUpdate(
            **self._envelope(f"conv-round-{round_id}-standings"),
            round_id=round_id,
            **_fitted("standings", rows, player_id),
        )

    def round_completed(self, round_id: int, *, is_last: bool) -> messages.RoundCompleted:
        """A round is over; a no contest counts among the technical losses too."""
        league = self._league
        records = league.matches.of_round(round_id)
        results = [record.result for record in records if record.result]
        outcomes = [result.status for result in results]
        return messages.RoundCompleted(
            **self._envelope(f"conv-round-{round_id}-complete"),
            round_id=round_id,
            matches_played=len(outcomes),
            matches_completed=len(outcomes),
            next_round_id=None if is_last else round_id + 1,
            summary=messages.RoundSummary(
                len(records),
                outcomes.count("WIN"),
                outcomes.count("DRAW"),
                outcomes.count("TECHNICAL_LOSS"),
                sum(result.no_contest is True for result in results),
            ),
        )

    def final_table(self) -> "FinalTable":
        """The last table and who won, the same for all who are told of the end."""
        league = self._league
        first = league.champions()
        drawn_first = sorted(first, key=lambda row: row.player_id != league.champion)
        champions = [
            messages.Champion(row.player_id, row.display_name, row.points)
            for row in drawn_first[:CHAMPIONS_TOLD]
        ]
        winners: dict[str, Any] = {
            "champion": champions[0] if champions else None,
            "champions": champions,
        }
        if len(first) > 1 and league.champion_commitment:
            moves = champion_moves(first) if len(first) <= CHAMPIONS_TOLD else []
            winners["champion_draw"] = messages.Draw(
                league.champion_commitment, league.champion_seed or "", moves
            )
        return self.table_rows(room=len(encode(winners))), winners

    def league_completed(self, table: "FinalTable", agent_id: str) -> messages.LeagueCompleted:
        """The league is over; a referee is shown its session."""
        league, (rows, winners) = self._league, table
        member, is_referee = league.roster.member(agent_id), agent_id not in league.roster.players
        return messages.LeagueCompleted(
            **self._envelope("conv-league-complete"),
            total_rounds=league.total_rounds,
            total_matches=league.total_matches,
            **winners,
            aborted=True if league.aborted else UNSET,
            session=self._credentials.session(member) if is_referee else UNSET,
            **_fitted("final_standings", rows, agent_id),
        )

    def _announcement(self, round_id: int, **more: Any) -> messages.RoundAnnouncement:
        envelope = self._envelope(f"conv-round-{round_id}-announce")
        return messages.RoundAnnouncement(**envelope, round_id=round_id, **more)

    def _envelope(self, conversation_id: str) -> dict[str, Any]:
        return {
            "sender": SENDER,
            "timestamp": self._step.now_text,
            "conversation_id": conversation_id,
            "league_id": self._league.rules.league_id,
        }

    def _match(self, record: MatchRecord) -> messages.RoundMatch:
        league = self._league
        return messages.RoundMatch(
            record.match_id,
            league.rules.game_type,
            *record.players,
            league.roster.referees[record.referee_id].endpoint,
        )

    def _seated(self, record: MatchRecord, player_id: str) -> messages.Seated:
        league, channel = self._league, self._credentials.channel(player_id)
        member = league.roster.players[player_id]
        names = (league.rules.league_id, record.match_id, player_id, record.epoch)
        return messages.Seated(
            player_id,
            member.endpoint,
            member.display_name,
            messages.PlayerRecord(*league.table.record(player_id)),
            match_token(channel, "ref>player", *names),
            match_token(channel, "player>ref", *names),
            league.roster.digests_of(player_id),
            league.is_suspended(player_id),
            league.roster.dialects.get(player_id, UNSET),
            league.timed_out.get(player_id, UNSET) if league.timed_out else UNSET,
        )


def _sealed(row: messages.RoundMatch, record: MatchRecord) -> messages.RoundMatch:
    """With what its draws are sealed with."""
    generation = record.generation or UNSET
    return msgspec.structs.replace(
        row, draw_commitment=record.commitment, draw_generation=generation
    )


class Rows:
    """Rows of a message, encoded once for all its receivers; `own` are those that differ for it."""

    def __init__(
        self,
        rows: Sequence[bytes],
        index: Mapping[str, int],
        own: Sequence[bytes] | None = None,
        *,
        room: int = 0,
    ) -> None:
        self.rows, self._index, self._own = rows, index, own
        self._head = 0 if own else 3  # Everybody sees the first three ranks of a table.
        longest = max(map(len, own or rows), default=0) + 1
        bytes_max = ROWS_BYTES - room
        fits = sum(map(len, rows)) + len(rows) + longest <= bytes_max
        self._window = len(rows) if fits else bytes_max // longest
        self._whole = b"" if own or not fits else b"[" + b",".join(rows) + b"]"  # The same for all.

    def fit(self, agent_id: str) -> tuple[bytes, bool]:
        """All rows, or as many as fit around this agent's own; and whether some are missing."""
        if self._whole:
            return self._whole, False
        own, head = self._index.get(agent_id), self._head
        near = self._window - head
        low = max(head, min((own or 0) - near // 2, len(self.rows) - near))
        chosen = [*self.rows[:head], *self.rows[low : low + near]]
        if own is not None and self._own:
            chosen[own - low] = self._own[own]
        return b"[" + b",".join(chosen) + b"]", len(chosen) < len(self.rows)


FinalTable = tuple[Rows, dict[str, Any]]  # and the fields that name the champions


def _fitted(field: str, rows: Rows, agent_id: str) -> dict[str, Any]:
    """The field with its encoded rows, which msgspec copies as they are."""
    text, truncated = rows.fit(agent_id)
    if not truncated:
        return {field: msgspec.Raw(text)}
    return {field: msgspec.Raw(text), "total": len(rows.rows), "truncated": True}

"""The messages that the manager sends to many: announcements, the table, ends of rounds and league.

A message is at most 10 KB (document 004 section 14.1). If not all rows fit, the receiver's own row
and those nearest to it are sent, of a table also the first three, and the message says so. In a
large league agents of ours get few rows, and ask when they want to know more: those whose rows
stand together get the same message, which is written once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentleague.league.match_records import MatchRecord
from agentleague.league.standings import champion_moves
from agentleague.manager.step import SENDER, Step
from agentleague.manager.tokens import Credentials
from agentleague.protocol import messages
from agentleague.protocol.fast_path import Pairing
from agentleague.protocol.tokens import match_token

encode = msgspec.json.Encoder().encode
CHAMPIONS_TOLD = 10  # of those who share rank 1
ROWS_BYTES = 9_400  # of the 10,240 that an agent reads; the rest is the envelope
SMALL_PLAYERS = 30  # at most, in a league whose agents all get all rows
BLOCK_ROWS = 8  # of a large league, for whose agents of ours there is one message


class Broadcasts:
    """Writes the messages of one league."""

    def __init__(self, step: Step, credentials: Credentials) -> None:
        self._step, self._credentials = step, credentials
        self._league = step.league

    def to_each_player(
        self, rows_of: Callable[[bool], "Rows"]
    ) -> list[tuple[str, messages.Message]]:
        """For all but those whom the organiser removed; only rows that somebody gets are made."""
        roster = self._league.roster
        is_large, dialects = len(roster.players) > SMALL_PLAYERS, roster.dialects
        receivers: dict[bool, list[str]] = {}
        for each, member in roster.players.items():
            if each not in roster.removed:
                is_short = is_large and member.proofs and each not in dialects
                receivers.setdefault(is_short, []).append(each)
        return [
            told
            for is_short, players in receivers.items()
            for told in rows_of(is_short).to_each(players)
        ]

    def match_rows(self, is_short: bool = False) -> "Rows":
        """The matches of the running round; a player gets the commitment of its own match."""
        league, members = self._league, self._league.roster.players
        round_id, byes = league.round_id, league.byes[league.round_id]

        def write(matches: Any, **more: Any) -> messages.RoundAnnouncement:
            return self._announcement(round_id, matches=matches, byes=byes, **more)

        rows, own, index = [], [], {}
        for number, record in enumerate(league.matches.of_round(round_id)):
            index[record.players[0]] = index[record.players[1]] = number
            if is_short:  # A short table does not say what the others are called.
                draw, names = _draw(record), [members[each].display_name for each in record.players]
                rows.append(encode(Pairing(record.match_id, *record.players, *draw, *names)))
            else:
                rows.append(encode(self._match(record)))
                own.append(encode(self._match(record, _draw(record))))
        return Rows(rows, index, write, own=own, is_short=is_short)

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
        return self._match(
            record,
            _draw(record),
            player_A_endpoint=seats[0].endpoint,
            player_B_endpoint=seats[1].endpoint,
            epoch=record.epoch,
            seats=seats,
            locks=len(record.locks) or UNSET,
            decided=True if record.decided else UNSET,
        )

    def new_referee(self, record: MatchRecord) -> messages.RoundAnnouncement:
        """For the two players of a match: it has another referee."""
        row = self._match(record, _draw(record))
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

    def table_rows(self, is_short: bool = False, *, room: int = 0) -> "Rows":
        """The table, one row each, with room for so many bytes beside it."""
        standings, round_id = self._league.table.rows(), self._league.round_id
        rows = [encode(standing) for standing in standings]
        index = {row.player_id: number for number, row in enumerate(standings)}

        def write(table: Any, **more: Any) -> messages.LeagueStandingsUpdate:
            envelope = self._envelope(f"conv-round-{round_id}-standings")
            return messages.LeagueStandingsUpdate(
                **envelope, round_id=round_id, standings=table, **more
            )

        return Rows(rows, index, write, head=3, room=room, is_short=is_short)

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
        first_drawn = champions[0] if champions else None
        winners: dict[str, Any] = {"champion": first_drawn, "champions": champions}
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
        final_standings, more = rows.fit(agent_id)
        return messages.LeagueCompleted(
            **self._envelope("conv-league-complete"),
            total_rounds=league.total_rounds,
            total_matches=league.total_matches,
            **winners,
            aborted=True if league.aborted else UNSET,
            session=self._credentials.session(member) if is_referee else UNSET,
            final_standings=final_standings,
            **more,
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

    def _match(
        self, record: MatchRecord, draw: tuple[Any, ...] = (), **more: Any
    ) -> messages.RoundMatch:
        league = self._league
        endpoint = league.roster.referees[record.referee_id].endpoint
        names = (record.match_id, league.rules.game_type, *record.players, endpoint)
        return messages.RoundMatch(*names, *draw, **more)

    def _seated(self, record: MatchRecord, player_id: str) -> messages.Seated:
        league, roster = self._league, self._league.roster
        member, channel = roster.players[player_id], self._credentials.channel(player_id)
        names = (league.rules.league_id, record.match_id, player_id, record.epoch)
        return messages.Seated(
            player_id,
            league.url_of(player_id),
            member.display_name,
            messages.PlayerRecord(*league.table.record(player_id)),
            match_token(channel, "ref>player", *names),
            match_token(channel, "player>ref", *names),
            roster.digests_of(member),
            league.is_suspended(player_id),
            roster.dialects.get(player_id, UNSET),
            league.timed_out.get(player_id, UNSET),
            True if member.is_seated else UNSET,
        )


def _draw(record: MatchRecord) -> tuple[str, int | UnsetType]:
    """With what its draws are sealed."""
    return record.commitment, record.generation or UNSET


class Rows:
    """Rows of a message, each encoded once, and one message for all who get the same of them.

    `own` differ for their own agents; everybody gets the `head`. Where it is short, an agent gets
    the rows of its block and one more on each side; otherwise as many as fit around its own.
    """

    def __init__(  # noqa: PLR0913 - the rows, who gets which of them, and what is made of these.
        self,
        rows: Sequence[bytes],
        index: Mapping[str, int],
        write: Callable[..., messages.Message],
        *,
        own: Sequence[bytes] = (),
        head: int = 0,
        room: int = 0,
        is_short: bool = False,
    ) -> None:
        self._rows, self._index, self._own, self._head = rows, index, own, head
        self._write, self._is_short = write, is_short
        self._messages: dict[int, messages.Message] = {}  # by block
        longest = max(map(len, own or rows), default=0) + 1
        bytes_max = ROWS_BYTES - room
        fits = sum(map(len, rows)) + len(rows) + longest <= bytes_max
        self._fitting = len(rows) if fits else bytes_max // longest
        is_same = fits and rows and not own  # for all
        self._block = BLOCK_ROWS if is_short else len(rows) if is_same else 1

    def to_each(self, agents: Iterable[str]) -> list[tuple[str, messages.Message]]:
        """What these agents get; it is written for the first of all who get the same."""
        told = []
        for agent_id in agents:
            block = self._index.get(agent_id, -1) // self._block
            message = self._messages.get(block)
            if message is None:
                text, more = self._cut(block)
                message = self._messages[block] = self._write(text, **more)
            told.append((agent_id, message))
        return told

    def fit(self, agent_id: str) -> tuple[Any, dict[str, Any]]:
        """An agent's rows, which msgspec copies as they are, and fields that say if some miss."""
        return self._cut(self._index.get(agent_id, -1) // self._block)

    def _cut(self, block: int) -> tuple[Any, dict[str, Any]]:
        """What those of a block get; block -1 is of those who have no row."""
        head, rows, first = self._head, self._rows, max(block, 0) * self._block
        if self._is_short:
            low, high = max(head, first - 1), first + BLOCK_ROWS + 1
        else:
            near = self._fitting - head
            low = max(head, min(first - near // 2, len(rows) - near))
            high = low + near
        chosen = [*rows[:head], *rows[low:high]]
        if self._own and block >= 0:
            chosen[first - low] = self._own[first]
        is_cut = len(chosen) < len(rows)
        more = {"total": len(rows), "truncated": True} if is_cut else {}
        return Raw(b"[" + b",".join(chosen) + b"]"), more


FinalTable = tuple[Rows, dict[str, Any]]  # and the fields that name the champions

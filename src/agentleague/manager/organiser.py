"""What the organiser may do to a league: start, pause, abort it, change who is in it, rule."""

import hmac
from collections.abc import Callable, Mapping
from typing import Any

from agentleague.errors import (
    MatchMismatch,
    NotRegistered,
    TokenInvalid,
    TokenMissing,
    UnexpectedMessage,
    UnknownMethod,
    WrongType,
)
from agentleague.league.events import LeagueContinued, LeaguePaused, MatchRuled, PlayerRemoved
from agentleague.league.league import Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.match_result import STAND, VERDICTS, ruling_in_words
from agentleague.manager.assignments import Assignments
from agentleague.manager.notices import BEGUN, rounds_in_words
from agentleague.manager.rounds import Rounds
from agentleague.manager.step import Step
from agentleague.protocol.printable import counted

REASON_MAX = 200
Command = Callable[[Mapping[str, Any]], str]  # its parameters -> what was done


class Organiser:
    """Carries out the organiser's commands; each says in a sentence what was done."""

    def __init__(
        self,
        step: Step,
        *,
        rounds: Rounds,
        assignments: Assignments,
        admin_token: str,
        add: Mapping[str, Command],
    ) -> None:
        self._step, self._rounds, self._assignments = step, rounds, assignments
        self._admin_token = admin_token
        self.vouches: Callable[[str], bool] = lambda token: False  # for further tokens
        self._commands: dict[str, Command] = {
            **add,
            "start": self._start,
            "pause": self._pause,
            "abort": self._abort,
            "remove": self._remove,
            "rule": self._rule,
        }

    def is_organiser(self, token: str | None) -> bool:
        """Whether this is the organiser's token."""
        shown, own = (token or "").encode(errors="replace"), self._admin_token.encode()
        is_own = bool(own) and hmac.compare_digest(shown, own)
        return is_own or (bool(token) and self.vouches(token or ""))

    def obey(self, token: str | None, command: str, params: Mapping[str, Any]) -> str:
        """Do it, and say what was done. Raises LeagueError if it may not or cannot be done now."""
        if not token:
            raise TokenMissing("organiser commands need the admin token as auth_token")
        if not self.is_organiser(token):
            raise TokenInvalid("auth_token is not the organiser's; it lies in DIR/admin.token")
        carry_out = self._commands.get(command)
        if carry_out is None:
            known = sorted(self._commands)
            raise UnknownMethod(f"command {command[:64]!r} is unknown", known=known)
        return carry_out(params)

    def _start(self, params: Mapping[str, Any]) -> str:
        league = self._step.league
        if league.paused:
            self._step.record(LeagueContinued())
            self._assignments.end_pause()
            self._rounds.end_pause()
            return "The league goes on."
        if league.phase is not Phase.REGISTERING:
            raise UnexpectedMessage(f"the league has begun already: it is {league.phase}")
        missing = self._rounds.missing()
        if missing:
            raise UnexpectedMessage(f"{missing}; then start again")
        self._rounds.start()
        return f"{BEGUN}: {rounds_in_words(league)}."

    def _pause(self, params: Mapping[str, Any]) -> str:
        league = self._step.league
        if league.paused:
            raise UnexpectedMessage("the league is paused already")
        if league.phase is not Phase.RUNNING:
            raise UnexpectedMessage(f"only a league that runs can be paused; it is {league.phase}")
        self._step.record(LeaguePaused())
        return "The league is paused: matches in play end, nothing new begins, no clock runs."

    def _abort(self, params: Mapping[str, Any]) -> str:
        if self._step.league.phase is Phase.COMPLETED:
            raise UnexpectedMessage("the league is over already")
        self._rounds.abort()
        return "The league is aborted; everybody is told, and the results so far stand."

    def _remove(self, params: Mapping[str, Any]) -> str:
        league, player_id = self._step.league, params.get("player_id")
        if not isinstance(player_id, str):
            raise WrongType("params.player_id must name a player, as P03", field="params.player_id")
        if player_id not in league.roster.players:
            raise NotRegistered(f"no player {player_id[:64]!r} is registered")
        if league.phase is Phase.COMPLETED:
            raise UnexpectedMessage("the league is over already")
        if player_id in league.roster.removed:
            raise UnexpectedMessage(f"{player_id} is removed already")
        from_round = max(league.round_id + self._rounds.has_begun, 1)
        self._step.record(PlayerRemoved(player_id, from_round))
        if not league.has_started:
            left = counted(league.players_total, "player")
            return f"{player_id} is removed and will not play; {left} left."
        coming = "the coming ones are technical losses"
        if league.progress.format.pairs_by_results(league.progress.options):
            coming = "it is paired no more"
        more = f"{self._match_now(player_id)}{coming}, and it stays in the table"
        return f"{player_id} is removed: {more}."

    def _match_now(self, player_id: str) -> str:
        """What becomes of its match in the running round, if that has no result."""
        matches = self._step.league.matches
        for match_id in sorted(self._step.league.open_matches):
            record = matches[match_id]
            if player_id in record.players and record.decided is None:
                plays_on = f"{match_id}, which is in play, goes on, "
                loses = f"it loses {match_id}, which had not begun, "
                return plays_on if self._rounds.has_begun else loses
        return ""

    def _rule(self, params: Mapping[str, Any]) -> str:
        league = self._step.league
        record = self._record_to_rule(params.get("match_id"))
        ruling = _ruling(record, params)
        self._check_end_is_told()
        before = league.table.rows()
        self._step.record(ruling)
        said = f"{record.match_id}: {ruling_in_words(ruling)}."
        if record.match_id in league.open_matches and league.phase is not Phase.COMPLETED:
            return f"{said} The table counts it as soon as its players were told how it ended."
        if league.table.rows() == before:
            return f"{said} The table is as it was."
        if league.phase is not Phase.COMPLETED:
            self._rounds.tell_table()
            return f"{said} The table counts it; what the two players were told is not told anew."
        return (
            f"{said} The table counts it, and the champion is {league.champion}. LEAGUE_COMPLETED "
            "was sent before that and is not sent again: tell the players yourself."
        )

    def _check_end_is_told(self) -> None:
        """With a ruling now and a restart after it, agents would be told different champions."""
        league = self._step.league
        is_told = ("league_end", league.round_id) in league.told
        if league.phase is Phase.COMPLETED and not is_told:
            then = f"rule again in {self._step.settings.reply_seconds:g} seconds"
            raise UnexpectedMessage(f"the league's end is being told to everybody just now; {then}")

    def _record_to_rule(self, match_id: Any) -> MatchRecord:
        """The match, if it has a result: before that there is nothing to rule on."""
        if not isinstance(match_id, str):
            raise WrongType("params.match_id must name a match, as R1M1", field="params.match_id")
        league = self._step.league
        record = league.matches.get(match_id)
        if record is None:
            raise MatchMismatch(f"there is no match {match_id[:64]!r} that has begun")
        if record.decided is None:
            then = "and will have none" if league.phase is Phase.COMPLETED else "yet: wait for it"
            raise UnexpectedMessage(f"{match_id} has no result {then}")
        return record


def _ruling(record: MatchRecord, params: Mapping[str, Any]) -> MatchRuled:
    verdict, winner, reason = (params.get(name) for name in ("verdict", "winner", "reason"))
    if verdict not in VERDICTS:
        raise WrongType(f"params.verdict must be one of {VERDICTS}", field="params.verdict")
    if verdict == "win" and winner not in record.players:
        a, b = record.players
        raise WrongType(
            f"the winner of {record.match_id} can only be {a} or {b}, who played it",
            field="params.winner",
        )
    if verdict != "win" and winner is not None:
        raise WrongType("params.winner goes only with the verdict 'win'", field="params.winner")
    words = _one_line(reason) if isinstance(reason, str) else ""
    if not words and verdict != STAND:
        raise WrongType("params.reason must say why, in words", field="params.reason")
    ruling = MatchRuled(record.match_id, verdict, winner, words)
    is_settled = not record.is_disputed and not record.is_unconfirmed
    if is_settled and (ruling == record.ruling or (verdict == STAND and not record.ruling)):
        raise UnexpectedMessage(f"{record.match_id} is not disputed, and that counts already")
    return ruling


def _one_line(text: str) -> str:
    kept = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(kept.split())[:REASON_MAX].rstrip()

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
from agentleague.league.match_records import MatchFile
from agentleague.league.rulings import STAND, VERDICTS, ruling_in_words
from agentleague.manager.assignments import Assignments
from agentleague.manager.organiser_notices import BEGUN
from agentleague.manager.rounds import Rounds
from agentleague.manager.step import Clerk

REASON_MAX = 200
Command = Callable[[Mapping[str, Any]], str]  # what is wanted -> what was done


class Organiser:
    """Carries out the organiser's commands; each says in a sentence what was done."""

    def __init__(
        self,
        clerk: Clerk,
        rounds: Rounds,
        assignments: Assignments,
        admin_token: str,
        more: Mapping[str, Command],
    ) -> None:
        self._clerk, self._rounds, self._assignments = clerk, rounds, assignments
        self._admin_token = admin_token
        self._commands: dict[str, Command] = {
            **more,
            "start": self._start,
            "pause": self._pause,
            "abort": self._abort,
            "remove": self._remove,
            "rule": self._rule,
        }

    def is_organiser(self, token: str | None) -> bool:
        """Whether this is the organiser's token."""
        shown, own = (token or "").encode(errors="replace"), self._admin_token.encode()
        return bool(own) and hmac.compare_digest(shown, own)

    def obey(self, token: str | None, command: str, params: Mapping[str, Any]) -> str:
        """Do it, and say what was done.

        Raises:
            LeagueError: whoever asks is not the organiser, or it cannot be done now, and why.
        """
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
        league = self._clerk.league
        if league.paused:
            self._clerk.record(LeagueContinued())
            self._assignments.continued()
            self._rounds.continued()
            return "The league goes on."
        if league.phase is not Phase.REGISTERING:
            raise UnexpectedMessage(f"the league has begun already: it is {league.phase}")
        missing = self._rounds.missing()
        if missing:
            raise UnexpectedMessage(f"{missing}; register more, then start again")
        self._rounds.start()
        assert league.schedule
        rounds = league.schedule.rounds_total
        return f"{BEGUN}: {rounds} {'round' if rounds == 1 else 'rounds'}."

    def _pause(self, params: Mapping[str, Any]) -> str:
        league = self._clerk.league
        if league.paused:
            raise UnexpectedMessage("the league is paused already")
        if league.phase is not Phase.RUNNING:
            raise UnexpectedMessage(f"only a league that runs can be paused; it is {league.phase}")
        self._clerk.record(LeaguePaused())
        return "The league is paused: matches in play end, nothing new begins, no clock runs."

    def _abort(self, params: Mapping[str, Any]) -> str:
        if self._clerk.league.phase is Phase.COMPLETED:
            raise UnexpectedMessage("the league is over already")
        self._rounds.abort()
        return "The league is aborted; everybody is told, and the results so far stand."

    def _remove(self, params: Mapping[str, Any]) -> str:
        league, player_id = self._clerk.league, params.get("player_id")
        if not isinstance(player_id, str):
            raise WrongType("params.player_id must name a player, as P03", field="params.player_id")
        if player_id not in league.roster.players:
            raise NotRegistered(f"no player {player_id[:64]!r} is registered")
        if league.phase is Phase.COMPLETED:
            raise UnexpectedMessage("the league is over already")
        if player_id in league.roster.removed:
            raise UnexpectedMessage(f"{player_id} is removed already")
        from_round = max(league.round_id + self._rounds.has_begun, 1)
        self._clerk.record(PlayerRemoved(player_id, from_round))
        return (
            f"{player_id} is removed: a match in play goes on, the coming ones are technical "
            "losses, and it stays in the table."
        )

    def _rule(self, params: Mapping[str, Any]) -> str:
        league = self._clerk.league
        file = self._file_to_rule(params.get("match_id"))
        ruling = _ruling(file, params)
        self._check_end_is_told()
        before = league.table.rows()
        self._clerk.record(ruling)
        said = f"{file.match_id}: {ruling_in_words(ruling)}."
        if league.table.rows() == before:
            return f"{said} The table is as it was."
        self._rounds.ruled()
        if league.phase is not Phase.COMPLETED:
            return f"{said} The table counts it; what the two players were told is not told anew."
        return (
            f"{said} The table counts it, and {league.champion} is first. LEAGUE_COMPLETED was "
            "sent before that and is not sent again: tell the players yourself."
        )

    def _check_end_is_told(self) -> None:
        """A ruling meanwhile, and a restart: some would hear of another champion than the rest."""
        league = self._clerk.league
        is_told = ("league_end", league.round_id) in league.told
        if league.phase is Phase.COMPLETED and not is_told:
            seconds = self._clerk.reply_seconds
            raise UnexpectedMessage(
                "the league's end is being told to everybody just now; rule again in "
                f"{seconds:g} seconds"
            )

    def _file_to_rule(self, match_id: Any) -> MatchFile:
        """The match, if it has a result: before that there is nothing to rule on."""
        if not isinstance(match_id, str):
            raise WrongType("params.match_id must name a match, as R1M1", field="params.match_id")
        league = self._clerk.league
        file = league.matches.get(match_id)
        if file is None:
            raise MatchMismatch(f"there is no match {match_id[:64]!r} that has begun")
        if file.decided is None:
            then = "and will have none" if league.phase is Phase.COMPLETED else "yet: wait for it"
            raise UnexpectedMessage(f"{match_id} has no result {then}")
        return file


def _ruling(file: MatchFile, params: Mapping[str, Any]) -> MatchRuled:
    """What the organiser wants.

    Raises:
        WrongType: it makes no sense.
        UnexpectedMessage: it would change nothing.
    """
    verdict, winner, reason = (params.get(name) for name in ("verdict", "winner", "reason"))
    if verdict not in VERDICTS:
        raise WrongType(f"params.verdict must be one of {VERDICTS}", field="params.verdict")
    if verdict == "win" and winner not in file.players:
        a, b = file.players
        raise WrongType(
            f"the winner of {file.match_id} can only be {a} or {b}, who played it",
            field="params.winner",
        )
    if verdict != "win" and winner is not None:
        raise WrongType("params.winner goes only with the verdict 'win'", field="params.winner")
    words = _one_line(reason) if isinstance(reason, str) else ""
    if not words and verdict != STAND:
        raise WrongType("params.reason must say why, in words", field="params.reason")
    ruling = MatchRuled(file.match_id, verdict, winner, words)
    is_settled = not file.is_disputed
    if is_settled and (ruling == file.ruling or (verdict == STAND and not file.ruling)):
        raise UnexpectedMessage(f"{file.match_id} is not disputed, and that counts already")
    return ruling


def _one_line(text: str) -> str:
    kept = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(kept.split())[:REASON_MAX].rstrip()

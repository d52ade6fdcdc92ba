"""Who reports: a referee is known by its token, or, where it never shows one, by its address.

Documents 002 and 003 let referees report without a token. On one machine everybody has the same
address, so that is worth little: it counts only for matches that a referee of another make holds.
"""

from agentleague.league.events import TokenShown
from agentleague.league.roster import Member
from agentleague.manager.step import Clerk
from agentleague.protocol.hosts import is_at
from agentleague.roles.stimuli import Caller


class Reporters:
    """The referees of one league, as they are known when they report."""

    def __init__(self, clerk: Clerk, *, takes_tokenless: bool) -> None:
        self._clerk, self._takes_tokenless = clerk, takes_tokenless

    def of(self, caller: Caller, match_id: str) -> str:
        """Who reports this match.

        Raises:
            TokenMissing, TokenInvalid: nobody can tell; a wrong token is never taken for none.
        """
        file, roster = self._clerk.league.matches.get(match_id), self._clerk.league.roster
        if file and not caller.token:
            holder = roster.referees[file.referee_id]
            if self._may_be(holder, caller.source):
                return holder.agent_id
        referee_id = roster.referee_of(caller.token)
        self.shown(referee_id)
        return referee_id

    def shown(self, agent_id: str | None) -> None:
        """An agent showed its token: noted once of a referee that could do without."""
        roster = self._clerk.league.roster
        member = roster.referees.get(agent_id or "")
        if member and not member.locks and member.agent_id not in roster.showing:
            self._clerk.record(TokenShown(member.agent_id))

    def _may_be(self, holder: Member, source: str) -> bool:
        is_tokenless = self._takes_tokenless and not holder.locks
        showing = self._clerk.league.roster.showing
        is_allowed = holder.added or (is_tokenless and holder.agent_id not in showing)
        return is_allowed and is_at(holder.endpoint, source)

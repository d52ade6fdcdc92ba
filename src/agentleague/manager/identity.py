"""Under which id and name a new player plays: its own of the season, or new ones."""

from msgspec import UNSET, UnsetType

from agentleague.errors import DuplicateName
from agentleague.league.roster import clean_name, is_marked
from agentleague.league.season import Season
from agentleague.manager.claims import Claims
from agentleague.manager.step import Step
from agentleague.protocol.hosts import places
from agentleague.protocol.messages import PlayerMeta
from agentleague.roles.stimuli import Caller


class Identity:
    """Names players who are new in this league."""

    def __init__(self, step: Step, claims: Claims) -> None:
        self._step, self._claims = step, claims

    def of(self, meta: PlayerMeta, caller: Caller) -> tuple[str, str, str | UnsetType]:
        """Its id, its name, and how it is known from before. Raises DuplicateName."""
        season, roster = self._step.season, self._step.league.roster
        where = places(meta.contact_endpoint, caller.addresses)
        known = season.returning(
            roster,
            (caller.token or "", meta.claim or ""),
            (clean_name(meta.display_name), where),
            lambda member: self._claims.is_back(member, where, caller),
        )
        if known:
            member, how = known
            return member.agent_id, member.display_name, how
        player_id = season.next_player_id(roster)
        return player_id, self._name(meta.display_name, player_id, season), UNSET

    def _name(self, wanted: str, player_id: str, season: Season) -> str:
        """Under which name a new player is shown; those of a season's others stay theirs."""
        roster, unique_names = self._step.league.roster, self._step.settings.unique_names
        name = clean_name(wanted) or player_id
        if unique_names == "reject" and (roster.is_taken(name) or season.is_taken(name)):
            raise DuplicateName(
                f"a player is called {name!r} already; register under another name",
                display_name=name,
                suggestion="Choose a different display_name",
            )
        if unique_names == "suffix" or is_marked(name, player_id):
            return roster.effective_name(wanted, player_id, season.is_taken)
        return name

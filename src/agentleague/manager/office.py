"""What all parts of the manager work with."""

from typing import NamedTuple

from agentleague.league.adjudicator import Court
from agentleague.manager.broadcasts import Bulletins
from agentleague.manager.step import Clerk
from agentleague.manager.tokens import Keys
from agentleague.roles.settings import ManagerSettings


class Office(NamedTuple):
    """One league's pen, court, writer, keys and settings."""

    clerk: Clerk
    court: Court
    bulletins: Bulletins
    keys: Keys
    settings: ManagerSettings

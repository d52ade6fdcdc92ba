"""What all parts of the manager work with."""

from typing import NamedTuple

from agentleague.league.bulletins import Bulletins
from agentleague.league.court import Court
from agentleague.services.clerk import Clerk
from agentleague.services.keys import Keys
from agentleague.services.settings import ManagerSettings


class Office(NamedTuple):
    """One league's pen, court, writer, keys and settings."""

    clerk: Clerk
    court: Court
    bulletins: Bulletins
    keys: Keys
    settings: ManagerSettings

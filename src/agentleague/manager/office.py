"""What all parts of the manager work with."""

from typing import NamedTuple

from agentleague.league.adjudicator import Adjudicator
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.step import Step
from agentleague.manager.tokens import Keys
from agentleague.roles.settings import ManagerSettings


class Office(NamedTuple):
    """One league's pen, court, writer, keys and settings."""

    step: Step
    adjudicator: Adjudicator
    broadcasts: Broadcasts
    keys: Keys
    settings: ManagerSettings

"""The rules for managers, in the order in which they are tried: the course of one league."""

from agentleague.conformance import manager_end_rules
from agentleague.conformance.manager_registration_rules import MANAGER

__all__ = ["MANAGER", "manager_end_rules"]

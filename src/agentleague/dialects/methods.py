"""The method of a request as one agent spells it: learnt from one message, written for others.

In a pattern `message_type` stands for the type of the message and `tool_name` for the tool of the
documents, spelled as the agent spells them: `MessageType` writes GameInvitation, `on-message-type`
writes on-game-invitation. A pattern with neither is the one method for all messages.
"""

import re

from agentleague.dialects.tools import message_like
from agentleague.protocol.messages import MESSAGES

TOOL_NAME, MESSAGE_TYPE = "tool_name", "MESSAGE_TYPE"
_BETWEEN = r"([_.\-/:]?)"  # two words of a name
_PLACE = re.compile(rf"(message|tool){_BETWEEN}(type|name)", re.IGNORECASE)


def pattern_of(method: str, message_type: str) -> str:
    """How an agent spells methods that calls this message so."""
    kind = MESSAGES[message_type]
    names = (message_type, kind.method or "", *kind.aliases)
    for name in (each for each in names if "_" in each):
        first, second, *others = name.split("_")
        rest = "".join(rf"\2{each}" for each in others)
        found = re.search(rf"({first}){_BETWEEN}({second}){rest}", method, re.IGNORECASE)
        if found:
            is_type = name == message_type or found[0].isupper()
            place = MESSAGE_TYPE if is_type else TOOL_NAME
            return method.replace(found[0], _spelled(place, *found.groups()))
    is_for_all = method and not message_like(method, [message_type])
    return method if is_for_all else TOOL_NAME


def write_method(pattern: str, message_type: str, tool: str) -> str:
    """The method of this message, or of this tool, by a pattern."""
    found = _PLACE.search(pattern)
    if not found or pattern == TOOL_NAME:
        return tool if found else pattern
    name = tool if found[1].lower() == "tool" else message_type
    return pattern.replace(found[0], _spelled(name, *found.groups()))


def _spelled(name: str, first: str, between: str, second: str) -> str:
    head, *others = name.split("_")
    return between.join([_like(first, head), *(_like(second, each) for each in others)])


def _like(sample: str, word: str) -> str:
    if sample.isupper() or sample.islower():
        return word.upper() if sample.isupper() else word.lower()
    return word.capitalize()

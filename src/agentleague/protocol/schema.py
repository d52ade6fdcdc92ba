"""A JSON Schema (2020-12) for every message, made from its class."""

from typing import Any

import msgspec

from agentleague.protocol.messages import MESSAGES

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def message_schema(name: str) -> dict[str, Any]:
    """The schema of a message by its type; a field that may be missing when read is optional.

    Raises:
        KeyError: there is no such message.
    """
    cls = MESSAGES[name].cls
    _, components = msgspec.json.schema_components([cls], ref_template="#/$defs/{name}")
    top: dict[str, Any] = components.pop(cls.__name__)
    top["properties"]["message_type"] = {"const": name}
    schema = {"$schema": DIALECT, "$id": f"league.v2/{name}", **top, "title": name}
    return {**schema, "$defs": components} if components else schema

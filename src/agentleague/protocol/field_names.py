"""Names of fields as some agents spell them: in camel case, or `type` for `message_type`.

How an agent spells them is a text of marks, like `#camel` or `#type`: read from one message of it,
used to write others. A name in a JSON text is known by the colon that follows it.
"""

import re

from agentleague.protocol.messages import METHODS

CAMEL = "camel"
_IS_CAMEL = re.compile(rb'"(?:displayName|contactEndpoint|playerMeta|refereeMeta|matchId)"\s*:')
_TYPE = re.compile(rb'"(type|msg_type|messageType)"\s*:\s*"(\w{4,32})"')
_CAMEL_NAME = re.compile(rb'"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+"(?=\s*:)')
_SNAKE_NAME = re.compile(rb'"[a-z][a-z0-9]*(?:_[A-Za-z0-9]+)+"(?=\s*:)')


def documented(body: bytes) -> tuple[bytes, str]:
    """A request with the documented names, and the marks of how it spelled them."""
    marks = ""
    if _IS_CAMEL.search(body):
        body, marks = without_camel_case(body), f"#{CAMEL}"
    if b'"message_type"' not in body:
        for found in _TYPE.finditer(body):
            if found[2].decode().lower() in METHODS:
                rest = body[found.end(1) :]
                return body[
                    : found.start(1)
                ] + b"message_type" + rest, f"{marks}#{found[1].decode()}"
    return body, marks


def without_camel_case(body: bytes) -> bytes:
    """The same JSON text with its names in the documents' style."""
    return _CAMEL_NAME.sub(lambda name: re.sub(rb"[A-Z]", rb"_\g<0>", name[0]).lower(), body)


def spelled(body: bytes, marks: str) -> bytes:
    """A message of ours with names as these marks have them."""
    for mark in filter(None, marks.split("#")):
        if mark == CAMEL:
            body = _SNAKE_NAME.sub(
                lambda name: re.sub(rb"_(\w)", lambda part: part[1].upper(), name[0]), body
            )
        else:
            body = body.replace(b'"message_type":', b'"%b":' % mark.encode(), 1)
    return body

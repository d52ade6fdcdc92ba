"""The reference pages of messages and errors, made from their tables."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import NODEFAULT, inspect

from agentleague.errors import LeagueError
from agentleague.protocol.error_messages import REMEDIES
from agentleague.protocol.field_docs import note_of
from agentleague.protocol.messages import MESSAGES, Kind, Message
from page_parts import GENERATED, page, table

_ENVELOPE = frozenset(Message.__struct_fields__)


def messages_page() -> str:
    """Each message with its method, sender, receiver, answer and fields."""
    parts: dict[str, inspect.StructType] = {}
    sections = [_message(name, kind, parts) for name, kind in MESSAGES.items()]
    described = [_part(part, parts) for part in _all(parts)]
    envelope = _struct(Message)
    return page(
        "# Messages",
        GENERATED,
        "A name of a message or of a method is known in upper and lower case. Required is what a "
        "message is refused without. The rules stand in [protocol.md](../protocol.md).",
        table(("message", "method", "aliases", "from", "to", "answer"), map(_row, MESSAGES)),
        "## Envelope",
        "Every message has these fields, and `message_type`.",
        _fields(Message, envelope.fields, parts),
        *sections,
        "## Objects inside messages",
        *described,
    )


def wire_errors() -> list[type[LeagueError]]:
    """Each class of error that has a wire code of its own, by code."""
    found: dict[str, type[LeagueError]] = {}
    waiting = LeagueError.__subclasses__()
    for cls in waiting:  # It grows by their subclasses.
        if "code" in vars(cls):
            found.setdefault(cls.code, cls)
        waiting += cls.__subclasses__()
    return [found[code] for code in sorted(found)]


def errors_page() -> str:
    """Each wire error with what to do about it, and its numbers."""
    errors = wire_errors()
    meanings = ((cls.code, f"`{cls.name}`", _sentence(cls), REMEDIES[cls.code]) for cls in errors)
    others = (each for cls in errors for each in _other_numbers(cls))
    return page(
        "# Errors",
        GENERATED,
        "`code` and `name` stand in `error.data` as `error_code` and `error_name`, with a sentence "
        "about this very case as `error_message`.",
        table(("code", "name", "meaning", "what to do"), meanings),
        "## Numbers",
        "The number is `error.code` of the JSON-RPC answer.",
        table(
            ("code", "number", "HTTP status", "severity", "retryable"), map(_of_json_rpc, errors)
        ),
        "In answer to these messages it is another one:",
        table(("code", "number", "messages"), others),
    )


def _row(name: str) -> Sequence[str]:
    kind = MESSAGES[name]
    aliases = ", ".join(f"`{alias}`" for alias in kind.aliases)
    method = f"`{kind.method}`" if kind.method else ""
    return _link(name), method, aliases, kind.sender, kind.receiver, _link(kind.answer or "")


def _message(name: str, kind: Kind, parts: dict[str, inspect.StructType]) -> str:
    fields = [field for field in _struct(kind.cls).fields if field.name not in _ENVELOPE]
    about = _sentence(kind.cls) + (" In none of the documents." if kind.ours else "")
    return page(f"## {name}", about, *([_fields(kind.cls, fields, parts)] if fields else []))


def _part(part: inspect.StructType, parts: dict[str, inspect.StructType]) -> str:
    return page(
        f"### {part.cls.__name__}", _sentence(part.cls), _fields(part.cls, part.fields, parts)
    )


def _all(parts: dict[str, inspect.StructType]) -> Iterator[inspect.StructType]:
    """The parts named so far, and those that are named while these are described."""
    told: set[str] = set()
    while waiting := sorted(parts.keys() - told):
        told.add(waiting[0])
        yield parts[waiting[0]]


def _fields(
    owner: type, fields: Iterable[inspect.Field], parts: dict[str, inspect.StructType]
) -> str:
    rows = (
        (
            f"`{field.name}`",
            note_of(owner.__name__, field.name).text,
            _type(field.type, parts),
            _is_required(field),
        )
        for field in fields
    )
    return table(("field", "what it is", "type", "required"), rows)


def _is_required(field: inspect.Field) -> str:
    if field.required:
        return "yes"
    has_default = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
    return "no; always sent" if has_default else "no"


def _type(kind: inspect.Type, parts: dict[str, inspect.StructType]) -> str:
    """A type in words; an object is linked and noted among the parts."""
    match kind:
        case inspect.StructType():
            parts[kind.cls.__name__] = kind
            return _link(kind.cls.__name__)
        case inspect.UnionType():
            return " or ".join(_type(member, parts) for member in kind.types)
        case inspect.ListType():
            return f"list of {_type(kind.item_type, parts)}"
        case inspect.TupleType():
            return f"[{', '.join(_type(item, parts) for item in kind.item_types)}]"
        case inspect.DictType():
            return f"object of {_type(kind.value_type, parts)}"
        case inspect.LiteralType():
            return " or ".join(f'`"{value}"`' for value in kind.values)
        case _:
            return _plain(kind)


def _plain(kind: inspect.Type) -> str:
    match kind:
        case inspect.StrType():
            return f"text of at most {kind.max_length}"
        case inspect.IntType() if kind.ge != -(2**31):
            return f"integer from {kind.ge} to {kind.le}"
        case inspect.Metadata(extra_json_schema={"type": "boolean"}):
            return _NAMES[inspect.BoolType]
        case _:
            return _NAMES[type(kind)]


_NAMES: dict[type[inspect.Type], str] = {
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.AnyType: "anything",
}


def _struct(cls: type) -> inspect.StructType:
    kind = inspect.type_info(cls)
    assert isinstance(kind, inspect.StructType)
    return kind


def _of_json_rpc(cls: type[LeagueError]) -> Sequence[str]:
    is_retryable = "yes" if cls.retryable else "no"
    return cls.code, str(cls.number), str(cls.http_status), cls.severity, is_retryable


def _other_numbers(cls: type[LeagueError]) -> Iterator[Sequence[str]]:
    """Each number that depends on the message, and the messages it is for."""
    others: dict[int, list[str]] = {}
    for message_type, number in cls.numbers.items():
        others.setdefault(number, []).append(message_type)
    for number, names in others.items():
        yield cls.code, str(number), ", ".join(names)


def _sentence(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})" if name else ""

"""The settings as a table: what each is called, what it takes, and what it is for.

Options, files, error messages and the reference page are all made from these rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from functools import cache
from textwrap import dedent
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec.inspect import (
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    LiteralType,
    NoneType,
    StrType,
    Type,
    UnionType,
    type_info,
)

from agentleague.roles.settings import AgentSettings

PREFIX = "LEAGUE_"
# What an option is called where that is not the setting's own name.
SHORT = {
    "display_name": "name",
    "game_type": "game",
    "manager_url": "manager",
    "start_after_seconds": "start_after",
}
# Where a new group of settings begins, in the order of the dataclasses.
MANAGER_HEADINGS = {
    "league_id": "The league",
    "players": "When it starts",
    "join_seconds": "How long a player may take",
    "retries": "When no answer comes",
    "win_points": "The table",
    "lease_seconds": "Referees",
    "join_code": "Strangers",
    "port": "The network",
    "shared_dir": "Files",
}
AGENT_HEADINGS = {
    "manager_url": "Registration",
    "port": "The network",
    "state": "Its work",
    "max_concurrent_matches": "Its work",
    "seed": "Its work",
}


class Setting(NamedTuple):
    """One row of the table."""

    name: str
    annotation: Any  # with its limits
    value: Any  # the default
    heading: str
    role: type  # whose setting it is

    @property
    def sentence(self) -> str:
        """What it is for."""
        return _sentences(self.role)[self.name]

    @property
    def type(self) -> str:
        """What it takes, in words."""
        return _words(_kind(self.annotation), self.choices)

    @property
    def choices(self) -> Sequence[str]:
        """The texts of which it takes one, or some, where there are only these."""
        return _choices(self.annotation)

    @property
    def default(self) -> str:
        """The default as a TOML file has it; empty where there is none."""
        return "" if self.value is None else as_toml(self.value)

    @property
    def metavar(self) -> str:
        """What stands for its value in a help page."""
        return _metavar(self.name, _kind(self.annotation), self.choices)

    @property
    def options(self) -> tuple[str, ...]:
        """What it is called on the command line."""
        return tuple(f"--{name.replace('_', '-')}" for name in self._names)

    @property
    def variables(self) -> tuple[str, ...]:
        """What it is called in the environment; where both are there, the first counts."""
        return tuple(f"{PREFIX}{name.upper()}" for name in reversed(self._names))

    @property
    def is_flag(self) -> bool:
        """Whether it is either on or off."""
        return self.annotation is bool

    @property
    def _names(self) -> tuple[str, ...]:
        short = SHORT.get(self.name)
        return (short, self.name) if short else (self.name,)


@cache
def describe(cls: type) -> Sequence[Setting]:
    """Every setting of this role that a person can set, in the order of its dataclass."""
    hints = get_type_hints(cls, include_extras=True)
    headings = AGENT_HEADINGS if issubclass(cls, AgentSettings) else MANAGER_HEADINGS
    rows, heading = [], ""
    for each in fields(cls):
        heading = headings.get(each.name, heading)
        if not each.metadata.get("derived"):
            rows.append(Setting(each.name, hints[each.name], _default(each), heading, cls))
    return rows


def as_toml(value: Any) -> str:
    """A value as a TOML file has it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value)  # Numbers, texts, true and false are written alike.


def _default(each: "Field[Any]") -> Any:
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default


@cache
def _sentences(cls: type) -> Mapping[str, str]:
    """The sentence below each field, its bases' included; a player that runs needs none."""
    import ast
    import inspect

    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        tree = ast.parse(dedent(inspect.getsource(base))).body[0]
        assert isinstance(tree, ast.ClassDef)
        for above, below in zip(tree.body, tree.body[1:], strict=False):
            if isinstance(above, ast.AnnAssign) and isinstance(below, ast.Expr):
                assert isinstance(above.target, ast.Name)
                found[above.target.id] = ast.literal_eval(below.value)
    return found


def _words(kind: Type, choices: Sequence[str]) -> str:
    match kind:
        case BoolType():
            return "true or false"
        case IntType() | FloatType():
            return ("a whole number" if isinstance(kind, IntType) else "a number") + _limits(kind)
        case LiteralType():
            return _either([f'"{choice}"' for choice in choices])
        case ListType():
            return "a list of " + (_either([f'"{each}"' for each in choices]) or "texts")
        case DictType():
            return "a table"
        case StrType(pattern=pattern) if pattern:
            return f"at most {kind.max_length} letters, digits, _ and -"
        case StrType(max_length=longest) if longest:
            return f"a text of at most {longest} characters"
        case _:
            return "a text"


def _limits(kind: IntType | FloatType) -> str:
    if kind.gt is not None:
        return f" above {kind.gt:g}, at most {kind.le:,}"
    return f" from {kind.ge:,} to {kind.le:,}"


def _either(texts: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def _metavar(name: str, kind: Type, choices: Sequence[str]) -> str:
    match kind:
        case LiteralType():
            return "|".join(choices)
        case ListType():
            return "NETWORK,…" if name == "lan" else "A,B,…"
        case DictType():
            return "JSON"
        case FloatType() if name.endswith("seconds"):
            return "SECONDS"
        case IntType() | FloatType():
            return "PORT" if name == "port" else "N"
        case _:
            return _TEXTS.get(name, "TEXT")


def _kind(annotation: Any) -> Type:
    """What it is where it is given at all."""
    kind = type_info(annotation)
    if isinstance(kind, UnionType):
        return next(each for each in kind.types if not isinstance(each, NoneType))
    return kind


def _choices(annotation: Any) -> Sequence[str]:
    """The texts it is one of, in the order in which they are written."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for part in get_args(annotation) if (found := _choices(part))), ())


_TEXTS = {
    "bind": "ADDRESS",
    "display_name": "NAME",
    "endpoint": "URL",
    "game_type": "NAME|FILE.py",
    "league_id": "ID",
    "manager_url": "URL",
    "shared_dir": "DIR",
    "state": "DIR",
}

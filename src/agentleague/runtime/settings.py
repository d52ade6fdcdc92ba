"""The settings as a table of rows, and their values from file, environment and command line.

Options, files, error messages and the reference page are made from the rows. The command line
counts first, then the environment, then the TOML file. An error says where the mistake is, what
would be right, and the nearest name.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from math import isfinite
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import inspect as kinds

from agentleague.league.formats.format import Stage
from agentleague.league.formats.stages import FORMATS, misfit, planned_by
from agentleague.protocol.printable import duration, nearest
from agentleague.protocol.timestamps import moment
from agentleague.roles.settings import (
    AgentSettings,
    ManagerSettings,
    PlayerSettings,
    RefereeSettings,
    ServiceSettings,
)
from agentleague.runtime.clock import wall

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
    "join_code": "Who may take part",
    "port": "The network",
    "dashboard": "Pages for the browser",
    "files": "Files",
    "workers": "The leagues",
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
        choices = [f'"{choice}"' for choice in self.choices]
        match self.kind:
            case kinds.BoolType():
                return "true or false"
            case kinds.IntType() | kinds.FloatType() as kind:
                number = "a whole number" if isinstance(kind, kinds.IntType) else "a number"
                is_open = kind.gt is not None
                bound = f"above {kind.gt:g}, at most" if is_open else f"from {kind.ge:,} to"
                return f"{number} {bound} {kind.le:,}"
            case kinds.LiteralType():
                return _either(choices)
            case kinds.ListType(item_type=item):
                items = "tables" if isinstance(item, kinds.DictType) else "texts"
                return f"a list of {_either(choices) or items}"
            case kinds.DictType():
                return "a table"
            case kinds.StrType(pattern=str(), max_length=longest):
                return f"at most {longest} letters, digits, _ and -"
            case kinds.StrType(max_length=int(longest)):
                return f"a text of at most {longest} characters"
            case _:
                return "a text"

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
        match self.kind:
            case kinds.LiteralType():
                return "|".join(self.choices)
            case kinds.ListType(item_type=kinds.DictType()) | kinds.DictType():
                return "JSON"
            case kinds.ListType():
                return "NETWORK,…" if self.name in ("lan", "trusted_proxies") else "A,B,…"
            case kinds.FloatType() if self.name.endswith("seconds"):
                return "SECONDS"
            case kinds.IntType() | kinds.FloatType():
                return "PORT" if self.name == "port" else "N"
            case _:
                return _TEXTS.get(self.name, "TEXT")

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
        return isinstance(self.kind, kinds.BoolType)

    @property
    def kind(self) -> kinds.Type:
        """What it is where it is given at all."""
        kind = kinds.type_info(self.annotation)
        if isinstance(kind, kinds.UnionType):
            return next(each for each in kind.types if not isinstance(each, kinds.NoneType))
        return kind

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
            made = each.default_factory
            default = each.default if made is MISSING else made()
            rows.append(Setting(each.name, hints[each.name], default, heading, cls))
    return rows


def as_toml(value: Any) -> str:
    """A value as a TOML file has it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    text = json.dumps(value, ensure_ascii=False)  # Numbers, texts, true and false alike.
    return text.replace("\x7f", "\\u007f")  # DEL, which TOML takes only so.


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


def _either(texts: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


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
    "start_at": "TIME",
    "league_id": "ID",
    "manager_url": "URL",
    "shared_dir": "DIR",
    "state": "DIR",
}


T = TypeVar("T")
ROLES = (ManagerSettings, RefereeSettings, PlayerSettings, ServiceSettings)
FILE_BYTES_MAX = 1_000_000
OTHERS_BEGIN = ("LEAGUE_LLM_", "LEAGUE_TEST_")  # variables that are no settings of a role
SHOWN_MAX = 60
FAULTS_MAX = 20  # that are told at once
NEAR = 0.8  # A variable as near as that to one of ours is taken for a slip.


class SettingError(ValueError):
    """A setting that cannot be; the sentence says where it stands and what would be right."""

    exit_code = 2  # of a command that was given it


class Given(NamedTuple):
    """What was given, and where each value stands."""

    values: Mapping[str, Any]
    places: Mapping[str, str]

    def make(self, cls: type[T]) -> T:
        """The settings, with their defaults where nothing was given."""
        return cls(**self.values)

    def wrong(self, name: str, problem: str) -> SettingError:
        """That this value, right by itself, cannot be; where it stands, if it was given."""
        return SettingError(f"{self.places.get(name, name)} {problem}")


def read_settings(
    cls: type,
    *,
    file: Path | None = None,
    text: bytes | None = None,
    environment: Mapping[str, str],
    options: Mapping[str, Any],
) -> Given:
    """What was given for a role. Raises SettingError, with a line for each that cannot be.

    `text` is what a file holds that lies on no disk.
    """
    rows = {row.name: row for row in describe(cls)}
    return _given(
        _from_file(rows, file, text) if file else (),
        _from_environment(rows, environment),
        _from_options(rows, options),
    )


def read_table(cls: type, table: Mapping[str, Any]) -> Given:
    """What a program gave for a role, as JSON has it. Raises SettingError, as read_settings."""
    return _given(_from_table({row.name: row for row in describe(cls)}, table, lambda key: ""))


def _given(*sources: "Found") -> Given:
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    faults: list[str] = []
    for source in sources:
        for name, place, value in source:
            if isinstance(value, SettingError):
                faults.append(str(value))
            values[name], places[name] = value, place
    if faults:
        more = [f"and {len(faults) - FAULTS_MAX} more"] if len(faults) > FAULTS_MAX else []
        raise SettingError("\n".join(faults[:FAULTS_MAX] + more))
    return Given(values, places)


LIMITED = (  # Each may not be more than the other.
    *(("players", "players_max"), ("referees", "referees_max")),
    *(("draw_points", "win_points"), ("loss_points", "draw_points")),
)


MANY_PLAYERS = 10_000  # With so many every format can be played, if its options are right.


def check_table(
    given: Given, asked: ManagerSettings, *, is_new: bool = True, is_of_season: bool = False
) -> None:
    """Raises SettingError if there is no such league; of one that is there its rules stay."""
    if is_new:
        _check_stages(given, asked)
        if asked.seeding == "rating" and not is_of_season:
            problem = 'is "rating", which players have in a season alone; write "order" or "random"'
            raise given.wrong("seeding", problem)
    _check_start(given, asked, wall() if is_new else None)
    for name, most in LIMITED if is_new else LIMITED[:2]:
        value, limit = getattr(asked, name), getattr(asked, most)
        if value is not None and value > limit:
            raise given.wrong(name, f"is {value}, and {most} is {limit}; raise the latter")
    tie_breaks = asked.tie_breaks or ()
    if len(set(tie_breaks)) < len(tie_breaks):
        raise given.wrong("tie_breaks", "names one twice; leave it out")


def _check_start(given: Given, asked: ManagerSettings, now: float | None) -> None:
    """A league that is there and still waits may be late: it starts at once."""
    if not asked.start_at:
        return
    if asked.start_after_seconds is not None:
        other = given.places.get("start_after_seconds", "start_after_seconds").rpartition(" ")[2]
        raise given.wrong("start_at", f"and {other} are both given; leave one out")
    try:
        left = moment(asked.start_at) - (now or 0.0)
    except ValueError as error:
        raise given.wrong("start_at", f"{error}, not {_shown(asked.start_at)}") from None
    if left <= 0:
        problem = f"is past: {_shown(asked.start_at)} was {duration(-left)} ago; write a later time"
        raise given.wrong("start_at", problem)


def _check_stages(given: Given, asked: ManagerSettings) -> None:
    name = next((each for each in ("stages", "format_options") if getattr(asked, each)), "format")
    try:
        stages = planned_by(asked)
    except ValueError as error:
        raise given.wrong(name, f"cannot be: {error}") from None
    _check_unused(given, asked, name, stages)
    players = asked.players or min(asked.players_max, MANY_PLAYERS)
    is_known = players == (asked.players or asked.players_max)
    problem = misfit(stages, players, is_known=is_known)
    if problem:
        if not asked.stages:  # Then nobody wrote of stages.
            problem = problem.removeprefix(f"stage 1 ({stages[0].format}): ")
        fit = f"{'does' if name == 'format' else 'do'} not fit {asked.players} players"
        raise given.wrong(name, f"{fit if asked.players else 'cannot be'}: {problem}")


def _check_unused(given: Given, asked: ManagerSettings, name: str, stages: Sequence[Stage]) -> None:
    """What would change nothing is a slip."""
    if asked.stages and "format" in given.values:
        raise given.wrong("format", "and stages are both given; leave one out")
    if "cycles" in given.values and not any(each.format == "round_robin" for each in stages):
        raise given.wrong("cycles", "is for round robins, and no stage is one; leave it out")
    if len(stages) == 1 and (why := _never_late(asked.late, stages[0])):
        raise given.wrong("late", f'is "{asked.late}", and {why}; write "refuse"')
    last = (asked.stages or [asked.format_options])[-1]
    if last.get("advance") and len(stages) == max(len(asked.stages), 1):
        raise given.wrong(name, "has advance in the last stage, after which nobody goes on")


def _never_late(late: str, only: Stage) -> str:
    """Why nobody could come late to a league of this stage alone; empty if somebody could."""
    if late == "next_stage":
        return "there is one stage only"
    if late == "play_remaining" and FORMATS[only.format].late == "never":
        return f"a {only.format} takes nobody in who comes late"
    has_one_cycle = only.options.get("cycles") == 1 and not only.options.get("until")
    if late == "play_remaining" and has_one_cycle:
        return "a round robin of one cycle takes nobody in who comes late"
    return ""


Found = Iterable[tuple[str, str, Any]]  # name, place, and the value or what is wrong with it


def _from_file(rows: Mapping[str, Setting], file: Path, kept: bytes | None) -> Found:
    import tomllib  # Few settings come from a file.

    text = _text(file) if kept is None else kept.decode()
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # Also a number of 5,000 digits.
        raise SettingError(f"{file} is not TOML: {error}{_slip(text, str(error))}") from None
    yield from _from_table(rows, table, lambda key: f"{file}, line {line_of(text, key)}: ")


def _from_table(
    rows: Mapping[str, Setting], table: Mapping[str, Any], where: Callable[[str], str]
) -> Found:
    for key, value in table.items():
        at = where(key)
        if key in rows:
            yield key, f"{at}{key}", _judged(rows[key], f"{at}{key}", value, strict=True)
        else:
            is_option = "format" in rows and any(key in each.options for each in FORMATS.values())
            put = f"; put it into format_options: [format_options] {key[:60]} = {_shown(value)}"
            hint = put if is_option else _hint(key, rows)
            yield key, at, SettingError(f"{at}there is no setting {_shown(key)}{hint}")


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > FILE_BYTES_MAX:
            raise SettingError(f"{file} is too large for a file of settings")
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        named = file.with_suffix(".toml")
        other = "" if file == named else f"; a directory is named with: --dir {file}"
        raise SettingError(
            f"there is no file {file}; write one with: league init {named}{other}"
        ) from None
    except IsADirectoryError:
        raise SettingError(
            f"{file} is a directory, and a file of settings is wanted; to go on with the league in "
            f"it: league manager --dir {file}"
        ) from None
    except UnicodeDecodeError as error:
        raise SettingError(f"{file} is not UTF-8 (byte {error.start}); save it as UTF-8") from None


def _slip(text: str, complaint: str) -> str:
    """What is likely meant where TOML's reader gave up."""
    found = re.search(r"at line (\d+)", complaint)
    lines = text.splitlines()
    line = lines[int(found[1]) - 1].strip() if found and int(found[1]) <= len(lines) else ""
    line = line if len(line) <= SHOWN_MAX else ""
    key, _, value = (part.strip() for part in line.partition("="))
    if value in ("True", "False"):
        return f"; write it so: {key} = {value.lower()}"
    if re.fullmatch(r"[A-Za-z][^\"'#]*", value):
        return f'; a text stands in quotes: {key} = "{value}"'
    if value.count('"') == 1 or value.count("'") == 1:
        return "; a quote is missing at the end of that line"
    return "; `league init` writes a file that is"


def line_of(text: str, key: str, after: int = 0) -> int:
    """Where the key stands, below the line `after`; TOML's reader does not say."""
    names = re.escape(key[:SHOWN_MAX])
    pattern = rf"""^\s*\[*\s*["']?{names}"""
    if len(key) <= SHOWN_MAX:
        pattern += r"""["']?\s*[=.\]]"""
    lines = text.splitlines()[after:]
    found = (n for n, line in enumerate(lines, after + 1) if re.match(pattern, line))
    return next(found, after or 1)


def _from_environment(rows: Mapping[str, Setting], environment: Mapping[str, str]) -> Found:
    known = {variable: row for row in rows.values() for variable in row.variables}
    for variable in sorted(environment):
        slip = _slip_in(variable) if variable not in known else None
        if slip:
            yield variable, variable, slip
    for row in rows.values():
        for variable in row.variables:
            text = environment.get(variable, "")
            if text:
                yield row.name, variable, _judged(row, variable, text)
                break


def _slip_in(variable: str) -> SettingError | None:
    """A variable that only another role knows is ignored, a slip is not."""
    if not variable.startswith(PREFIX) or variable.startswith(OTHERS_BEGIN):
        return None
    all_known = {name for role in ROLES for row in describe(role) for name in row.variables}
    names = [name.removeprefix(PREFIX) for name in sorted(all_known)]
    near = nearest(variable.removeprefix(PREFIX), names, NEAR)
    if variable in all_known or not near:
        return None
    return SettingError(
        f"the variable {variable} is no setting; did you mean {PREFIX}{near}? Else unset it"
    )


def _from_options(rows: Mapping[str, Setting], options: Mapping[str, Any]) -> Found:
    for name, value in options.items():
        if value is not None:
            option = rows[name].options[0]
            yield name, option, _judged(rows[name], option, value)


def _judged(row: Setting, where: str, given: Any, *, strict: bool = False) -> Any:
    """The value in its own type, or what is wrong with it."""
    value, kind = given, row.kind
    if isinstance(given, str) and re.search(r"[\ud800-\udfff]", given):
        return SettingError(f"{where} must be UTF-8, not {_shown(given)}")
    if isinstance(kind, kinds.StrType) and not isinstance(given, str):
        instead = ": put it in quotes"
    elif strict and _fits(given, row):
        instead = f", not {_shown(given)}: take away its quotes"
    else:
        choices = kind.values if isinstance(kind, kinds.LiteralType) else ()
        near = nearest(given[:SHOWN_MAX], map(str, choices)) if isinstance(given, str) else ""
        instead = f", not {_shown(given)}" + (f"; did you mean {near!r}?" if near else "")
    wrong = SettingError(f"{where} must be {row.type}{instead}")
    if isinstance(given, str) and not strict:
        is_json = row.metavar == "JSON"
        try:
            value = json.loads(given) if is_json else given
        except (ValueError, RecursionError):
            of_tables = "a JSON list of tables" if row.type != "a table" else "a JSON object"
            return SettingError(
                f'{where} must be {of_tables} like {{"name": 1}}, not {_shown(given)}'
            )
        if row.type.startswith("a list") and not is_json:
            value = [item.strip() for item in given.split(",") if item.strip()]
    try:
        value = msgspec.convert(value, row.annotation, strict=strict)
    except msgspec.ValidationError:
        return wrong
    is_endless = isinstance(value, float) and not isfinite(value)
    return wrong if value is None or is_endless else value


def _fits(given: Any, row: Setting) -> bool:
    """Whether a text would be right if it were none."""
    try:
        msgspec.convert(given, row.annotation, strict=False)
    except msgspec.ValidationError:
        return False
    return isinstance(given, str)


def _shown(value: Any) -> str:
    try:
        text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    except ValueError:  # Python writes out no number of so many digits.
        text = "a number of thousands of digits"
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…"


def _hint(key: str, rows: Mapping[str, Setting]) -> str:
    """The nearest name, also from that of an option or from another spelling."""
    plain = key.lower().replace("-", "_")
    by_option = [name for name, short in SHORT.items() if name in rows and plain == short]
    near = by_option[0] if by_option else nearest(plain, rows)
    return f"; did you mean {near!r}?" if near else "; `league init` writes a file with all"

"""Count what one request and one call pass through: `python benchmarks/request_path.py --json`.

A small league is played over HTTP, each agent a process of `league`. One of them counts: which
functions of this package are called, and which objects of its classes are made. A request is one
GAME_INVITATION at a player, from its bytes to those of its answer. A call is one exchange of a
referee: half of what it does when both players have joined, where it reads two answers and makes
two calls. Both are counted in this tree and in an earlier commit, f83ea42 unless another is named.
That takes half a minute; no clock is used, so on a busy machine the counts are the same.
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

HERE = Path(__file__).resolve()
MATCHES = 60
WARM_UP = 10  # of them are not counted: connections are opened, what is kept is made
PACKAGE = "agentleague."
LAYERS = {  # by how a module begins; what is in none of them is the role's own work
    "HTTP": ("transport.",),
    "codec": ("protocol.", "dialects."),
    "host": ("runtime.", "services.host", "services.clock", "services.processes"),
}
ROLE = "role"


class Kind(NamedTuple):
    """What is counted: by whom, from which message on, and how many of them make one."""

    role: str
    message: str
    at_once: int  # so many such messages for as many exchanges


KINDS = {
    "request": Kind("player", "GAME_INVITATION", 1),
    "call": Kind("referee", "GAME_JOIN_ACK", 2),
}


def main() -> None:
    """Count in both trees, then print a table or JSON."""
    from against_commit import ROOT, commit_parser, unpack
    from agentleague.cli.output import print_json

    parser = commit_parser(__doc__)
    parser.add_argument("--functions", action="store_true", help="list the calls in their order")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="request-path-") as folder:
        unpack(given.commit, Path(folder))
        found = {
            when: {name: count(tree / "src", kind) for name, kind in KINDS.items()}
            for when, tree in (("before", Path(folder)), ("after", ROOT))
        }
    if given.json:
        for counted in found.values() if not given.functions else ():
            for each in counted.values():
                del each["functions"]
        print_json({"commit": given.commit, **found})
        return
    for name, kind in KINDS.items():
        for when, counted in found.items():
            print(f"One {name} ({kind.role}), {when}: {text(counted[name])}")
            if given.functions:
                print(*counted[name]["functions"], sep="\n  ")


def text(counted: Mapping[str, Any]) -> str:
    """What was counted of one request or call, in words."""
    calls = ", ".join(f"{layer} {number:g}" for layer, number in counted["layers"].items())
    made = ", ".join(f"{name} {number:g}" for name, number in counted["values"])
    return f"{counted['calls']:g} calls ({calls}), {total(counted):g} values ({made})"


def total(counted: Mapping[str, Any]) -> float:
    """How many values were made."""
    return sum(number for _, number in counted["values"])


def count(source: Path, kind: Kind) -> dict[str, Any]:
    """Play a league of this tree and count there."""
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryDirectory(prefix="request-path-") as folder:
        port, told = str(_free_port()), Path(folder, "told.json")
        plain = [sys.executable, "-m", "agentleague"]
        counting = [sys.executable, str(HERE), "--inside", kind.message, str(told)]
        manager = ["manager", "--port", port, "--players", "2", "--cycles", str(MATCHES)]
        others = ["referee", "player", "player"]
        others.remove(kind.role)
        commands = [
            [*plain, *manager, "--dir", folder, "--exit"],
            [*counting, kind.role, "--name", "One", "--manager", port],
            *([*plain, role, "--name", "Two", "--manager", port] for role in others),
        ]
        running = [
            subprocess.Popen([*command, "--quiet"], env=environment, stdout=subprocess.DEVNULL)
            for command in commands
        ]
        try:
            for process in running:
                process.wait(timeout=120)
        finally:
            for process in running:
                process.kill()
                process.wait()
        return typical(json.loads(told.read_text(encoding="utf-8")), kind.at_once)


def typical(spans: Sequence[Any], at_once: int) -> dict[str, Any]:
    """The most frequent count of several, for one request or call."""
    whole = len(spans) - len(spans) % at_once
    groups = [spans[at : at + at_once] for at in range(0, whole, at_once)][WARM_UP:]
    sizes = [sum(len(span["calls"]) for span in group) for group in groups]
    group = groups[sizes.index(Counter(sizes).most_common(1)[0][0])]
    calls, values = ([name for span in group for name in span[key]] for key in ("calls", "values"))
    layers = Counter(map(layer_of, calls))
    return {
        "calls": len(calls) / at_once,
        "layers": {layer: layers[layer] / at_once for layer in (*LAYERS, ROLE)},
        "values": [[name, number / at_once] for name, number in Counter(values).items()],
        "functions": calls,
    }


def layer_of(function: str) -> str:
    """Where on its way a request meets this function."""
    return next((name for name, begins in LAYERS.items() if function.startswith(begins)), ROLE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Spans:
    """What this process does from one piece of received bytes to the next."""

    def __init__(self, message: str) -> None:
        self._message, self._names = message.encode(), {}
        self.found: list[dict[str, list[str]]] = []
        self._calls: list[str] = []
        self._values: list[str] = []

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """What `sys.setprofile` calls."""
        if event != "call":
            return
        code = frame.f_code
        name = self._names.get(code)
        if name is None:
            name = self._names[code] = _name(frame, code)
        if name == "":
            return
        if code.co_name == "data_received":  # as asyncio calls it
            self._begin(bytes(frame.f_locals[code.co_varnames[1]]))
        if name.startswith("namedtuple_"):
            self.made(name.removeprefix("namedtuple_"))
            return
        self._calls.append(name)
        if code.co_name == "__init__":
            made = type(frame.f_locals[code.co_varnames[0]])
            if getattr(made.__init__, "__code__", None) is code:
                self.made(made.__name__)

    def made(self, name: str) -> None:
        """An object was made."""
        self._values.append(name)

    def _begin(self, data: bytes) -> None:
        self._calls, self._values = [], []
        if re.search(rb'"message_type": ?"' + self._message + b'"', data):
            self.found.append({"calls": self._calls, "values": self._values})


def _name(frame: FrameType, code: CodeType) -> str:
    """The function with its module, if it is ours; a named tuple's own module is made up."""
    module = frame.f_globals.get("__name__", "")
    if module.startswith("namedtuple_"):
        return module
    if not module.startswith(PACKAGE):
        return ""
    return f"{module.removeprefix(PACKAGE)}.{code.co_qualname}"


def inside(message: str, file: str, *arguments: str) -> None:
    """Run `league` with these arguments in this process, and count."""
    import msgspec

    spans = Spans(message)

    class Struct(msgspec.Struct):
        def __post_init__(self) -> None:
            spans.made(type(self).__name__)

    msgspec.Struct = Struct  # Structs are made in C, where no profile looks.
    sys.argv = ["league", *arguments]
    from agentleague.cli import main as league

    try:
        sys.setprofile(spans.profile)
        league()
    finally:
        sys.setprofile(None)
        ours = {
            each.__name__
            for name, module in list(sys.modules.items())
            if name.startswith(PACKAGE)
            for each in vars(module).values()
            if isinstance(each, type) and each.__module__.startswith(PACKAGE)
        }
        for span in spans.found:
            span["values"] = [value for value in span["values"] if value in ours]
        Path(file).write_text(json.dumps(spans.found), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(*sys.argv[2:])
    else:
        main()

"""The folder tree is the architecture; this test keeps it true."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "agentleague"

# A package imports from its own ring only itself, and otherwise from lower rings.
RINGS = [
    {"errors"},
    {"protocol"},
    {"games", "roles"},
    {"match", "league", "player"},
    {"storage", "transport"},
    {"services"},
    {"sdk", "records", "simulation", "bench"},
    {"cli", "testing"},
    {"__main__"},
]
RING = {name: number for number, names in enumerate(RINGS) for name in names}
# fmt: off
PURE_ROLES = {
    "adding",
    "admissions", "agent", "assignments", "clerk", "contact", "endpoints", "enrolment", "guest",
    "keys", "leases",
    "log_lines", "manager", "misuse", "moves", "news", "office", "organiser", "outbox",
    "outsiders", "own_court", "player", "reachability", "refusals", "renewals", "reporters",
    "referee", "rounds", "settings", "starts", "tidings", "workload",
}
PURE_IMPORTS = {
    "abc", "array", "collections", "contextlib", "copy", "dataclasses", "datetime",
    "operator", "difflib", "enum",
    "functools", "hashlib", "hmac", "ipaddress",
    "importlib", "itertools", "json", "msgspec", "random", "re", "string", "types", "typing",
    "unicodedata", "urllib", "zlib",
}
# fmt: on
LINES_MAX = {"protocol/messages.py": 850}  # a table


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        home, *rest = path.relative_to(PACKAGE).with_suffix("").parts
        if home != "__init__":
            yield path, home, rest[-1] if rest else home


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_package_has_a_ring():
    assert {home for _, home, _ in modules()} == set(RING)


def test_imports_point_to_lower_rings():
    for path, home, _ in modules():
        for name in imports(path):
            if name.startswith("agentleague."):
                target = name.split(".")[1]
                assert target == home or RING[target] < RING[home], f"{path} imports {name}"


def test_rings_0_to_3_and_the_roles_do_no_io():
    for path, home, module in modules():
        if RING[home] <= 3 or (home == "services" and module in PURE_ROLES):
            for name in imports(path):
                top = name.split(".")[0]
                assert top in PURE_IMPORTS | {"agentleague"}, f"{path} imports {name}"
                assert not name.startswith(("agentleague.storage", "agentleague.transport")), path


def test_modules_stay_readable():
    for path, _, _ in modules():
        most = LINES_MAX.get(str(path.relative_to(PACKAGE)), 400)
        assert len(path.read_text(encoding="utf-8").splitlines()) <= most, path

"""The folder tree is the architecture; this test keeps it true.

Purity is a property of the folder: no file is named here, so a new one is judged by where it lies.
"""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "agentleague"

# A package imports from its own ring only itself, and otherwise from lower rings.
RINGS = [
    {"errors"},
    {"protocol"},
    {"games", "roles", "dialects", "statistics"},
    {"match", "league"},
    {"manager", "referee", "player"},
    {"storage", "transport"},
    {"runtime", "records"},
    {"sdk", "simulation", "bench", "dashboard", "service", "conformance"},
    {"sweeps", "testing"},
    {"cli"},
    {"__main__"},
]
RING = {name: number for number, names in enumerate(RINGS) for name in names}
PURE = set().union(*RINGS[:5])
LINES_MAX = 600
TABLES = {"protocol/messages.py"}  # every message of the documents, one class each


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        home, *below = path.relative_to(PACKAGE).with_suffix("").parts
        if home != "__init__" and "templates" not in below:  # Those are other people's files.
            yield path, home


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


# Tests of no single package; tests/README.md says what each is about.
SUITES = {
    *("benchmarks", "class_league", "contracts", "crash", "foreign", "fuzz", "hostile"),
    *("browser", "deploy", "mcp", "security"),
}

# What a pure folder may import: data structures and text, nothing that reads, waits or draws.
PURE_IMPORTS = {
    *(
        "abc",
        "array",
        "base64",
        "bisect",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "datetime",
        "difflib",
    ),
    *("enum", "functools", "hashlib", "hmac", "ipaddress", "itertools", "json", "math"),
    *("msgspec", "operator", "random", "re", "string", "types", "typing", "unicodedata"),
    *("urllib", "xml", "zlib", "agentleague"),
}


def test_every_folder_of_tests_is_a_package_or_a_suite_across_packages():
    tests = Path(__file__).parent
    folders = {path.parent.relative_to(tests).parts[0] for path in tests.glob("*/**/test_*.py")}

    assert folders - set(RING) == SUITES


def test_every_package_has_a_ring():
    assert {home for _, home in modules()} == set(RING)


def test_imports_point_to_lower_rings():
    upwards = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, home in modules()
        for name in imports(path)
        if name.startswith("agentleague.")
        and (target := name.split(".")[1]) != home
        and RING[target] >= RING[home]
    ]

    assert upwards == []


def test_the_pure_folders_import_nothing_that_does_io():
    impure = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, home in modules()
        for name in imports(path)
        if home in PURE and name.split(".")[0] not in PURE_IMPORTS
    ]

    assert impure == []


DATABASES = {"sqlite3", "psycopg", "psycopg2", "asyncpg", "sqlalchemy"}


def test_only_storage_imports_a_database():
    elsewhere = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, home in modules()
        for name in imports(path)
        if home != "storage" and name.split(".")[0] in DATABASES
    ]

    assert elsewhere == []


def test_journals_are_read_through_their_port():
    elsewhere = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, home in modules()
        for name in imports(path)
        if home != "storage" and name.startswith("agentleague.storage.sqlite")
    ]

    assert elsewhere == []


JUDGED_BY = ("errors", "protocol", "dialects", "conformance", "runtime.clock")


def test_the_conformance_kit_judges_without_the_code_of_our_agents():
    elsewhere = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path, home in modules()
        for name in imports(path)
        if home == "conformance"
        and name.startswith("agentleague.")
        and not name.removeprefix("agentleague.").startswith(JUDGED_BY)
    ]

    assert elsewhere == []


def test_a_module_is_one_thing_that_can_be_read():
    long = [
        str(path.relative_to(PACKAGE))
        for path, _ in modules()
        if len(path.read_text(encoding="utf-8").splitlines()) > LINES_MAX
    ]

    assert set(long) <= TABLES

"""docs/security.md has every threat, and each test that it names is there."""

import ast
import re

from commands import ROOT

NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_threat_is_on_the_page_once_and_in_order():
    numbers = [int(number) for number in re.findall(r"^### T(\d+) ", PAGE, re.MULTILINE)]

    assert numbers[:23] == list(range(1, 24))
    assert numbers == sorted(set(numbers))


def test_every_threat_has_a_test():
    for threat in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        assert NAMED.search(threat), threat.splitlines()[0]
    assert "no test yet" not in PAGE


def test_every_test_that_the_page_names_is_there():
    named = NAMED.findall(PAGE)

    assert len(named) > 40
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if hasattr(node, "name")}, name

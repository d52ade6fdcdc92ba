"""The rules of docs/protocol.md and the tests that prove them name each other."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "protocol.md"
DEFINED = re.compile(r"^- \*\*(R-[A-Z]+-\d\d)\*\*", re.MULTILINE)


def rules_of_the_page():
    return DEFINED.findall(PAGE.read_text(encoding="utf-8"))


@cache
def rules_of_the_tests():
    """Rule number -> the tests that name it in @rule(...)."""
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "@rule(" in text else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for number in named_by(node):
                    found.setdefault(number, []).append(f"{path.relative_to(TESTS)}::{node.name}")
    return found


def named_by(function):
    for call in function.decorator_list:
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "rule":
            yield from (argument.value for argument in call.args)


def test_every_rule_is_proved_by_a_test():
    unproved = sorted(set(rules_of_the_page()) - rules_of_the_tests().keys())

    assert unproved == [], "rules of docs/protocol.md that no test names"


def test_every_rule_that_a_test_names_is_written_down():
    page = set(rules_of_the_page())
    unwritten = {n: tests for n, tests in rules_of_the_tests().items() if n not in page}

    assert unwritten == {}, "rules that tests name and docs/protocol.md lacks"


def test_every_rule_has_a_number_of_its_own():
    numbers = rules_of_the_page()

    assert sorted(numbers) == sorted(set(numbers))


def test_every_rule_says_where_it_comes_from():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if DEFINED.match(line)]

    assert [rule for rule in rules if "(Document" not in rule and "(Ours" not in rule] == []

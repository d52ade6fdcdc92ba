"""Measures a page by the functions of looks.js."""

from pathlib import Path

SCRIPT = Path(__file__).with_name("looks.js").read_text(encoding="utf-8")


def wrong(page, name):
    """What is wrong with a page, as sentences."""
    return page.evaluate(f"() => {{ {SCRIPT}\nreturn {name}(); }}")

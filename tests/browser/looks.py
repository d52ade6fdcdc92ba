"""Measures a page by the functions of looks.js."""

from pathlib import Path

WIDE, PHONE, WALL = (
    {"width": width, "height": height} for width, height in ((1280, 900), (360, 740), (1920, 1080))
)
SCRIPT = Path(__file__).with_name("looks.js").read_text(encoding="utf-8")


def wrong(page, name):
    """What is wrong with a page, as sentences."""
    return page.evaluate(f"() => {{ {SCRIPT}\nreturn {name}(); }}")


def looked_at(page):
    """What is wrong with a page in either theme, on a desk and on a phone."""
    found = wrong(page, "unnamed")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        found += [f"{theme}: {each}" for each in wrong(page, "pale")]
    page.set_viewport_size(PHONE)
    found += [f"phone: {each}" for each in wrong(page, "cramped")]
    page.set_viewport_size(WIDE)
    return found

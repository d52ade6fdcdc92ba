"""SVG that a game drew, made safe for a page."""

from markupsafe import Markup

from agentleague.games.svg import cleaned


def safe_svg(text: str) -> Markup:
    """The SVG with known elements and attributes alone; empty for what is no SVG."""
    return Markup(cleaned(text).svg)

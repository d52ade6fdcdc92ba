"""SVG of games: what the built-in ones draw with, and what of any game's SVG a page may show."""

import json
import re
from typing import Any, NamedTuple

from agentleague.games.game import PICTURE_MAX

NAMESPACE = "http://www.w3.org/2000/svg"
DEPTH_MAX = 20  # of elements in elements
SHAPES = {"rect", "circle", "ellipse", "line", "polyline", "polygon", "path"}
ELEMENTS = {"g", "title", "desc", "text", "tspan", *SHAPES}
FREE = {"data-move", "aria-label"}  # attributes with any text
ATTRIBUTES = {
    *("class", "role", "aria-hidden", "tabindex", "viewBox", "preserveAspectRatio", "transform"),
    *("x", "y", "dx", "dy", "width", "height", "rx", "ry", "cx", "cy", "r", "d", "points"),
    *("x1", "y1", "x2", "y2", "fill", "fill-rule", "fill-opacity", "opacity", "pathLength"),
    *("stroke", "stroke-width", "stroke-opacity", "stroke-linecap", "stroke-linejoin"),
    *("stroke-dasharray", "font-size", "font-weight", "font-family", "text-anchor"),
    *("dominant-baseline", "textLength", "lengthAdjust"),
}
_PLAIN = re.compile(r"[\w\s.,#%+-]*")  # neither url(...) nor an escape that spells it
_TRANSFORM = re.compile(r"[\w\s.,()+-]*")


class Cleaned(NamedTuple):
    """An SVG with nothing in it but what a page may show, and what was left out of it."""

    svg: str  # empty if there was none
    left_out: list[str]
    moves: list[str]  # all data-move


def cleaned(text: str) -> Cleaned:
    """Keep known elements and attributes; moves of strangers may stand in the text."""
    from xml.etree import ElementTree  # Slow to load, and a player does not need it.

    if len(text) > PICTURE_MAX or "<!DOCTYPE" in text:
        return Cleaned("", [f"all: it is longer than {PICTURE_MAX} or has a DOCTYPE"], [])
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        return Cleaned("", [f"all: it is no XML ({error})"], [])
    if _tag(root) != "svg":
        return Cleaned("", [f"all: it is <{_tag(root)[:40]}>, not <svg>"], [])
    left_out: list[str] = []
    _clean(root, left_out, DEPTH_MAX)
    moves = [each.attrib["data-move"] for each in root.iter() if "data-move" in each.attrib]
    root.attrib = {"xmlns": NAMESPACE, **root.attrib, "class": "board"}
    return Cleaned(ElementTree.tostring(root, "unicode"), left_out, moves)


def _tag(element: Any) -> str:
    return str(element.tag).removeprefix(f"{{{NAMESPACE}}}")


def _clean(element: Any, left_out: list[str], depth: int) -> None:
    element.tag = _tag(element)
    # A browser reads what is in title and desc as HTML, so there only text may be.
    known = () if element.tag in ("title", "desc") or not depth else ELEMENTS
    for name, value in [*element.attrib.items()]:
        plain = _TRANSFORM if name == "transform" else _PLAIN
        if name not in FREE and not (name in ATTRIBUTES and plain.fullmatch(value)):
            left_out.append(f"{name}={value[:40]!r}")
            del element.attrib[name]
    for child in [*element]:
        if _tag(child) in known:
            _clean(child, left_out, depth - 1)
        else:
            left_out.append(f"<{_tag(child)[:40]}>")
            element.remove(child)


def element(tag: str, *inside: str, **attributes: Any) -> str:
    """An element; `inside` is SVG, an attribute is any text: `class_` is class, `a_b` is a-b."""
    named = (f' {k.strip("_").replace("_", "-")}="{escape(v)}"' for k, v in attributes.items())
    return f"<{tag}{''.join(named)}>{''.join(inside)}</{tag}>"


def words(at: tuple[float, float], text: Any, colour: str = "text", size: int = 16) -> str:
    """Text around a point."""
    place = {"x": at[0], "y": at[1], "text_anchor": "middle", "dominant_baseline": "central"}
    return element("text", escape(text), class_=colour, font_size=size, **place)


def button(corner: tuple[float, float], size: tuple[float, float], move: Any, inside: str) -> str:
    """An area that makes a move when it is clicked; `inside` is drawn in it."""
    (x, y), (width, height), spelled = corner, size, json.dumps(move)
    place = {"class": "tile", "x": x, "y": y, "width": width, "height": height, "rx": 10}
    named = {"data_move": spelled, "role": "button", "tabindex": 0, "aria_label": f"Move {spelled}"}
    return element("g", element("rect", **place), inside, **named)


def drawing(size: tuple[int, int], title: str, text: str, *parts: str) -> str:
    """A whole SVG; the text of the picture describes it to who cannot see it."""
    named = element("title", escape(title)) + element("desc", escape(text))
    role = "group" if any("data-move" in part for part in parts) else "img"
    box = f'viewBox="0 0 {size[0]} {size[1]}"'
    return f'<svg xmlns="{NAMESPACE}" {box} role="{role}">{named}{"".join(parts)}</svg>'


def escape(text: Any) -> str:
    """Any value as text of an SVG."""
    shown = str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace('"', "&quot;")

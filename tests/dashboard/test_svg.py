"""SVG of games is not trusted: what a page shows of it, whatever stands in it."""

from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentleague.dashboard.rendering import safe_svg
from agentleague.games import even_odd
from agentleague.games.svg import ATTRIBUTES, DEPTH_MAX, ELEMENTS, FREE, NAMESPACE

NAMES = [*sorted(ELEMENTS), "svg", "script", "style", "foreignObject", "a", "use", "image", "set"]
KEYS = [*sorted(ATTRIBUTES | FREE), "onclick", "onload", "href", "xlink:href", "style", "id"]
VALUES = st.sampled_from(
    ["1", "win", "url(//evil)", r"u\72l(//evil)", "javascript:alert(1)", "</title><script>", '"']
) | st.text(max_size=8)


def spelled(name, attributes, inside):
    written = "".join(f" {key}={quoted(value)}" for key, value in attributes.items())
    return f"<{name}{written}>{inside}</{name}>"


def quoted(value):
    for bad, good in (("&", "&amp;"), ("<", "&lt;"), ('"', "&quot;")):
        value = value.replace(bad, good)
    return f'"{value}"'


elements = st.recursive(
    st.text(max_size=8).map(lambda text: text.replace("&", "").replace("<", "")),
    lambda inside: st.builds(
        spelled,
        st.sampled_from(NAMES),
        st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4),
        st.lists(inside, max_size=3).map("".join),
    ),
)
XLINK = f'<svg xmlns="{NAMESPACE}" xmlns:xlink="http://www.w3.org/1999/xlink">'


@given(elements.map(lambda inside: f"{XLINK}{inside}</svg>") | elements | st.text())
@example("<svg><title><title><g data-move='&lt;/title>&lt;script>'/></title></title></svg>")
@example('<svg fill="url(#a)" transform="translate(1 2)"/>')
@example('<svg xmlns:h="http://www.w3.org/1999/xhtml"><h:script/><h:title/></svg>')
def test_whatever_it_is_only_what_is_known_comes_through(text):
    shown = str(safe_svg(text))

    if not shown:
        return
    for number, element in enumerate(ElementTree.fromstring(shown).iter()):
        tag = element.tag.removeprefix(f"{{{NAMESPACE}}}")
        assert tag == "svg" if number == 0 else tag in ELEMENTS
        assert element.attrib.keys() <= ATTRIBUTES | FREE
        assert not any(key.startswith("on") or "href" in key for key in element.attrib)
        assert "style" not in element.attrib
        assert len(element) == 0 or tag not in ("title", "desc")
        for key in element.attrib.keys() - FREE:
            assert not set(element.attrib[key]) & set(":\\<")
            assert key == "transform" or "(" not in element.attrib[key]
    for word in ("<script", "<style", "<foreignobject", "<a ", "<image", "<!"):
        assert word not in shown.lower()
    assert safe_svg(shown) == shown


def test_a_picture_of_a_game_stays_as_it_is_with_the_moves_that_can_be_clicked():
    shown = safe_svg(even_odd.show_position({}, ["even", "odd"]).svg)

    assert 'data-move="&quot;odd&quot;"' in shown
    assert "<title>Even or odd</title>" in shown
    assert 'class="board"' in shown


BOMB = '<!DOCTYPE svg [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><svg><text>&b;</text></svg>'


@pytest.mark.parametrize(
    "text",
    ["", "no xml", "<p>text</p>", BOMB, "<svg>" + " " * 70_000 + "</svg>", "<svg>\ud800</svg>"],
)
def test_what_is_no_svg_shows_nothing(text):
    assert safe_svg(text) == ""


def test_elements_that_lie_too_deep_are_left_out():
    deep = safe_svg(f"<svg>{'<g>' * 5_000}{'</g>' * 5_000}</svg>")

    assert deep.count("<g") == DEPTH_MAX

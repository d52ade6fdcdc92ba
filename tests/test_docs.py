"""The pages hang together: every link leads somewhere, every page has its place, none is stale."""

import json
import re

import pytest

import match_picture
import performance_page
import reference
from commands import ROOT

DOCS = ROOT / "docs"
SHELVES = {
    "Tutorial": "tutorial",
    "How to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
}
ALONE = ("index.md", "performance.md", "protocol.md", "security.md")
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
GENERATED = reference.pages()
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
TREES = dict(
    re.findall(r"```\{toctree\}\n:caption: ([^\n]+)\n:hidden:\n\n(.+?)\n```", INDEX, re.DOTALL)
)


def named(path):
    return str(path.relative_to(ROOT))


def prose(path):
    """A page without what is shown as it is typed."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text)


def anchors(path):
    """The names under which the headings of a page can be linked, as code hosts make them."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", TEXTS, ids=named)
def test_every_link_leads_to_a_file_and_a_heading(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.is_file(), target
        assert not anchor or anchor in anchors(there), target


@pytest.mark.parametrize("path", PAGES, ids=named)
def test_every_page_stands_on_a_shelf_and_begins_with_its_only_title(path):
    shelf = str(path.relative_to(DOCS).parent)
    titles = re.findall(r"^# .+$", prose(path), re.MULTILINE)

    assert shelf in SHELVES.values() or path.name in ALONE
    assert len(titles) == 1
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_every_page_is_in_the_contents_once_and_under_its_own_heading():
    listed = [entry for tree in TREES.values() for entry in tree.split()]
    there = [str(path.relative_to(DOCS).with_suffix("")) for path in PAGES]

    assert sorted([*listed, "index"]) == sorted(there)
    for heading, shelf in SHELVES.items():
        own = (f"{shelf}/", "performance", "protocol", "security")
        assert all(entry.startswith(own) for entry in TREES[heading].split())


def test_every_page_is_linked_on_the_first_one_for_those_who_read_it_as_it_is():
    for tree in TREES.values():
        for entry in tree.split():
            assert f"]({entry}.md)" in INDEX


@pytest.mark.parametrize("name", GENERATED)
def test_every_generated_page_is_current(name):
    on_disk = (DOCS / "reference" / name).read_text(encoding="utf-8")

    assert on_disk == GENERATED[name], f"docs/reference/{name} is stale: run `make reference`"


def test_the_picture_of_a_match_is_current():
    on_disk = (DOCS / "explanation" / "match.svg").read_text(encoding="utf-8")

    assert on_disk == match_picture.picture(), "match.svg is stale: run `make reference`"


FIGURES = performance_page.pages(json.loads((DOCS / "performance.json").read_text("utf-8")))


@pytest.mark.parametrize("name", FIGURES)
def test_the_page_of_measurements_and_its_charts_are_made_from_the_figures(name):
    on_disk = (DOCS / name).read_text(encoding="utf-8")

    assert on_disk == FIGURES[name], f"docs/{name} is stale: run `make figures`"


def test_no_page_names_a_page_that_was_moved():
    """A path in words, not a link, is as good as a link to those who read it in a terminal."""
    for path in [*TEXTS, *(ROOT / "src").rglob("*.py")]:
        for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|py|mjs|svg)", path.read_text("utf-8")):
            assert path.name == "CHANGELOG.md" or (ROOT / name).is_file(), f"{path}: {name}"

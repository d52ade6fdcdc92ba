"""Every link leads somewhere, every page is in the contents, no generated page is stale."""

import json
import re

import match_picture
import performance_page
import reference
from commands import ROOT

DOCS = ROOT / "docs"
SECTIONS = {
    "Tutorial": "tutorial",
    "How to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
}
ALONE = ("index.md", "performance.md", "protocol.md", "security.md")
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*PAGES, *sorted(ROOT.glob("*.md"))]
LINK = r"\]\(([^)\s]+)\)"
GENERATED = reference.pages()
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")
TREES = dict(
    re.findall(r"```\{toctree\}\n:caption: ([^\n]+)\n:hidden:\n\n(.+?)\n```", INDEX, re.DOTALL)
)


def prose(path):
    """A page without what is shown as it is typed."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"`[^`\n]+`", "", text)


def anchors(path):
    """The names under which the headings of a page can be linked, as code hosts make them."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_link_leads_to_a_file_and_a_heading():
    links = [(path, link) for path in TEXTS for link in re.findall(LINK, prose(path))]
    broken = [f"{path.name}: {link}" for path, link in links if not leads_somewhere(path, link)]

    assert len(links) > 100
    assert broken == []


def leads_somewhere(path, link):
    file, _, anchor = link.partition("#")
    target = (path.parent / file).resolve() if file else path
    is_page = target.is_file() and (not anchor or anchor in anchors(target))
    return link.startswith("https://") or is_page


def test_a_page_that_speaks_of_firewalls_leads_to_the_one_about_seats():
    speaking = [path for path in PAGES if "firewall" in prose(path)]

    leading = DOCS / "how-to" / "behind-a-firewall.md"
    lacking = [path for path in speaking if path != leading and leading.name not in prose(path)]
    assert len(speaking) > 4
    assert lacking == []


def test_every_page_is_in_a_section_and_begins_with_its_only_title():
    for path in PAGES:
        section = str(path.relative_to(DOCS).parent)
        titles = re.findall(r"^# .+$", prose(path), re.MULTILINE)

        assert section in SECTIONS.values() or path.name in ALONE, path
        assert len(titles) == 1, path
        assert path.read_text(encoding="utf-8").startswith("# "), path


def test_every_page_is_in_the_contents_once_and_under_its_own_heading():
    listed = [entry for tree in TREES.values() for entry in tree.split()]
    there = [str(path.relative_to(DOCS).with_suffix("")) for path in PAGES]

    assert sorted([*listed, "index"]) == sorted(there)
    for heading, section in SECTIONS.items():
        own = (f"{section}/", "performance", "protocol", "security")
        assert all(entry.startswith(own) for entry in TREES[heading].split())


def test_every_page_is_linked_on_the_first_one_for_those_who_read_it_as_it_is():
    for tree in TREES.values():
        for entry in tree.split():
            assert f"]({entry}.md)" in INDEX


def test_every_generated_page_is_current():
    for name, text in GENERATED.items():
        on_disk = (DOCS / "reference" / name).read_text(encoding="utf-8")
        assert on_disk == text, f"docs/reference/{name} is stale: run `make reference`"


def test_the_one_state_of_a_match_that_no_document_has_is_explained_beside_the_messages():
    assert "`state` is `UNKNOWN` until its referee says it" in GENERATED["messages.md"]


def test_the_picture_of_a_match_is_current():
    on_disk = (DOCS / "explanation" / "match.svg").read_text(encoding="utf-8")

    assert on_disk == match_picture.picture(), "match.svg is stale: run `make reference`"
    assert "var(" not in on_disk, "many viewers know no variables, and draw all of it black"


FIGURES = performance_page.pages(json.loads((DOCS / "performance.json").read_text("utf-8")))


def test_the_page_of_measurements_and_its_charts_are_made_from_the_figures():
    for name, text in FIGURES.items():
        on_disk = (DOCS / name).read_text(encoding="utf-8")
        assert on_disk == text, f"docs/{name} is stale: run `make figures`"


def test_no_page_names_a_page_that_was_moved():
    """A path in words, not a link, is as good as a link to those who read it in a terminal."""
    for path in [*TEXTS, *(ROOT / "src").rglob("*.py")]:
        for name in re.findall(r"\bdocs/[\w/-]+\.(?:md|py|mjs|svg)", path.read_text("utf-8")):
            assert path.name == "CHANGELOG.md" or (ROOT / name).is_file(), f"{path}: {name}"

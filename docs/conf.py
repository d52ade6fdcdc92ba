"""How `make docs` builds these pages as a site."""

import re
from pathlib import Path

project = "agentleague"
author = "the agentleague authors"
copyright = author  # noqa: A001 - Sphinx reads this name.
_PYPROJECT = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
release = re.findall(r'^version = "(.+)"$', _PYPROJECT, re.MULTILINE)[0]

extensions = ["myst_parser"]
smartquotes = False  # `--option` is typed with two dashes.
myst_heading_anchors = 4  # As on the web pages of code hosts: #the-words-of-a-heading.

html_theme = "furo"
html_title = f"agentleague {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
highlight_language = "text"

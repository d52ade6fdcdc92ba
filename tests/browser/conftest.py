"""A real browser: the Chromium of the system, driven by Playwright, and leagues to look at."""

import os
import shutil

import pytest

from browser.leagues import shown, with_boards, with_faults, with_many, written
from browser.looks import WIDE
from commands import SECONDS

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (  # It stays on this machine, and needs no sandbox where tests run as root.
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def chromium():
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


# Not one for the whole run: while Playwright runs, no other test of this process can have a loop.
@pytest.fixture(scope="module")
def browser():
    program = chromium()
    if program is None:
        pytest.skip("there is no Chromium here for tests/browser; apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield started
        started.close()


class Seen:
    """A tab, and what went wrong in it: errors, dialogs, requests to other hosts."""

    def __init__(self, page):
        self.page, self.faults = page, []
        self.may_fail = False  # whether requests may fail, as those to a server that is gone
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._asked)
        page.on("dialog", self._opened)

    def _said(self, message):
        is_lost = self.may_fail and "Failed to load resource" in message.text
        if message.type == "error" and not is_lost:
            self.faults.append(f"{message.text} at {self.page.url}")

    def _asked(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "file:", "data:")):
            self.faults.append(f"{self.page.url} asks {request.url}")

    def _opened(self, dialog):
        self.faults.append(f"a dialog at {self.page.url}: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def tab(browser):
    """Opens tabs: `tab(url, dark=True, viewport=PHONE)`; none may have a fault in the end."""
    opened = []

    def open_tab(url, *, dark=False, viewport=WIDE, may_fail=False, **options):
        scheme = "dark" if dark else "light"
        context = browser.new_context(color_scheme=scheme, viewport=viewport, **options)
        context.set_default_timeout(SECONDS * 1000)
        opened.append((context, seen := Seen(context.new_page())))
        seen.may_fail = may_fail
        seen.page.goto(url)
        return seen.page

    yield open_tab
    faults = [fault for _, seen in opened for fault in seen.faults]
    for context, _ in opened:
        context.close()
    assert faults == []


@pytest.fixture(scope="session")
def faults_directory(tmp_path_factory):
    return written(tmp_path_factory.mktemp("faults") / "cup", with_faults())


@pytest.fixture(scope="session")
def boards_directory(tmp_path_factory):
    return written(tmp_path_factory.mktemp("boards") / "cup", with_boards())


@pytest.fixture(scope="session")
def faults(faults_directory):
    """The pages of a league in which much went wrong."""
    with shown(faults_directory) as url:
        yield url


@pytest.fixture(scope="session")
def boards(boards_directory):
    """The pages of a league of tic-tac-toe."""
    with shown(boards_directory) as url:
        yield url


@pytest.fixture(scope="session")
def many(tmp_path_factory):
    """The pages of a league of forty."""
    with shown(written(tmp_path_factory.mktemp("many") / "cup", with_many())) as url:
        yield url

"""Take the pictures of pages in README.md: of a real league, in a real browser."""

import sys
from pathlib import Path
from subprocess import PIPE, Popen, run
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

LEAGUE = ("--players", "8", "--game", "tic_tac_toe", "--seed", "7")
SHOTS = (  # file, page, theme, height
    ("overview.png", "/", "light", 680),
    ("match.png", "/match/R1M1?turn=5", "dark", 900),
)
WIDTH = 1120
BYTES_MAX = 120_000
CHROMIUM = "/usr/bin/chromium"


def main(folder: Path) -> None:
    """Play, show, look."""
    folder.mkdir(exist_ok=True)
    with TemporaryDirectory() as home:
        cup = f"{home}/cup"
        run([_league(), "demo", *LEAGUE, "--quiet", "--dir", cup], check=True, stdout=PIPE)
        words = [_league(), "dashboard", cup]
        with Popen(words, stderr=PIPE, text=True) as pages:
            assert pages.stderr
            try:
                _take(pages.stderr.readline().split()[-1].rstrip("/"), folder)
            finally:
                pages.terminate()


def _take(url: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, path, theme, height in SHOTS:
            size = {"width": WIDTH, "height": height}
            page = browser.new_page(viewport=size, color_scheme=theme)
            page.goto(url + path)
            file = folder / name
            page.screenshot(path=file)
            if file.stat().st_size > BYTES_MAX:
                sys.exit(f"{file} has {file.stat().st_size} bytes; at most {BYTES_MAX} may go in")
            print(f"{file}: {file.stat().st_size} bytes")
        browser.close()


def _league() -> Path:
    return Path(sys.executable).with_name("league")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Draw a real run of `league demo` as an SVG: what it said, as a terminal shows it."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100


def main(target: str) -> None:
    """Run the demo and draw what came out."""
    command = Path(sys.executable).parent / "league"
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
    with tempfile.TemporaryDirectory(prefix="picture-") as folder:
        done = subprocess.run(
            [command, "demo", "--seed", "picture", "--dir", "cup"],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            cwd=folder,
        )
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(Text("$ league demo", style="bold"))
    table = [line for line in done.stdout.splitlines() if line.strip()]
    console.print(Text.from_ansi("\n".join(table)))
    champion = done.stderr.splitlines()[-3]
    console.print(Text.from_ansi(champion))
    svg = console.export_svg(title="agentleague")
    # No fonts from elsewhere: the picture shows the same without a network.
    Path(target).write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL))


if __name__ == "__main__":
    main(sys.argv[1])

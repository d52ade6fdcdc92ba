"""What the command line prints, kept as plain text files.

`make snapshots` writes them anew; look at the difference before you commit it.
"""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "snapshots"
VARIABLE = "WRITE_SNAPSHOTS"


def check(name, text):
    """Whether this is what was printed when the snapshot was taken."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get(VARIABLE):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"there is no {path}; write it with: make snapshots"
    assert text == path.read_text(encoding="utf-8"), (
        "if it is meant to change, write it anew with: make snapshots"
    )


def names(folder):
    """The snapshots of a folder, without their endings."""
    return {path.relative_to(FOLDER / folder).stem for path in (FOLDER / folder).glob("*.txt")}

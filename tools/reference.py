"""Write the generated reference pages: `python tools/reference.py docs/reference`."""

import sys
from pathlib import Path

from agentleague.protocol.reference import pages

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, text in pages().items():
    (folder / name).write_text(text, encoding="utf-8")

"""`python -m agentleague` is `league`."""

import os
import sys

if __name__ == "__main__":
    # `python -m` looks for modules and plug-ins in the current folder too, which may be anybody's.
    if not sys.flags.safe_path and sys.path[0] == os.getcwd():
        del sys.path[0]

    from agentleague.cli.app import app

    app()

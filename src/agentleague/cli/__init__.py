"""The `league` command."""


def main() -> None:
    """Run the command; what it needs is imported when it is needed."""
    import os
    import sys

    from agentleague.cli.app import app

    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # As in `league schema | head`: nobody reads on, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)

"""The `league` command."""


def main() -> None:
    """Run the command; what it needs is imported when it is needed."""
    import sys

    try:
        from agentleague.cli.app import app

        app()
    except KeyboardInterrupt:  # Before the command began.
        sys.exit(130)

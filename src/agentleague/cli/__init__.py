"""The `league` command."""


def main() -> None:
    """Run the command; what it needs is imported when it is needed."""
    from agentleague.cli.app import app

    app()

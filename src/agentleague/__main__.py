"""`python -m agentleague` is `league`."""

from agentleague.cli.app import app

if __name__ == "__main__":
    app()

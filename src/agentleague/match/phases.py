"""Where a match can stand, and what the documents call it."""

from enum import StrEnum


class Phase(StrEnum):
    """Where a match stands."""

    RECOVERING = "recovering"
    JOINING = "joining"
    PLAYING = "playing"
    LOCKING = "locking"
    TELLING = "telling"
    REPORTING = "reporting"
    CLOSED = "closed"


# The states of document 001 section 9.2.
STATE = {
    Phase.RECOVERING: "WAITING_FOR_PLAYERS",
    Phase.JOINING: "WAITING_FOR_PLAYERS",
    Phase.PLAYING: "COLLECTING_CHOICES",
    Phase.LOCKING: "DRAWING_NUMBER",
    Phase.TELLING: "FINISHED",
    Phase.REPORTING: "FINISHED",
    Phase.CLOSED: "FINISHED",
}

# What the players are asked for.
STEP = {Phase.JOINING: "join", Phase.PLAYING: "move"}

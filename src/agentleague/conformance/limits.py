"""How long the kit waits, and how much it sends: one value, handed in."""

from msgspec import Struct
from msgspec.structs import replace


class Limits(Struct, frozen=True, kw_only=True):
    """In seconds, unless said otherwise. The documents' own deadlines, but for the last ones."""

    reply: float = 10.0  # for an answer to anything but a game message
    join: float = 5.0
    move: float = 30.0
    game_over: float = 5.0
    connect: float = 3.0
    start: float = 20.0  # for an agent that was started to listen and to register
    next_step: float = 20.0  # for what an agent does by itself: the next round, a report
    quiet: float = 0.3  # in which nothing may come
    stop: float = 3.0  # for an agent that is told to end, before it is killed
    whole: float = 900.0  # for all rules together
    body_max: int = 1 << 20  # bytes that are read of an answer

    def with_patience(self, factor: float) -> "Limits":
        """The same, so many times as long."""
        names = [each for each in self.__struct_fields__ if each not in ("quiet", "body_max")]
        return replace(self, **{name: getattr(self, name) * factor for name in names})

"""What befalls messages on their way: delay, loss, repetition, cuts in one direction or both."""

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

DELAY_SECONDS = (0.0005, 0.01)  # of one message in fine weather, at least and at most


class Weather(NamedTuple):
    """How messages fare between any two agents; different delays change their order."""

    delay_seconds: tuple[float, float] = DELAY_SECONDS
    loss: float = 0.0  # the part of messages that never arrive
    resets: float = 0.0  # the part of those whose sender is told that the connection is gone
    repeats: float = 0.0  # the part of requests that arrive twice


FINE = Weather()


class Links:
    """All ways between agents, by name; a way from one to another may be cut by itself."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._random = chance.random
        self._cut: dict[tuple[str, str], int] = {}  # way -> by how many cuts
        self.is_fine = True  # every message arrives once
        self.weather = FINE

    @property
    def weather(self) -> Weather:
        """How messages fare where no way is cut."""
        return self._weather

    @weather.setter
    def weather(self, weather: Weather) -> None:
        self._weather = weather
        self._least, most = weather.delay_seconds
        self._span = most - self._least
        self._look()

    def delay(self) -> float:
        """How many seconds the next message takes."""
        return self._least + self._span * self._random()

    def loses(self, source: str, target: str) -> bool:
        """Whether the next message from one to the other is lost."""
        if (source, target) in self._cut:
            return True
        loss = self.weather.loss
        return loss > 0 and self._chance.random() < loss

    def resets(self) -> bool:
        """Whether the sender of a lost message is told that the connection is gone."""
        return self._chance.random() < self.weather.resets

    def repeats(self) -> bool:
        """Whether the next request arrives twice."""
        repeats = self.weather.repeats
        return repeats > 0 and self._chance.random() < repeats

    def cut(self, ways: Iterable[tuple[str, str]]) -> list[Callable[[], None]]:
        """Cut these ways; what heals each of them, one by one."""
        return [self._cut_one(way) for way in ways]

    def heal(self) -> None:
        """Whatever was cut is whole again, and the weather is fine."""
        self._cut.clear()
        self.weather = FINE

    def _cut_one(self, way: tuple[str, str]) -> Callable[[], None]:
        self._cut[way] = self._cut.get(way, 0) + 1
        self._look()

        def mend() -> None:
            left = self._cut.get(way, 0) - 1
            if left > 0:
                self._cut[way] = left
            else:
                self._cut.pop(way, None)
            self._look()

        return mend

    def _look(self) -> None:
        weather = self._weather
        self.is_fine = not weather.loss and not weather.repeats and not self._cut

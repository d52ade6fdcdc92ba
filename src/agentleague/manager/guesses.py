"""How many wrong join codes are answered: many at once, then few a second, by source and in all.

Whoever knows the code must get in, also from an address at which others guess: a class has one.
Nothing but the code tells the two apart. So a source cannot be locked out without all who know the
code there, and where a right code is always taken, somebody can always guess. What decides is the
code: nobody comes upon a good one in centuries, however fast a manager answers. There a right code
is taken at once, whatever else came, and the budget only slows wrong ones down. With a code that
can be guessed, which only leagues have that began with an earlier version, no code is looked at
when the budget is spent. What is spent in all holds back only those who guessed wrong before: a
stranger elsewhere keeps nobody out.
"""

from collections import OrderedDict
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from agentleague.manager.step import ManagerLimits


class Guesses:
    """State: what each source has left, forgotten by a restart."""

    def __init__(self, limits: ManagerLimits) -> None:
        self._limits = limits
        self._in_all = Budget(limits.guesses_in_all, limits.guesses_in_all_a_second)
        self._sources: OrderedDict[str, Budget] = OrderedDict()

    def seconds_to_wait(self, source: str, now: float) -> int:
        """How long until a wrong code from there is answered."""
        own = self._sources.get(_network(source))
        return max(own.seconds_to_wait(now), self._in_all.seconds_to_wait(now)) if own else 0

    def count(self, source: str, now: float) -> str:
        """A wrong code came from there; what the organiser is told, if anything."""
        network = _network(source)
        own = self._sources.pop(network, None) or Budget(
            self._limits.guesses, self._limits.guesses_a_second
        )
        self._sources[network] = own  # The longest unseen is forgotten first.
        if len(self._sources) > self._limits.guessers_max:
            self._sources.popitem(last=False)
        of_all = self._in_all.spend(now)
        if own.spend(now):
            return f"{own.spent:,} wrong join codes came from {network}. {WHAT_TO_DO}"
        return (
            f"{self._in_all.spent:,} wrong join codes came in all. {WHAT_TO_DO}" if of_all else ""
        )


class Budget:
    """So many at once, and so many a second."""

    def __init__(self, size: int, per_second: float) -> None:
        self.spent = 0
        self._size, self._per_second = size, per_second
        self._left, self._seen = float(size), 0.0
        self._worth_telling = size

    def seconds_to_wait(self, now: float) -> int:
        """How long until there is one."""
        return max(0, ceil((1.0 - self._left_at(now)) / self._per_second))

    def spend(self, now: float) -> bool:
        """Take one; whether it is the last of the first ones, or ten times as many as told."""
        self._left, self._seen = max(0.0, self._left_at(now) - 1.0), now
        self.spent += 1
        is_worth_telling = self.spent == self._worth_telling
        if is_worth_telling:
            self._worth_telling *= 10
        return is_worth_telling

    def _left_at(self, now: float) -> float:
        return min(float(self._size), self._left + (now - self._seen) * self._per_second)


WHAT_TO_DO = (
    "Somebody may be guessing; few wrong ones are answered from now on. You can start the manager "
    "again with another join_code: whoever is registered stays."
)


def _network(source: str) -> str:
    """The address, or the network of an IPv6 address: one machine has all of its addresses."""
    try:
        address = ip_address(source)
    except ValueError:
        return source
    if isinstance(address, IPv6Address):
        return str(ip_network((address, 64), strict=False))
    return source

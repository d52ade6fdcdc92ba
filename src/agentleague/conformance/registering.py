"""What the benches of players and referees share: their agent registers, and the kit is manager."""

from tempfile import TemporaryDirectory

from agentleague.conformance.bench import Bench
from agentleague.conformance.limits import Limits
from agentleague.conformance.listener import Handler, Received
from agentleague.conformance.peer import Peer
from agentleague.conformance.rules import Broken, NotReached
from agentleague.conformance.target import Target, Unreachable, find, free_port, open_manager, start

REVIVALS_MAX = 3  # of an agent that crashes again and again


class RegisteringBench(Bench):
    """An agent that may register at a manager, which is the kit."""

    registers_with = ""  # its message type
    needs_to_listen = True

    def __init__(self, target: Target, limits: Limits, handler: Handler) -> None:
        self.target = target
        self._revivals = REVIVALS_MAX
        self.manager = open_manager(target, handler)
        self._folder = TemporaryDirectory(prefix="league-check-", ignore_cleanup_errors=True)
        try:
            self.launch = start(target, limits, self.places(self.manager.url))
            super().__init__(Peer(self._find(limits), limits), limits)
            self.open()
        except BaseException:
            self.close()
            raise

    def _find(self, limits: Limits) -> str:
        return find(
            self.target, limits, self.launch, self.manager, needs_to_listen=self.needs_to_listen
        )

    def open(self) -> None:
        """Find out what the agent understands."""

    def places(self, manager: str) -> dict[str, str]:
        """What is filled into the command: its manager, a free port, an empty folder."""
        port = str(free_port(self.target.bind))
        folder = f"{self._folder.name}/{port}"
        others = {"players": str(self.target.players), "referees": "1"}  # It may be a manager.
        return {"manager": manager, "port": port, "dir": folder, **others}

    @property
    def registrations(self) -> list[Received]:
        """What it registered with at the kit's manager, each time, in order."""
        return [each for each in list(self.manager.received) if each.name == self.registers_with]

    @property
    def registration(self) -> Received | None:
        """The first of them, if it registered."""
        return next(iter(self.registrations), None)

    @property
    def has_registered(self) -> bool:
        return self.registration is not None

    def revive(self) -> bool:
        if self.launch is None or not self._revivals:
            return False
        self._revivals -= 1
        self.manager.forget()  # It registers anew.
        try:
            self.launch.start()
            url = self._find(self.limits)
        except (OSError, Unreachable):
            return False
        self.peer = Peer(url, self.limits)
        self.speak(self.dialect)
        return True

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.manager.close()
            self._folder.cleanup()


def expect_registration(bench: RegisteringBench) -> Received:
    """The registration; the rule is broken without, where the agent was told its manager."""
    if bench.target.names_manager and not bench.has_registered:
        raise Broken("a registration at {manager}; leave {manager} out if it never registers")
    return registered(bench)


def registered(bench: RegisteringBench) -> Received:
    """The registration, for other rules about it."""
    found = bench.registration
    if found is None:
        hint = "start it with --command, with {manager} where its manager's URL belongs"
        raise NotReached(f"it did not register at the kit's manager; {hint}")
    return found

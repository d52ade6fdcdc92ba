"""Managers that share a database: one owns the league, the other stands by and takes it over."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agentleague.errors import LeagueError, StorageError
from agentleague.protocol.messages import Message
from agentleague.roles.ports import OnAsk
from agentleague.roles.stimuli import Caller
from agentleague.simulation.database import Database
from agentleague.simulation.database_journal import DatabaseJournal
from agentleague.simulation.disk import SYNC_SECONDS
from agentleague.simulation.process import Ports, Process

CLAIM_SECONDS = 0.5  # between two tries to take the league over
LOOK_SECONDS = 0.5  # between two looks at whether somebody has it
TAKE_OVER_SECONDS = 5.0  # after which a league whose lease is over must have an owner


class Contender(Process):
    """A manager that runs the league while it owns it, and otherwise tries to become the owner."""

    journal: DatabaseJournal
    database: Database
    league_id: str

    def start(self) -> None:
        """Begin a life by standing by."""
        if not self.is_alive:
            ports = self._begin()
            ports.transport.listen(_refuse)
            ports.transport.is_away = lambda: True
            journal = DatabaseJournal(self.database, self.name, ports.clock, self.league_id)
            self.journal, journal.on_lost = journal, self._fail
            self._contend(ports._replace(journal=journal))

    @property
    def is_owner(self) -> bool:
        """Whether it runs the league, and nobody else has taken it."""
        # By name: a claim of its own that seemed lost may end its epoch, and harms nobody.
        owner = self.host and self.database.owners[self.league_id].owner
        return owner == self.journal.owner

    def _contend(self, ports: Ports) -> None:
        def answered(is_ours: bool) -> None:
            if is_ours:
                self._own(ports)
            else:
                again = partial(self._contend, ports)
                ports.clock.call_at(ports.clock.now() + CLAIM_SECONDS, again)

        self.journal.contend(answered)

    def _own(self, ports: Ports) -> None:
        self.born_at = self.database.clock.now()
        try:
            self._run(ports)
        except StorageError as error:  # The database went away again.
            self._fail(error)
            return
        if self.host:  # Else it crashed with its first message.
            ports.transport.listen(self._watched(self.host.ask))

    def _fail(self, error: BaseException) -> None:
        self.journal.release()
        super()._fail(error)

    def _watched(self, ask: OnAsk) -> OnAsk:
        """Who asks a manager whose epoch is over gets no answer but that it should come again."""

        def on_ask(message: Message, caller: Caller, reply: Callable[[Any], None]) -> None:
            is_over = not self.is_owner

            def replied(answer: Message | LeagueError) -> None:
                if is_over and not isinstance(answer, LeagueError):
                    what = f"{self.name} answered a {type(message).__name__}"
                    self.database.wrong(f"{what} that came when its epoch was over")
                reply(answer)

            ask(message, caller, replied)

        return on_ask


def _refuse(message: Message, caller: Caller, reply: Callable[[Any], None]) -> None:
    reply(StorageError("this manager stands by; send the same message again later"))


class TakeOverCheck:
    """Looks whether somebody takes the league over where nothing keeps all managers from it."""

    def __init__(self, database: Database, managers: Sequence[Contender]) -> None:
        self._database, self._managers = database, managers
        self._since = database.clock.now()  # since when it could be taken over
        self._look()

    def _look(self) -> None:
        database, now = self._database, self._database.clock.now()
        is_well = database.state == "ok" and not database.is_away and database.links.is_reliable
        is_quick = database.sync_seconds == SYNC_SECONDS
        is_ready = any(each.is_alive and each.lifetime.awake_at <= now for each in self._managers)
        is_owned = any(now < owner.lease_until for owner in database.owners.values())
        if is_owned or not (is_well and is_quick and is_ready):
            self._since = now
        elif now - self._since > TAKE_OVER_SECONDS:
            database.wrong(f"nobody has taken the league over for {TAKE_OVER_SECONDS:g} seconds")
            self._since = now
        database.clock.call_after(LOOK_SECONDS, self._look)

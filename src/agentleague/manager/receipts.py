"""Receipts: sealed when they are given, and judged when an agent shows one.

A journal that lost its last rows looks whole. But those who were told what stood in them hold
receipts. They show their newest when they register again, and referees with each sign of life. The
seal says that this manager gave it: so the row was there, and where it is missing now, or another,
the manager must not go on and decide anew what was told. Anybody can invent a receipt without a
seal; that has no effect.

A receipt also names its generation. Those from before a loss that the organiser has accepted prove
nothing new.
"""

import hmac
from collections.abc import Callable
from typing import Any

from msgspec import UNSET, UnsetType

from agentleague.errors import Lost
from agentleague.manager.step import Step
from agentleague.protocol import messages
from agentleague.protocol.tokens import receipt_seal
from agentleague.roles.stimuli import Asked

SHOWN: dict[type[messages.Message], Callable[[Any], messages.Receipt | UnsetType]] = {
    messages.LeagueRegisterRequest: lambda message: message.player_meta.receipt,
    messages.RefereeRegisterRequest: lambda message: message.referee_meta.receipt,
    messages.RefereeStatus: lambda message: message.receipt,
}


class Receipts:
    """The receipts of one league."""

    def __init__(self, step: Step, secret: bytes) -> None:
        self._step, self._secret, self._league = step, secret, step.league
        self._doubted: set[str] = set()  # agents of whom the organiser was told

    def give(self, seq: int, row_hash: str) -> messages.Receipt:
        """The receipt of a row that is on disk."""
        generation = self._league.generation
        return messages.Receipt(
            seq, row_hash, generation or UNSET, seal=self._seal(generation, seq, row_hash)
        )

    def check(self, asked: Asked) -> None:
        """Raise Lost if this manager gave what is shown, and its row is missing or another one."""
        shown, archive = SHOWN[type(asked.message)](asked.message), self._league.archive
        if archive is None or shown is UNSET:
            return
        generation = 0 if shown.generation is UNSET else shown.generation
        if not self._is_sealed(shown, generation):
            self._doubt(asked.caller.token)
        elif generation >= self._league.generation and archive.hash_of(shown.seq) != shown.hash:
            raise self._lost(shown)

    def _seal(self, generation: int, seq: int, row_hash: str) -> str:
        return receipt_seal(self._secret, self._league.rules.league_id, generation, seq, row_hash)

    def _is_sealed(self, shown: messages.Receipt, generation: int) -> bool:
        if shown.seal is UNSET:
            return False
        right = self._seal(generation, shown.seq, shown.hash)
        return hmac.compare_digest(shown.seal.encode(errors="replace"), right.encode())

    def _doubt(self, token: str | None) -> None:
        """Tell the organiser once; one that shows no token of ours may be from another league."""
        agent_id = self._league.roster.owner(token)
        if agent_id is not None and agent_id not in self._doubted:
            self._doubted.add(agent_id)
            said = f"{agent_id} showed a receipt that was not given here; it is ignored."
            self._step.notify(said)

    def _lost(self, shown: messages.Receipt) -> Lost:
        there, seq = self._league.seq, shown.seq
        what = (
            f"rows {there + 1} to {seq} are lost"
            if seq > there
            else f"row {seq} is another one now: rows were lost, and others written since"
        )
        return Lost(
            f"an agent holds this manager's receipt of row {seq}, and {what}",
            league_id=self._league.rules.league_id,
            seq=there,
            lost_until=seq,
            hash=shown.hash,
        )

"""What must hold once nothing goes wrong any more, whatever went wrong before.

Before that a message may be lost at any time, so nobody can be sure to be told anything. From then
on everybody who is there is told what is decided, how rounds and the league end, and ends with it;
and in a round that begins later nobody loses, waits or is replaced but those who are gone or odd.
"""

from collections.abc import Collection, Iterator

from agentleague.league.events import (
    LeagueEnded,
    MatchDecided,
    RoundEnded,
    RoundScheduled,
    Told,
)
from agentleague.league.match_record import MatchFile
from agentleague.roles.effects import Event
from agentleague.simulation.league import MANAGER, SimulatedLeague, url_of
from agentleague.simulation.network import host_of
from agentleague.storage.chain import moment

SETTLE_SECONDS = 25.0  # until it shows who is there: two leases, or letters that run out, and more


class Recovery:
    """One league that has run, and what of it came after all trouble."""

    def __init__(self, league: SimulatedLeague, healed_at: float, odd: Collection[str]) -> None:
        self._league, self._witness, self._odd = league, league.witness, odd
        self._healed_at = healed_at
        self._names = {
            league.player_id(name): name
            for name in league.processes
            if name.startswith("player") and league.is_known(name)
        }

    def found(self) -> Iterator[str]:
        """What does not hold, in words."""
        yield from self._end_is_told()
        for event in self._since(self._healed_at):
            if isinstance(event, MatchDecided):
                yield from self._result_is_told(self._witness.league.matches[event.match_id])
        for event in self._since(self._healed_at + SETTLE_SECONDS):
            if isinstance(event, RoundEnded):
                yield from self._round_end_is_told(event.round_id)
        yield from self._later_rounds()

    def _since(self, when: float) -> list[Event]:
        first, witness = moment(when), self._witness
        return [
            event
            for row, event in zip(witness.rows, witness.events, strict=True)
            if row.at >= first
        ]

    def _there(self) -> dict[str, str]:
        """Players that live and take part, by id."""
        league, removed = self._league, self._witness.league.roster.removed
        return {
            player_id: name
            for player_id, name in self._names.items()
            if name not in league.gone and player_id not in removed
        }

    def _end_is_told(self) -> Iterator[str]:
        """By a manager that decided it since, or came back since and had not told everybody."""
        since = self._since(self._healed_at)
        is_decided = any(isinstance(event, LeagueEnded) for event in since)
        is_told = any(isinstance(event, Told) and event.what == "league_end" for event in since)
        is_back = self._league.processes[MANAGER].born_at >= self._healed_at
        if not is_decided and not (is_told and is_back):
            return
        for name in self._there().values():
            is_late = self._came_after_the_end(name)  # It is refused, and goes home (R-REG-05).
            if url_of(name) not in self._witness.told_the_end and not is_late:
                yield f"I7: {name} was there and never told that the league is over"
        for name, process in self._league.processes.items():
            if name not in (MANAGER, *self._odd) and process.is_alive:
                yield f"I7: {name} goes on after the end of the league"

    def _came_after_the_end(self, name: str) -> bool:
        ended = [row.at for row in self._witness.rows if row.kind == "league_ended"]
        return moment(self._league.processes[name].born_at) >= ended[0]

    def _result_is_told(self, file: MatchFile) -> Iterator[str]:
        there = self._there()
        for player_id in file.players:
            name = there.get(player_id)
            is_told = name is None or (url_of(name), file.match_id) in self._witness.told
            if not is_told and not self._witness.is_foreign(file):
                yield f"I7: {name} was there and never told how {file.match_id} ended"

    def _round_end_is_told(self, round_id: int) -> Iterator[str]:
        """To whom does not answer only the newest of what waits is sent."""
        tables = self._witness.tables
        for name in [each for each in self._there().values() if each not in self._odd]:
            if (url_of(name), round_id) not in tables.rounds_told:
                yield f"I7: {name} was there and never told that round {round_id} is over"
            elif (url_of(name), round_id) in tables.unshown:
                yield f"I7: {name} was told that round {round_id} is over before it saw the table"

    def _later_rounds(self) -> Iterator[str]:
        rounds = [
            event.round_id
            for event in self._since(self._healed_at + SETTLE_SECONDS)
            if isinstance(event, RoundScheduled)
        ]
        for file in self._witness.league.matches.values():
            if file.round_id in rounds:
                yield from self._as_in_a_calm_league(file)

    def _as_in_a_calm_league(self, file: MatchFile) -> Iterator[str]:
        result = file.decided.result if file.decided else None
        if result and result.status == "TECHNICAL_LOSS" and result.no_contest is not True:
            there = self._there()
            losers = [each for each in file.players if each != result.winner_player_id]
            sound = [each for each in losers if each in there and there[each] not in self._odd]
            if sound:
                yield f"I8: {sound} lost {file.match_id}: {result.reason}"
        if result and result.no_contest is True:
            yield f"I8: {file.match_id} is no contest: {result.reason}"
        if file.epoch > 1 and not file.unreached and not self._was_with_an_odd_one(file):
            yield f"I7: {file.match_id} was given out {file.epoch} times for no reason"
        if self._was_twice_with_one(file):
            yield f"I7: {file.match_id} was given to one referee under two ids: {file.referees}"

    def _was_with_an_odd_one(self, file: MatchFile) -> bool:
        """One of another make, or a liar: it may hold a match for long, or never be believed."""
        referees = self._witness.league.roster.referees
        return any(host_of(referees[each].endpoint) in self._odd for each in file.referees)

    def _was_twice_with_one(self, file: MatchFile) -> bool:
        referees = self._witness.league.roster.referees
        holders = set(file.referees)
        return len({referees[each].endpoint for each in holders}) < len(holders)

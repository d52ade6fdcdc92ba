"""The course of a league: it starts, announces round after round, shows the table, and ends.

What everybody was told is noted in the journal; after a restart the messages of the phase without
such a note are sent again from its start.
"""

from collections.abc import Callable, Iterable

import msgspec

from agentleague.league.events import (
    LeagueEnded,
    LeagueStarted,
    RoundEnded,
    RoundScheduled,
    ScheduledMatch,
    Told,
)
from agentleague.league.league import Phase
from agentleague.manager import organiser_notices
from agentleague.manager.assignments import Assignments
from agentleague.manager.broadcasts import Rows
from agentleague.manager.notices import ResultNotices
from agentleague.manager.office import Office
from agentleague.protocol.messages import Message
from agentleague.roles.effects import End

REMOVED = "was removed by the organiser"
MANY = 500  # players; in a larger league a table to all of them takes time from the matches
NEWS_PART = 4  # of its players: a quarter as many results make a new table worth it


class Rounds:
    """One league from its start to its end."""

    def __init__(
        self, office: Office, assignments: Assignments, result_notices: ResultNotices
    ) -> None:
        self.seconds = 0.0  # from the first announcement to the last LEAGUE_COMPLETED
        self._step, self._adjudicator, self._broadcasts, self._keys, self._settings = office
        self._assignments, self._result_notices = assignments, result_notices
        self._league = self._step.league
        self._is_due = False  # the time to start is there; those who are needed may not be
        self._unheard: set[str] = set()  # players whose answer to the announcement is awaited
        self._absent: set[str] = set()  # players who let a message run out; not waited for
        self._untold: dict[tuple[str, int], set[str]] = {}  # what, of which round -> to whom still
        self._announced_at = self._began = 0.0
        self._table_at = float("-inf")  # when the table was last sent
        self._table_results = 0  # how many results it had
        self._table_timer = False
        self._begun = 0  # the last round whose matches were handed out
        self._is_waiting = False  # for the end of a pause, before the next round
        self._is_over = False
        self.rounds_max: int | None = None  # where a measurement ends the league as it stands

    # From nothing, or from a journal

    def open(self) -> None:
        """A league that is new: it may start by the clock."""
        seconds = self._settings.start_after_seconds
        if seconds is not None and self._league.phase is Phase.REGISTERING:
            self._step.wake("start", self._step.now + seconds)

    def resume(self) -> None:
        """Go on where the journal ends."""
        league = self._league
        self._began = self._step.now
        if league.phase is Phase.REGISTERING:
            self.open()
            self.start_if_complete()
        elif league.phase is Phase.COMPLETED:
            self._resume_end()
        elif league.round_id == 0:
            self._announce(1)
        else:
            self._resume_round()

    def _resume_end(self) -> None:
        if ("league_end", self._league.round_id) in self._league.told:
            self._is_over = True
            self._step.out.append(End(self._league))
        else:
            self._result_notices.tell_all_decided()
            self._resume_round_end()
            self._tell_the_end()

    def _resume_round_end(self) -> None:
        ended = self._league.rounds_ended
        if ended and ("round_end", ended) not in self._league.told:
            self._tell_round_end(ended)

    def _resume_round(self) -> None:
        league = self._league
        self._resume_round_end()
        if league.round_id == league.rounds_ended:
            self._go_on()
        elif ("announcement", league.round_id) in league.told:
            self.begin()
        else:
            self._tell_round()

    # It starts

    def start_if_complete(self) -> None:
        """Start as soon as all are there that the settings ask for."""
        roster, settings = self._league.roster, self._settings
        wanted = max(settings.players or 0, 2)
        is_full = settings.players is not None and self._players_count() >= wanted
        if self._league.phase is not Phase.REGISTERING or not (is_full or self._is_due):
            return
        if len(roster.referees) >= (1 if self._is_due else settings.referees):
            self.start()

    def due(self) -> None:
        """The time to start has come."""
        self._is_due = True
        missing = self.missing()
        if missing and self._league.phase is Phase.REGISTERING:
            self._step.news.append(f"It is time to start, but {missing}.")
        self.start_if_complete()

    def missing(self) -> str:
        """Who is needed before a league can start, in words; nothing if all are there."""
        players, referees = self._players_count(), len(self._league.roster.referees)
        if players < 2:
            return f"a league needs two players, and {players or 'none'} is registered"
        return "" if referees else "a league needs a referee, and none is registered"

    def start(self) -> None:
        """Registration is closed. Does nothing while somebody is missing."""
        if not self.missing():
            self._began = self._step.now
            self._step.record(LeagueStarted(self._taking_part()))
            self._step.news.append(organiser_notices.begun(self._league))
            self._announce(1)

    # A round

    def _announce(self, round_id: int) -> None:
        league = self._league
        assert league.schedule
        planned = league.schedule.round(round_id)
        referees = self._assignments.spread(len(planned.pairings))
        matches = [
            ScheduledMatch(*pairing, referee_id, self._adjudicator.commitment(pairing.match_id))
            for pairing, referee_id in zip(planned.pairings, referees, strict=True)
        ]
        self._step.record(RoundScheduled(round_id, matches, list(planned.byes)))
        self._tell_round()

    def _tell_round(self) -> None:
        rows, players = self._broadcasts.match_rows(), self._taking_part()
        self._announced_at = self._step.now
        self._unheard = set(players) - self._absent
        round_id = self._league.round_id
        self._step.wake(("heard", round_id), self._step.now + self._settings.reply_seconds)
        for player_id in players:
            message = self._broadcasts.announcement(self._step.now_text, rows, player_id)
            self._step.tell(player_id, message, ("announcement", round_id))
        if not self._unheard:
            self._step.wake("round", self._step.now)

    def stop_waiting(self, round_id: int) -> None:
        """Who has not answered the announcement by now is not waited for."""
        if round_id == self._league.round_id and self._unheard:
            self._absent |= self._unheard
            self._unheard.clear()
            self._begin_if_heard()

    def heard(self, player_id: str, round_id: int) -> None:
        """A player knows of the round, or was given up."""
        if round_id == self._league.round_id and player_id in self._unheard:
            self._unheard.discard(player_id)
            self._begin_if_heard()

    def _begin_if_heard(self) -> None:
        if self._unheard or self._league.phase is not Phase.RUNNING:
            return
        begins_at = self._announced_at + self._settings.round_notice_seconds
        if begins_at > self._step.now:
            self._step.wake("round", begins_at)
        else:
            self.begin()

    def begin(self) -> None:
        """Everybody knows of the round: its matches begin."""
        round_id = self._league.round_id
        if self.has_begun or self._unheard:
            return
        self._begun = round_id
        if ("announcement", round_id) not in self._league.told:
            self._step.record_later(Told("announcement", round_id))
        self._forfeit_matches_of_removed()
        self._tell_what_no_referee_can()
        if round_id == self._league.round_id and self._league.phase is Phase.RUNNING:
            self._assignments.begin_round()
            self.close_if_done()

    @property
    def has_begun(self) -> bool:
        """Whether the matches of the round are being played, or were."""
        return self._begun == self._league.round_id

    def _forfeit_matches_of_removed(self) -> None:
        league = self._league
        if not league.roster.removed:
            return
        for match_id in sorted(league.open_matches):
            record = league.matches[match_id]
            out = [each for each in record.players if self._is_out(each, record.round_id)]
            if out and record.decided is None:
                self._step.record(
                    self._adjudicator.forfeit(match_id, [(each, REMOVED) for each in out])
                )
                self._result_notices.tell(match_id)

    def _tell_what_no_referee_can(self) -> None:
        """Decided before a restart: a referee of another make would play it again."""
        referees = self._league.roster.referees
        for match_id in sorted(self._league.open_matches):
            record = self._league.matches[match_id]
            is_told = self._result_notices.is_telling(match_id) or referees[record.referee_id].locks
            if record.decided and not record.closed and not is_told:
                self._result_notices.tell(match_id)

    def _is_out(self, player_id: str, round_id: int) -> bool:
        return self._league.roster.removed.get(player_id, round_id + 1) <= round_id

    def close_if_done(self) -> None:
        """End the round if all its matches are closed."""
        league = self._league
        is_running = league.phase is Phase.RUNNING and league.rounds_ended < league.round_id
        if is_running and not league.open_matches:
            self.end_round()

    def end_round(self) -> None:
        """All its matches are closed."""
        league = self._league
        self._step.record(RoundEnded(league.round_id))
        self._step.news.append(organiser_notices.round_over(league))
        self._tell_round_end(league.round_id)
        self._go_on()

    def _tell_round_end(self, round_id: int) -> None:
        self.tell_table()
        ended = self._broadcasts.round_completed(self._step.now_text, round_id)
        receipt = self._league.round_ended_seq
        self._tell_all(("round_end", round_id), lambda agent_id: ended, receipt)

    def _go_on(self) -> None:
        league = self._league
        assert league.schedule
        if league.round_id >= league.schedule.rounds_total:
            self._step.record(LeagueEnded(league.table.rows()[0].player_id))
            self._step.news.append(organiser_notices.over(league))
            self._tell_the_end()
        elif self.rounds_max is not None and league.round_id >= self.rounds_max:
            self.abort()
        elif league.paused:
            self._is_waiting = True
        else:
            self._announce(league.round_id + 1)

    def continued(self) -> None:
        """A pause is over."""
        if self._is_waiting:
            self._is_waiting = False
            self._announce(self._league.round_id + 1)

    # The table

    def table_changed(self) -> None:
        """Show it soon, but not too often."""
        if not self._table_timer and self._league.open_matches and self._is_news():
            self._table_timer = True
            due = self._table_at + self._settings.standings_seconds
            self._step.wake("table", max(due, self._step.now))

    def _is_news(self) -> bool:
        players, results = self._players_count(), self._league.decided_total
        return players <= MANY or results - self._table_results >= players / NEWS_PART

    def table_due(self) -> None:
        """It is time to show it."""
        self._table_timer = False
        if self._league.open_matches:
            self.tell_table()

    def tell_table(self) -> None:
        """Show everybody the table."""
        self._table_at, self._table_results = self._step.now, self._league.decided_total
        rows = self._broadcasts.table_rows()
        for player_id in self._taking_part():
            message = self._broadcasts.standings(self._step.now_text, rows, player_id)
            self._step.tell(player_id, message)

    def ruled(self) -> None:
        """The organiser changed what counts; who was told the league's end is told no more."""
        if self._league.phase is Phase.RUNNING:
            self.tell_table()

    # It ends

    def abort(self) -> None:
        """The organiser ends the league as it stands."""
        rows = self._league.table.rows()
        self._step.record(LeagueEnded(rows[0].player_id if rows else "", aborted=True))
        self._result_notices.tell_all_decided()
        self._tell_the_end()

    def _tell_the_end(self) -> None:
        rows = self._broadcasts.table_rows()
        tag = ("league_end", self._league.round_id)
        self._tell_all(tag, lambda agent_id: self._last_words(agent_id, rows))
        is_told = self._step.outbox.is_empty()  # There is nobody.
        wait = 0.0 if is_told else self._settings.reply_seconds
        self._step.wake("end", self._step.now + wait)

    def tell_the_end_to(self, agent_id: str) -> None:
        """Who comes back or speaks when the league is over would wait for ever."""
        said = self._last_words(agent_id, self._broadcasts.table_rows())
        self._step.tell(agent_id, said, ("league_end", self._league.round_id), keep=True)

    def _last_words(self, agent_id: str, rows: Rows) -> Message:
        said = self._broadcasts.league_completed(self._step.now_text, rows, agent_id)
        if agent_id in self._league.roster.referees:
            return msgspec.structs.replace(said, session=self._keys.session(agent_id))
        return said

    def end_if_told(self) -> None:
        """The league's work is done when everybody was told everything."""
        if self._league.phase is Phase.COMPLETED and self._step.outbox.is_empty():
            self.end()

    def end_due(self) -> None:
        """It is time to end; of many agents some may not even have been called yet."""
        if self._step.outbox.is_behind():
            self._step.wake("end", self._step.now + self._settings.reply_seconds)
        else:
            self.end()

    def end(self) -> None:
        """Everybody was told, or had as long as a reply may take."""
        if not self._is_over:
            self._is_over, self.seconds = True, self._step.now - self._began
            self._step.record(Told("league_end", self._league.round_id))
            self._step.out.append(End(self._league))

    # Who was told

    def noticed(self, agent_id: str, *, ran_out: bool) -> None:
        """Who lets a message run out is not waited for, until it answers one."""
        (self._absent.add if ran_out else self._absent.discard)(agent_id)

    def told(self, agent_id: str, what: str, round_id: int) -> None:
        """An agent was told, or given up; when it was the last, that is noted."""
        untold = self._untold.get((what, round_id))
        if untold is None:
            return
        untold.discard(agent_id)
        if not untold:
            del self._untold[what, round_id]
            if what == "round_end":
                self._step.record_later(Told(what, round_id))

    def _tell_all(
        self,
        tag: tuple[str, int],
        message: Callable[[str], Message],
        receipt: int | None = None,
    ) -> None:
        roster = self._league.roster
        everybody = [*roster.players, *roster.referees]
        self._untold[tag] = set(everybody)
        for agent_id in everybody:
            said = message(agent_id)
            self._step.tell(agent_id, said, tag, receipt=receipt)

    def _players_count(self) -> int:
        """How many take part, without looking at each of them."""
        roster = self._league.roster
        return len(roster.players) - len(roster.removed)

    def _taking_part(self) -> list[str]:
        """The players, without those whom the organiser took out."""
        roster = self._league.roster
        players: Iterable[str] = roster.players
        return [player_id for player_id in players if player_id not in roster.removed]

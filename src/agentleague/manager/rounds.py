"""The course of a league: it starts, announces round after round, shows the table, and ends.

What everybody was told is noted in the journal. After a restart, the messages of a phase without
such a note are sent again from its start.
"""

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from msgspec import UNSET, UnsetType

from agentleague.league import events
from agentleague.league.adjudicator import Adjudicator
from agentleague.league.formats.format import Done, Round, Stage
from agentleague.league.formats.stages import NextStage, misfit, seeded
from agentleague.league.league import League, Phase
from agentleague.manager import keys, notices
from agentleague.manager.assignments import Assignments
from agentleague.manager.broadcasts import Broadcasts
from agentleague.manager.notices import ResultNotices
from agentleague.manager.step import Step
from agentleague.protocol.draws import CHAMPION
from agentleague.protocol.printable import duration
from agentleague.protocol.timestamps import moment
from agentleague.roles.effects import End

REMOVED = "was removed by the organiser"
NOTICE_TOLD_SECONDS = 5.0  # Nobody wonders about a shorter one.


class Rounds:
    """One league from its start to its end."""

    def __init__(
        self,
        step: Step,
        *,
        adjudicator: Adjudicator,
        broadcasts: Broadcasts,
        assignments: Assignments,
        result_notices: ResultNotices,
    ) -> None:
        self.undecided: Callable[[], list[str]] = list  # players who may turn out to be nobody,
        self.leave_out_undecided: Callable[[], None] = lambda: None  # and do not start
        self.waited_for: Callable[[float], list[str]] = lambda now: []  # who may not listen yet
        self._is_wait_told = False
        self._complete_at: float | None = None  # since when all are there that are needed
        self.seconds = 0.0  # from the first announcement to the last LEAGUE_COMPLETED
        self._step, self._adjudicator, self._broadcasts = step, adjudicator, broadcasts
        self._assignments, self._result_notices = assignments, result_notices
        self._league, self._settings = step.league, step.settings
        self._is_due = False  # the time to start has come; not all who are needed may be there
        self._unanswered: set[str] = set()  # players whose answer to the announcement is awaited
        self._absent: set[str] = set()  # players who let a message run out; not waited for
        self._untold: dict[int, set[str]] = {}  # round that is over -> agents still to be told
        self._announced_at = self._began = 0.0
        self._table_at = float("-inf")  # when the table was last sent
        self._new_results = 0  # matches that were closed since
        self._table_timer = False
        self._begun = 0  # the last round whose matches were handed out
        self._is_waiting = False  # for the end of a pause, to announce the next round
        self._is_over = False
        result_notices.closed = self.table_changed
        self.rounds_max: int | None = None  # where a measurement ends the league as it stands
        self.is_enough: Callable[[League], bool] = lambda league: False  # after each round: end it
        self.is_trial = False  # it is held after its first round, and nobody is told of an end

    # From nothing, or from a journal

    def open(self) -> None:
        """Registration is open; the league may start by the clock."""
        seconds, start_at = self._settings.start_after_seconds, self._settings.start_at
        if start_at:
            seconds = max(0.0, moment(start_at) - self._step.wall_now)
        if seconds is not None and self._league.phase is Phase.REGISTERING:
            self._step.wake(keys.LeagueStartDue(), self._step.now + seconds)

    def resume(self) -> None:
        """Continue where the journal ends."""
        league = self._league
        self._began = self._step.now
        if league.phase is Phase.REGISTERING:
            self.open()
            self.start_if_complete()
        elif league.phase is Phase.COMPLETED:
            self._resume_end()
        else:
            self._resume_round()

    def _resume_end(self) -> None:
        if ("league_end", self._league.round_id) in self._league.told:
            self._is_over = True
            self._step.effects.append(End(self._league))
        else:
            self._result_notices.tell_all_decided()
            self._resume_round_end()
            self._tell_the_end()

    def _resume_round_end(self) -> None:
        league, ended = self._league, self._league.rounds_ended
        if ended and ("round_end", ended) not in league.told:
            is_last = ended == league.round_id and isinstance(league.next_round(), Done)
            self._tell_round_end(ended, is_last=is_last)

    def _resume_round(self) -> None:
        league = self._league
        self._check_the_time()
        self._resume_round_end()
        self._watch_the_time()
        if league.round_id == league.rounds_ended:
            self._go_on(self._following())
        elif ("announcement", league.round_id) in league.told:
            self.begin()
        else:
            self._tell_round()

    # It starts

    def start_if_complete(self) -> None:
        """Start as soon as all that the settings ask for are there."""
        roster, settings = self._league.roster, self._settings
        wanted = max(settings.players or 0, 2)
        is_full = settings.players is not None and self._ready_count() >= wanted
        if self._league.phase is not Phase.REGISTERING or not (is_full or self._is_due):
            return
        if roster.referees_total < (1 if self._is_due else settings.referees):
            return
        now, limits = self._step.now, self._step.limits
        self._complete_at = now if self._complete_at is None else self._complete_at
        waited, early = now - self._complete_at, self.waited_for(now)
        if waited < limits.listen_seconds and early:
            if waited >= limits.listen_seconds / 10 and not self._is_wait_told:
                self._is_wait_told = True
                names = (f"{each} {roster.member(each).display_name}" for each in early)
                self._step.notify(f"Waiting for {', '.join(names)} to listen.")
            self._step.wake(keys.ListenersDue(), now + limits.listen_pause_seconds)
        else:
            self.start()

    def due(self) -> None:
        """The time to start has come."""
        self._is_due = True
        missing = self.missing()
        if missing and self._league.phase is Phase.REGISTERING:
            self._step.notify(
                f"It is time to start. It begins by itself when enough are there: {missing}"
            )
        self.start_if_complete()

    def awaited(self) -> dict[str, Any]:
        """Before the start: for how many it waits, and until when; or when the round begins."""
        settings, found = self._settings, dict[str, Any]()
        if self.notice_left:
            found["round_begins_at"] = self._step.calendar.write(self._step.now + self.notice_left)
        if self._league.phase is not Phase.REGISTERING:
            return found
        if settings.players:
            found = {"players_wanted": settings.players, "referees_wanted": settings.referees}
        return found | ({"starts_at": settings.start_at} if settings.start_at else {})

    def missing(self) -> str:
        """Who is needed before a league can start, in words; nothing if all are there."""
        players, referees = self._ready_count(), self._league.roster.referees_total
        if players < 2:
            here = players or "none"
            return f"a league needs two players, and {here} is registered: register more"
        if referees:
            league = self._league
            problem = misfit(league.stages, players, league.formats, is_known=False)
            return f"{problem.rstrip('.')}: register more" if problem else ""
        for waiting in self._league.roster.waiting:
            return (
                f"a league needs a referee; {waiting} waits to be let in: league approve {waiting} "
                "--dir DIR"
            )
        return "a league needs a referee, and none is registered: register more"

    def start(self) -> None:
        """Close registration and begin; does nothing if somebody is missing."""
        if not self.missing():
            self._began = self._step.now
            self.leave_out_undecided()
            by_id = "player_id" in self._league.rules.tie_breaks
            commitment = UNSET if by_id else self._adjudicator.commitment(CHAMPION)
            rules, elo = self._league.rules, self._step.season.elo
            seed = self._adjudicator.seeding_seed() if rules.seeding == "random" else b""
            how = rules.seeding or ""
            players = seeded(self._taking_part(), how, rules.league_id, seed, elo)
            known = {each: elo[each] for each in players if each in elo} or UNSET
            ends_at = self._ends_at(self._league.stages[0])
            self._step.record(
                events.LeagueStarted(players, commitment, seed.hex() or UNSET, known, ends_at)
            )
            self._watch_the_time()
            self._step.notify(notices.begun(self._league))
            self._tell_excess()
            self._go_on(self._following())

    # A stage

    def _following(self) -> Round | Done:
        """What comes next: who came late is in it, and after the end of a stage the next begins."""
        league = self._league
        self._check_the_time()
        following = league.next_round()
        if league.rules.late and isinstance(following, Round):
            for player_id in league.joining:
                elo = self._step.season.elo.get(player_id, UNSET)
                self._step.record(events.PlayerJoined(player_id, elo))
            following = league.next_round()
        if isinstance(following, NextStage):
            ends_at = self._ends_at(league.stages[following.stage - 1])
            players = list(following.players)
            self._step.record(events.StageStarted(following.stage, players, ends_at))
            self._watch_the_time()
            self._step.notify(notices.stage_begun(league))
            self._tell_excess()
            following = league.next_round()
        assert isinstance(following, Round | Done), "a match is open, or a stage has no round"
        return following

    def _tell_excess(self) -> None:
        progress = self._league.progress
        excess = progress.format.excess(len(progress.field), progress.options)
        for each in excess:
            self._step.notify(f"{each.fault}: {each.instead}.")
        said = notices.nobody_left_out(progress)
        if said and all(each.option != "advance" for each in excess):
            self._step.notify(said)

    def _ends_at(self, stage: Stage) -> int | UnsetType:
        seconds = stage.options.get("seconds")
        return ceil(self._step.wall_now + int(seconds)) if seconds else UNSET

    def _watch_the_time(self) -> None:
        league = self._league
        if league.ends_at and not league.progress.is_time_up:
            left = max(league.ends_at - self._step.wall_now, 0.0)
            due = keys.StageTimeDue(league.progress.stage)
            self._step.wake(due, self._step.now + left)

    def _check_the_time(self) -> None:
        """Its time may have ended while the manager was away, or be about to."""
        league = self._league
        if league.ends_at and league.ends_at <= self._step.wall_now:
            self.stage_time_due(league.progress.stage)

    def stage_time_due(self, stage: int) -> None:
        """The time of a stage is over; its running round is played to its end."""
        league = self._league
        is_running = stage == league.progress.stage and not league.progress.is_time_up
        if is_running and league.phase is not Phase.COMPLETED:
            self._step.record(events.TimeUp(stage))

    # A round

    def _announce(self, planned: Round) -> None:
        referees = self._assignments.spread(len(planned.pairings))
        matches = []
        for (match_id, (a, b)), referee_id in zip(planned.matches, referees, strict=True):
            commitment = self._adjudicator.commitment(match_id)
            matches.append(events.ScheduledMatch(match_id, a, b, referee_id, commitment))
        byes, generation = list(planned.byes), self._league.generation or UNSET
        self._step.record(events.RoundScheduled(planned.round_id, matches, byes, generation))
        self._tell_round()

    def _tell_round(self) -> None:
        self._announced_at = self._step.now
        self._unanswered = set(self._taking_part()) - self._absent
        round_id = self._league.round_id
        until = self._step.now + self._settings.reply_seconds
        self._step.wake(keys.AnnouncementAnswersDue(round_id), until)
        if self.notice_left >= NOTICE_TOLD_SECONDS:
            self._step.notify(f"Round {round_id} begins in {duration(self.notice_left)}.")
        announcements = self._broadcasts.to_each_player(self._broadcasts.match_rows)
        self._step.outbox.send(announcements, keys.RoundAnnounced(round_id))
        if not self._unanswered:
            self._step.wake(keys.RoundStartDue(), self._step.now)

    def stop_waiting(self, round_id: int) -> None:
        """Do not wait any longer for answers to the announcement."""
        if round_id == self._league.round_id and self._unanswered:
            self._absent |= self._unanswered
            self._unanswered.clear()
            self._begin_if_answered()

    def announced_to(self, players: Sequence[str], round_id: int) -> None:
        """These players know of the round, or were given up."""
        if round_id == self._league.round_id and not self._unanswered.isdisjoint(players):
            self._unanswered.difference_update(players)
            self._begin_if_answered()

    def _begin_if_answered(self) -> None:
        if self._unanswered or self._league.phase is not Phase.RUNNING:
            return
        begins_at = self._announced_at + self._settings.round_notice_seconds
        if begins_at > self._step.now:
            self._step.wake(keys.RoundStartDue(), begins_at)
        else:
            self.begin()

    def begin(self) -> None:
        """All players know of the round: its matches begin."""
        round_id = self._league.round_id
        if self.has_begun or self._unanswered:
            return
        self._begun = round_id
        if ("announcement", round_id) not in self._league.told:
            self._step.record_later(events.Told("announcement", round_id))
        self._forfeit_matches_of_removed()
        self._tell_results_of_foreign_referees()
        self._assignments.begin_round()

    @property
    def has_begun(self) -> bool:
        """Whether the matches of the round were handed out."""
        return self._begun == self._league.round_id

    @property
    def notice_left(self) -> float:
        """For how many seconds more the round is only announced."""
        begins_at = self._announced_at + self._settings.round_notice_seconds
        return 0.0 if self.has_begun else max(0.0, begins_at - self._step.now)

    @property
    def notice(self) -> str:
        """What its matches wait for while the round is only announced."""
        return f"it begins in {duration(self.notice_left)}" if self.notice_left else ""

    def _forfeit_matches_of_removed(self) -> None:
        league = self._league
        if not league.roster.removed:
            return
        for match_id in sorted(league.open_matches):
            record, later = league.matches[match_id], league.round_id + 1
            removed_in = {each: league.roster.removed.get(each, later) for each in record.players}
            out = [each for each, round_id in removed_in.items() if round_id < later]
            if out and record.decided is None:
                forfeits = [(each, REMOVED) for each in out]
                self._step.record(self._adjudicator.forfeit(match_id, forfeits))
                self._result_notices.tell(match_id)

    def _tell_results_of_foreign_referees(self) -> None:
        """Tell results from before a restart: a foreign referee would play the match again."""
        referees = self._league.roster.referees
        for match_id in sorted(self._league.open_matches):
            record = self._league.matches[match_id]
            is_foreign = not referees[record.referee_id].locks
            if record.decided and is_foreign and not self._result_notices.is_telling(match_id):
                self._result_notices.tell(match_id)

    def close_if_done(self) -> None:
        """End the round, all of whose matches are closed; called after each stimulus."""
        league = self._league
        if league.phase is Phase.RUNNING and league.rounds_ended < league.round_id:
            self._step.record(events.RoundEnded(league.round_id))
            self._step.notify(notices.round_over(league))
            is_enough = self.is_enough(league)
            if is_enough:
                self.rounds_max = league.round_id
            following = self._following()
            is_last = is_enough or isinstance(following, Done)
            self._tell_round_end(league.round_id, is_last=is_last)
            self._go_on(following)

    def _tell_round_end(self, round_id: int, *, is_last: bool) -> None:
        self.tell_table()
        message = self._broadcasts.round_completed(round_id, is_last=is_last)
        everybody, seq = self._everybody, self._league.round_ended_seq
        self._untold[round_id] = set(everybody)
        told = [(agent_id, message) for agent_id in everybody]
        self._step.outbox.send(told, keys.RoundEndTold(round_id), seq)

    def _go_on(self, following: Round | Done) -> None:
        league = self._league
        if isinstance(following, Done):
            if league.progress.stage < len(league.stages):
                self._step.notify(notices.stages_left_out(league))
            self._record_end()
            self._step.notify(f"The league is over: {notices.champion(league)}")
            self._tell_the_end()
        elif self.rounds_max is not None and league.round_id >= self.rounds_max:
            self.abort()
        elif league.paused or (self.is_trial and league.round_id):
            self._is_waiting = True
        else:
            self._announce(following)

    def end_pause(self) -> None:
        """The league continues."""
        if self._is_waiting:
            self._is_waiting = False
            self._go_on(self._following())

    # The table

    def table_changed(self, new: int = 1) -> None:
        """So many matches were closed: show the table soon, but not too often."""
        self._new_results += new
        if not self._table_timer and self._is_worth_showing():
            self._table_timer = True
            due = self._table_at + self._settings.standings_seconds
            self._step.wake(keys.TableDue(), max(due, self._step.now))

    def _is_worth_showing(self) -> bool:
        players, limits = self._league.players_total, self._step.limits
        is_small = players <= limits.often_shown_players_max
        wanted = 1 if is_small else players / limits.table_results_part
        return bool(self._league.open_matches) and self._new_results >= wanted

    def table_due(self) -> None:
        """It is time to show the table, unless it was shown since, when a round ended."""
        self._table_timer = False
        if self._table_at + self._settings.standings_seconds > self._step.now:
            self.table_changed(0)
        elif self._is_worth_showing():
            self.tell_table()

    def tell_table(self) -> None:
        """Show all players the table."""
        self._table_at, self._new_results = self._step.now, 0
        self._step.outbox.send(self._broadcasts.to_each_player(self._broadcasts.table_rows))

    # It ends

    def abort(self) -> None:
        """The organiser ends the league as it stands."""
        self._record_end(aborted=True)
        self._result_notices.tell_all_decided()
        self._tell_the_end()

    def _record_end(self, *, aborted: bool = False) -> None:
        seed = self._adjudicator.champion_seed()
        champion = self._league.champion_now(seed)
        self._step.record(events.LeagueEnded(champion, aborted, seed))

    def _tell_the_end(self) -> None:
        table, waiting = self._broadcasts.final_table(), self._league.roster.waiting
        ours = [each for each, member in waiting.items() if member.locks]  # They wait for this.
        for agent_id in (*self._everybody, *ours):
            message = self._broadcasts.league_completed(table, agent_id)
            self._step.tell(agent_id, message, keys.LeagueEndTold())
        is_nobody_there = self._step.outbox.is_empty()
        wait = 0.0 if is_nobody_there else self._settings.reply_seconds
        self._step.wake(keys.LeagueEndDue(), self._step.now + wait)

    def tell_the_end_to(self, agent_id: str) -> None:
        """Tell an agent that speaks after the end; else it would wait for ever."""
        message = self._broadcasts.league_completed(self._broadcasts.final_table(), agent_id)
        self._step.tell(agent_id, message, keys.LeagueEndTold(), keep=True)

    def end_if_told(self) -> None:
        """The work is done when the league is over and every message was answered or given up."""
        if self._league.phase is Phase.COMPLETED and self._step.outbox.is_empty():
            self.end()

    def end_due(self) -> None:
        """It is time to end, unless some agents were not even called yet."""
        if self._step.outbox.ready:
            self._step.wake(keys.LeagueEndDue(), self._step.now + self._settings.reply_seconds)
        else:
            self.end()

    def end(self) -> None:
        """The role's work is done."""
        if not self._is_over:
            self._is_over, self.seconds = True, self._step.now - self._began
            self._step.record(events.Told("league_end", self._league.round_id))
            self._step.effects.append(End(self._league))

    # Who was told

    def messages_settled(self, agents: Sequence[str], *, ran_out: bool) -> None:
        """An agent that let a message run out is not waited for, until it answers one."""
        (self._absent.update if ran_out else self._absent.difference_update)(agents)

    def round_end_told(self, agents: Sequence[str], round_id: int) -> None:
        """These agents were told, or given up; after the last one that is noted."""
        untold = self._untold[round_id]
        untold.difference_update(agents)
        if not untold:
            del self._untold[round_id]
            self._step.record_later(events.Told("round_end", round_id))

    @property
    def _everybody(self) -> list[str]:
        roster = self._league.roster
        everybody = (*roster.players, *roster.referees)
        return [each for each in everybody if each not in roster.displaced]

    def _ready_count(self) -> int:
        """How many would play if the league started now."""
        return self._league.players_total - len(self.undecided())

    def _taking_part(self) -> list[str]:
        """The players, without those whom the organiser removed."""
        roster = self._league.roster
        return [player_id for player_id in roster.players if player_id not in roster.removed]

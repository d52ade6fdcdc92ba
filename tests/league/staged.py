"""A league of stages, in memory: rounds as its formats draw them, results as a test says."""

from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    RoundEnded,
    RoundScheduled,
    ScheduledMatch,
    StageStarted,
)
from agentleague.league.formats.format import Round
from agentleague.league.formats.stages import NextStage, plan
from agentleague.protocol.messages import Rules
from league.decisions import LEAGUE_ID, Decisions


class Staged(Decisions):
    """The better seed wins, by a technical loss of the other, unless a test says otherwise."""

    def __init__(self, players, *stages, name=None):
        self.stages = plan(stages)
        super().__init__(players, name=name)

    def record(self, *events):
        for event in events:
            if isinstance(event, LeagueOpened):
                breaks = self.stages[0].format == "swiss" and ["buchholz", "sonneborn_berger"]
                event = LeagueOpened(
                    *(LEAGUE_ID, "even_odd", Rules(), 1, (3, 1, 0)),
                    tie_breaks=breaks or ["wins"],
                    seeded=False,
                    stages=self.stages,
                )
            super().record(event)

    def begin(self):
        self.record(LeagueStarted(list(self.league.roster.players), "c" * 64))
        return self.next()

    def next(self):
        """Begin the next round, of the next stage if need be; end the league if there is none."""
        following = self.league.next_round()
        if isinstance(following, NextStage):
            self.record(StageStarted(following.stage, list(following.players)))
            following = self.league.next_round()
        if not isinstance(following, Round):
            self.record(LeagueEnded(self.league.table.rows()[0].player_id))
            return self
        matches = [
            ScheduledMatch(match_id, *players, "REF01", self.adjudicator.commitment(match_id))
            for match_id, players in following.matches
        ]
        self.record(RoundScheduled(following.round_id, matches, list(following.byes)))
        return self

    def decide(self, match_id, *losers):
        """Decide a match; without losers it is drawn."""
        players = self.league.matches[match_id].players
        if losers:
            self.play(match_id, forfeits=losers)
        else:
            self.play(match_id, moves=[(0, each, "even") for each in players])

    def end_round(self):
        """The better seed wins what is not decided."""
        for match_id in sorted(self.league.open_matches):
            self.decide(match_id, max(self.league.matches[match_id].players))
        self.record(RoundEnded(self.league.round_id))
        return self

    def play_on(self, rounds=1_000):
        """Play so many rounds, and begin the next one, if there is one."""
        while rounds and self.league.open_matches:
            self.end_round().next()
            rounds -= 1
        return self

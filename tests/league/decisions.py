"""A league with its adjudicator, in memory; it applies and keeps decisions as the manager does."""

from msgspec import UNSET

from agentleague.games import even_odd
from agentleague.league.adjudicator import Adjudicator
from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    PlayerRegistered,
    RefereeRegistered,
    RoundEnded,
    RoundScheduled,
    ScheduledMatch,
)
from agentleague.league.league import League
from agentleague.league.standings import USUAL_TIE_BREAKS
from agentleague.protocol.messages import (
    LockRequest,
    MatchResultReport,
    ReportedResult,
    ResultDetails,
    Rules,
)
from agentleague.protocol.tokens import digest, league_token

LEAGUE_ID = "league_2026_even_odd_office"
DRAW_SECRET = b"the draw secret of the tests"
TOKEN_SECRET = b"the token secret of the tests"
TIE_BREAKS = (*USUAL_TIE_BREAKS, "player_id")


def token(agent_id):
    return league_token(TOKEN_SECRET, LEAGUE_ID, agent_id, 1)


class Decisions:
    """One league from its opening; `events` is its journal."""

    def __init__(
        self,
        players=2,
        referees=1,
        *,
        game=even_odd,
        options=None,
        locks=True,
        cycles=1,
        name=None,
        tie_breaks=TIE_BREAKS,
    ):
        self.league, self.events, self.game = League(), [], game
        self.adjudicator = Adjudicator(self.league, game, DRAW_SECRET)
        rules = Rules(game_options=options or {})
        self.record(
            LeagueOpened(LEAGUE_ID, game.name, rules, cycles, (3, 1, 0), list(tie_breaks), False)
        )
        for number in range(1, players + 1):
            self.add_player(name(number) if name else f"Agent {number}")
        for _ in range(referees):
            self.add_referee(locks=locks)

    def record(self, *events):
        for event in events:
            self.events.append(event)
            self.league.apply(event)

    def add_player(self, name):
        player_id = self.league.roster.next_player_id()
        endpoint = f"http://127.0.0.1:81/{player_id}/mcp"
        self.record(PlayerRegistered(player_id, name, endpoint, "1.0.0", digest(token(player_id))))
        return player_id

    def add_referee(self, *, locks=True):
        referee_id = self.league.roster.next_referee_id()
        endpoint = f"http://127.0.0.1:80/{referee_id}/mcp"
        at = (referee_id, referee_id.title(), endpoint, "1.0.0", digest(token(referee_id)))
        self.record(RefereeRegistered(*at, 64, locks))
        return referee_id

    def start(self):
        self.record(LeagueStarted(list(self.league.roster.players)))
        return self.schedule(1)

    def schedule(self, round_id):
        planned = self.league.planned_round(round_id)
        referees = list(self.league.roster.referees)
        matches = [
            ScheduledMatch(
                match_id,
                *players,
                referees[n % len(referees)],
                self.adjudicator.commitment(match_id),
            )
            for n, (match_id, players) in enumerate(planned.matches)
        ]
        generation = self.league.generation or UNSET
        self.record(RoundScheduled(round_id, matches, list(planned.byes), generation))
        return self

    def lock(self, moves, forfeits=(), *, match_id="R1M1", referee="REF01", epoch=1, index=0):
        request = LockRequest(match_id, epoch, index, list(moves), list(forfeits))
        return self.heed(self.adjudicator.lock(referee, request))

    def played(self, moves, forfeits=(), **at):
        """Lock a match, and report it: its players were told."""
        locked = self.lock(moves, forfeits, **at).answer
        at.pop("epoch", None)
        self.report(locked.result.winner, **at)

    def report(
        self, winner, *, match_id="R1M1", referee="REF01", details=None, score=None, **fields
    ):
        result = ReportedResult(winner, score or {}, ResultDetails(**(details or {})))
        return self.heed(
            self.adjudicator.report(referee, MatchResultReport(match_id, result, **fields))
        )

    def heed(self, ruling):
        self.record(*ruling.events)
        return ruling

    def play(self, match_id, *, forfeits=(), moves=None):
        """Lock and report one match of even/odd."""
        file = self.league.matches[match_id]
        usual = [(0, file.players[0], "even"), (0, file.players[1], "odd")]
        moves = [] if forfeits else moves or usual
        at = {"match_id": match_id, "referee": file.referee_id}
        failed = [(p, "failed") for p in forfeits]
        self.played(moves, failed, epoch=file.epoch, **at)

    def play_round(self):
        for match_id in sorted(self.league.open_matches):
            self.play(match_id)
        self.record(RoundEnded(self.league.round_id))

    def play_to_the_end(self):
        self.start()
        while True:
            self.play_round()
            if self.league.round_id == self.league.total_rounds:
                break
            self.schedule(self.league.round_id + 1)
        self.record(LeagueEnded(self.league.table.rows()[0].player_id))
        return self

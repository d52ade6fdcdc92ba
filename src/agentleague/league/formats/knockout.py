"""Knockout: the winner of a tie goes on, and the other one is out.

A tie is one or more games between the same two players. All ties of a bracket's round are played at
the same time, a game in each round of the stage, until every one of them is over; who is ready
waits. Where two players meet is fixed by their seeds, so a pairing says of which tie it was.
The rules for draws, forfeits and the like are those of `_score`.

A result may change late. The first round of the stage in which a bracket's round is played names
all who are in it, as players or byes: that is a fact. Before it, the games decide who goes on.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from agentleague.league.formats.format import (
    ADVANCE,
    Done,
    Entrants,
    Excess,
    Format,
    Option,
    Options,
    Played,
    PlayedMatch,
    Players,
    Round,
)

_NAMES = {1: "Final", 2: "Semi-finals", 4: "Quarter-finals"}
WITH_THIRD = 4  # players, for a match for third place


class Tie(NamedTuple):
    """Two places of a bracket, the upper one first, and what their players have.

    A place without a player is a bye in the first round. Later nobody came there, if the tie before
    is over; else it is not known yet.
    """

    players: tuple[str | None, str | None]
    seeds: tuple[int | None, ...]
    wins: tuple[int, ...]  # games, by their results now: a ruling came too late if the other won
    match_ids: tuple[str, ...]  # of the games that were given out
    winner: str | None  # who goes on
    is_over: bool


class BracketRound(NamedTuple):
    """Ties from top to bottom: the winners of the first two meet in the first tie after them."""

    name: str
    ties: Sequence[Tie]


class Knockout(Format):
    """Seeded, so that the best seeds meet last; where players are missing, the best have byes."""

    name, version = "knockout", 1
    about = "Who loses a tie is out."
    options: Mapping[str, Option] = {
        "best_of": Option(1, "Games of a tie; an odd number.", least=1, most=99),
        "replays": Option(
            3, "Further games of a tie that is level, before the seed decides.", most=99
        ),
        "third_place": Option(0, "1: the losers of the semi-finals play for place 3.", most=1),
        "advance": ADVANCE,
    }

    def begin(self, entrants: Entrants, options: Options) -> None:
        """See Format; nobody knows how many games a tie will have."""
        number = len(entrants)
        if number < 2:
            raise ValueError(f"A knockout needs at least 2 players, not {number}.")
        if options["best_of"] % 2 == 0:
            raise ValueError(f"best_of must be an odd number such as 3, not {options['best_of']}.")

    def excess(self, players: int, options: Options) -> Sequence[Excess]:
        """See Format; with fewer than four there are not two who lost a semi-final."""
        more = super().excess(players, options)
        if not options["third_place"] or players >= WITH_THIRD:
            return more
        fault = f"A match for third place needs at least {WITH_THIRD} players, not {players}"
        return (Excess("third_place", fault, "there is none"), *more)

    def next_round(self, played: Played, entrants: Entrants, options: Options) -> Round | Done:
        """The next game of every tie that is not over, in the order of the bracket."""
        cup = _Cup(played, entrants, options)
        *before, final = cup.rounds
        for level, ties in enumerate([*before, [*final, *cup.third]]):
            pairings = tuple(cup.pairing(tie) for tie in ties if not tie.is_over)
            if pairings:
                # Who has no opponent in a round of the bracket has a bye when that begins.
                begins = cup.rounds[level] if level > cup.latest else ()
                byes = [tie.winner for tie in begins if tie.winner]
                byes.sort(key=cup.seeds.__getitem__)
                return Round(played.rounds + 1, pairings, tuple(byes))
        return Done()

    def merits(self, played: Played, entrants: Entrants, options: Options) -> Mapping[str, int]:
        """Two for each round of the bracket before the last one it came to; one for place 3."""
        cup = _Cup(played, entrants, options)
        merits = {each: 2 * level for each, level in cup.came.items()}
        for tie in cup.third:
            if tie.winner:
                merits[tie.winner] += 1
        if champion := cup.rounds[-1][0].winner:
            merits[champion] = 2 * cup.levels
        return merits


def bracket(
    played: Played,
    entrants: Entrants,
    options: Options,
    rounds_before: int = 0,
    running: Set[str] = frozenset(),
) -> Sequence[BracketRound]:
    """The whole bracket for a view, also what is not played yet; a match for place 3 comes last.

    `rounds_before` are the rounds of the league before this stage, which the ids of matches count;
    `running` are the ids of games in `played` that are not over, and decide nothing.
    """
    cup = _Cup(played, entrants, options, rounds_before, running)
    rounds = [BracketRound(round_name(len(ties)), ties) for ties in cup.rounds]
    return [*rounds, *(BracketRound("Match for third place", [tie]) for tie in cup.third)]


def round_name(ties: int) -> str:
    """What people call the round of a bracket with so many ties."""
    return _NAMES.get(ties) or f"Round of {2 * ties}"


def slots(size: int) -> list[int]:
    """The seeds from the top of a bracket to its bottom: 1, 8, 4, 5, 2, 7, 3, 6."""
    order = [1]
    while len(order) < size:
        order = [each for seed in order for each in (seed, 2 * len(order) + 1 - seed)]
    return order


class _Cup:
    """The bracket as it stands. A level is a round of it, counted from 0.

    The slot of a player halves with each level; the tie of two is where their slots become one.
    """

    def __init__(
        self,
        played: Played,
        entrants: Entrants,
        options: Options,
        rounds_before: int = 0,
        running: Set[str] = frozenset(),
    ) -> None:
        self._options, self._removed, self._is_closed = options, played.removed, played.is_time_up
        self._rounds_before, self._running = rounds_before, running
        self.levels = (len(entrants) - 1).bit_length()
        self.latest = -1  # the level that was played last
        self.seeds = {each.player_id: seed for seed, each in enumerate(entrants, start=1)}
        slot_of = {seed: slot for slot, seed in enumerate(slots(1 << self.levels))}
        self._slots = {each: slot_of[seed] for each, seed in self.seeds.items()}
        self._reached = dict.fromkeys(self.seeds, 0)  # the last level whose first round names it
        self._games: dict[frozenset[str], list[tuple[str, PlayedMatch]]] = {}
        self._third: Players | None = None  # if they were paired
        for number, each in enumerate(played.results, start=1):
            self._take(number, each.matches, each.byes)
        self.rounds: list[list[Tie]] = []
        self.came: dict[str, int] = {}  # player -> the last level that it came to
        for level in range(self.levels):
            self.rounds.append(self._ties(level))
            self.came |= {each: level for tie in self.rounds[-1] for each in tie.players if each}
        is_third = options["third_place"] and len(entrants) >= WITH_THIRD
        self.third = self._third_place() if is_third else []
        final = self.rounds[-1][0]
        if final.is_over and final.winner is None:
            self.rounds[-1] = [final._replace(winner=self._last_resort())]

    def pairing(self, tie: Tie) -> Players:
        """The next game: the better seed begins, then the seats are swapped from game to game."""
        players = sorted(filter(None, tie.players), key=self.seeds.__getitem__)
        return tuple(reversed(players) if len(tie.match_ids) % 2 else players)

    def _take(self, number: int, matches: Sequence[PlayedMatch], byes: Sequence[str]) -> None:
        one, other = (self._slots[each] for each in matches[0].players)
        level = (one ^ other).bit_length() - 1
        for place, match in enumerate(matches, start=1):
            match_id = f"R{self._rounds_before + number}M{place}"
            self._games.setdefault(frozenset(match.players), []).append((match_id, match))
        if level == self.latest:
            return
        self.latest = level
        pairings = [match.players for match in matches]
        if level == self.levels - 1 and len(pairings) + len(byes) > 1:
            self._third = pairings.pop()  # Beside a final, or beside a bye in it.
        for each in (*byes, *(player for pairing in pairings for player in pairing)):
            self._reached[each] = level

    def _ties(self, level: int) -> list[Tie]:
        places = self._places(level)
        pairs = zip(places[::2], places[1::2], strict=True)
        ties = [self._tie((one, other), known and too) for (one, known), (other, too) in pairs]
        return [self._as_it_was(tie, level) for tie in ties] if level < self.latest else ties

    def _places(self, level: int) -> list[tuple[str | None, bool]]:
        """Who came to each slot of a level, and whether that is known."""
        if level > max(self.latest, 0):
            return [(tie.winner, tie.is_over) for tie in self.rounds[-1]]
        came: list[tuple[str | None, bool]] = [(None, True)] * (1 << self.levels - level)
        for each, reached in self._reached.items():
            if reached >= level:
                came[self._slots[each] >> level] = (each, True)
        return came

    def _as_it_was(self, tie: Tie, level: int) -> Tie:
        """A tie after which the next level was played: who was in that had won."""
        gone_on = [each for each in tie.players if each and self._reached[each] > level]
        gone = tie.winner if tie.winner in self._removed else None  # before the next level began
        return tie._replace(winner=gone_on[0] if gone_on else gone, is_over=True)

    def _third_place(self) -> list[Tie]:
        """Of the losers of the semi-finals; none where there is not even a winner of the final."""
        (final,), semi_finals = self.rounds[-1], self.rounds[-2]
        if final.is_over and not final.winner and self.latest < self.levels - 1:
            return []
        one, other = self._third or (
            tie.players[tie.winner == tie.players[0]] if tie.winner else None for tie in semi_finals
        )
        return [self._tie((one, other), all(tie.is_over for tie in semi_finals))]

    def _last_resort(self) -> str:
        """The champion if nobody won the final: who came furthest, the best seed of them."""
        removed, came, seeds = self._removed, self.came, self.seeds
        return min(came, key=lambda each: (each in removed, -came[each], seeds[each]))

    def _tie(self, players: tuple[str | None, str | None], is_known: bool) -> Tie:
        there = [each for each in players if each]
        left = [each for each in there if each not in self._removed]
        games = self._games.get(frozenset(there), ())
        over = [match for match_id, match in games if match_id not in self._running]
        score = _score(there, over, self._options)
        winner, is_over = score.winner, score.is_over
        is_last = self._is_closed or len(left) < 2 or score.is_played_out
        if is_known and not is_over and is_last:
            by_wins = [(-score.wins[each], self.seeds[each], each) for each in left]
            winner, is_over = min(by_wins)[-1] if left else None, True
        seeds = tuple(self.seeds.get(each or "") for each in players)
        wins = tuple(score.wins.get(each or "", 0) for each in players)
        match_ids = tuple(match_id for match_id, _ in games)
        return Tie(players, seeds, wins, match_ids, winner, is_over)


class _Score(NamedTuple):
    wins: Mapping[str, int]
    winner: str | None = None
    is_over: bool = False  # without a winner: both lost
    is_played_out: bool = False  # level, and no game is left


def _score(players: Sequence[str], games: Sequence[PlayedMatch], options: Options) -> _Score:
    """How a tie stands after these games; those after the one that decided it do not count."""
    best_of, limit = options["best_of"], options["best_of"] + options["replays"]
    wins = dict.fromkeys(players, 0)
    counted = double_forfeits = 0
    for number, game in enumerate(games, start=1):
        counted += game.counts
        if game.counts and game.winner:
            wins[game.winner] += 1
        double_forfeits += game.counts and game.technical and not game.winner
        leader = max(wins, key=wins.__getitem__)
        lead = 2 * wins[leader] - sum(wins.values())
        if lead > max(0, best_of - counted) or (lead and number == limit):
            return _Score(wins, leader, is_over=True)
        if counted >= best_of or number == limit:
            if double_forfeits and not wins[leader]:
                return _Score(wins, is_over=True)
            if number == limit:
                return _Score(wins, is_played_out=True)
    return _Score(wins)


KNOCKOUT = Knockout()

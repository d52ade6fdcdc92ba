"""Swiss: in every round everybody meets somebody new with as many points as possible."""

from collections.abc import Mapping, Sequence

from agentleague.league.formats.format import (
    ADVANCE,
    Done,
    Entrants,
    Excess,
    Format,
    Option,
    Options,
    Played,
    Round,
    Totals,
)
from agentleague.league.formats.swiss_pairing import FIRST, SECOND, Candidate, pair
from agentleague.league.standings import Points


class Swiss(Format):
    """Pairs by the points of this stage, then by seed, never by tie-break.

    How a round is paired stands in swiss_pairing.py; it is close to what chess players know as the
    Dutch system, but does not claim to be it. What was paired counts as met, whatever came of it,
    and so do its seats. Points are counted as results and rulings are now.
    """

    name, version = "swiss", 1
    about = "Everybody plays in every round, against somebody new with about as many points."
    options: Mapping[str, Option] = {
        "rounds": Option(0, "How many rounds; 0: as few as leave one player unbeaten.", most=100),
        "bye": Option("win", "What a bye is worth, in points.", choices=("win", "draw", "none")),
        "advance": ADVANCE,
    }
    tie_breaks = ("buchholz", "sonneborn_berger", "wins", "technical_losses")
    late = "round"

    def begin(self, entrants: Entrants, options: Options) -> Totals:
        """See Format. Fewer than two players is a ValueError."""
        number, rounds = len(entrants), self._rounds(entrants, options)
        if number < 2:
            raise ValueError(f"A Swiss needs at least 2 players, not {number}.")
        return Totals(rounds, rounds * (number // 2))

    def excess(self, players: int, options: Options) -> Sequence[Excess]:
        """See Format; more rounds than everybody can find somebody new for are too many."""
        most, rounds, more = self.most_rounds(players), options["rounds"], super().excess
        if rounds <= most:
            return more(players, options)
        can = f"{most} round{'s' * (most > 1)}"
        fault = f"A Swiss of {players} players has at most {can}, not {rounds}"
        return (Excess("rounds", fault, f"it plays {most}"), *more(players, options))

    def next_round(self, played: Played, entrants: Entrants, options: Options) -> Round | Done:
        """See Format. It ends early if those who are left have all met, or one is left."""
        if played.rounds >= self._rounds(entrants, options):
            return Done()
        candidates = _candidates(played, entrants, self.bye_points(played.points, options))
        paired = pair(candidates) if len(candidates) > 1 else None
        if paired is None:
            return Done()
        return Round(played.rounds + 1, paired.pairs, paired.byes)

    def bye_points(self, points: Points, options: Options) -> int:
        """See Format."""
        return {"win": points.win, "draw": points.draw, "none": 0}[options["bye"]]

    def _rounds(self, entrants: Entrants, options: Options) -> int:
        """Without a number, as many as a knockout of those who were there at first would have."""
        at_first = sum(each.from_round <= 1 for each in entrants)
        return min(options["rounds"] or (at_first - 1).bit_length(), self.most_rounds(at_first))

    def most_rounds(self, players: int) -> int:
        """How many there are for certain.

        Whatever is paired before, everybody can meet somebody new in a bit more than half as many
        rounds as there are players: a regular graph of such a degree has a perfect matching.
        """
        return 2 * ((players + 1) // 4) + 1


def _candidates(played: Played, entrants: Entrants, bye_points: int) -> list[Candidate]:
    scores = played.scores(entrants, bye_points)
    seats: dict[str, list[int]] = {player_id: [] for player_id in scores}
    met: dict[str, set[str]] = {player_id: set() for player_id in scores}
    rested: set[str] = set()
    for each in played.results:
        for match in each.matches:
            first, second = match.players
            seats[first].append(FIRST)
            seats[second].append(SECOND)
            met[first].add(second)
            met[second].add(first)
        rested.update(each.byes)
    candidates = [
        Candidate(
            player_id=player_id,
            seed=seed,
            score=scores[player_id],
            seats=seats[player_id],
            met=met[player_id],
            may_rest=player_id not in rested,
            is_late=from_round > 1,
        )
        for seed, (player_id, from_round, _) in enumerate(entrants, start=1)
        if from_round <= played.rounds + 1 and player_id not in played.removed
    ]
    return sorted(candidates, key=lambda each: -each.score)


SWISS = Swiss()

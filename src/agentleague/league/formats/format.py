"""The seam `Format`: who meets whom next, from what was played.

A format is a pure function of what was played, the entrants and its options; it counts in integers,
and `verify` computes every round again. A league has one or more stages, each with a format, which
counts the rounds of its own stage from 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from agentleague.league.standings import USUAL_TIE_BREAKS, Points

Players = tuple[str, ...]  # of one match, in seat order: two to eight; the games so far take two
Options = Mapping[str, Any]  # integers and strings, by the names that the format lists
Late = Literal["round", "cycle", "never"]
ELO = 1_500  # of a player of whom nothing is known


class Stage(Struct, frozen=True, array_like=True):
    """One stage of a league as its journal has it; the options are complete."""

    format: str
    version: int
    options: dict[str, int | str]


class Entrant(NamedTuple):
    """A player of a stage. They come in the order of their seeds; who came late comes last."""

    player_id: str
    from_round: int = 1  # of the stage: it is in no round before
    elo: int = ELO  # with which it began the league


Entrants = Sequence[Entrant]


class Round(NamedTuple):
    """What is played at the same time, and who has a bye."""

    round_id: int
    pairings: tuple[Players, ...]
    byes: Players = ()

    @property
    def matches(self) -> list[tuple[str, Players]]:
        """The pairings with the ids of their matches."""
        round_id = self.round_id
        return [(f"R{round_id}M{n}", players) for n, players in enumerate(self.pairings, start=1)]


class Done(Struct, frozen=True):
    """There is no further round."""


class PlayedMatch(NamedTuple):
    """How a match ended, by its result or the organiser's ruling."""

    players: Players
    winner: str | None
    technical: bool = False  # lost by default; without a winner by both
    counts: bool = True  # False: no contest


class PlayedRound(NamedTuple):
    """A round that has ended."""

    matches: Sequence[PlayedMatch]
    byes: Sequence[str] = ()


class Played(NamedTuple):
    """What happened in a stage so far.

    Who was removed is not paired any more; in a schedule that is fixed before, its further matches
    are technical losses.
    """

    rounds: int  # that have ended
    results: Sequence[PlayedRound] = ()  # of each of them, if the format pairs by results
    removed: Set[str] = frozenset()
    points: Points = Points()  # what a match is worth
    is_time_up: bool = False  # no further round begins: by an option `seconds`, or it is over
    # What was counted of these results, to go on from; it may get lost.
    counted: dict[str, Any] | None = None

    def scores(self, entrants: Entrants, bye_points: int) -> Mapping[str, int]:
        """The points that each won in the stage."""
        counted = {} if self.counted is None else self.counted
        scores: dict[str, int] = counted.setdefault("scores", {})
        for entrant in entrants[len(scores) :]:
            scores[entrant.player_id] = 0
        for each in self.results[counted.get("scored", 0) :]:
            for match in filter(lambda match: match.counts, each.matches):
                for player_id in match.players:
                    scores[player_id] += self._worth(match, player_id)
            for player_id in each.byes:
                scores[player_id] += bye_points
        counted["scored"] = len(self.results)
        return scores

    def _worth(self, match: PlayedMatch, player_id: str) -> int:
        if match.winner == player_id:
            return self.points.win
        return self.points.loss if match.winner or match.technical else self.points.draw


class Totals(NamedTuple):
    """How long a stage will be. The matches are as many in each round, unless results pair."""

    rounds: int
    matches: int


class Option(NamedTuple):
    """One option of a format: its default, and what else it may be."""

    default: int | str
    about: str  # a sentence for the reference
    least: int = 0  # of a number
    most: int = 1_000_000
    choices: Sequence[str] = ()  # of a text


class Excess(NamedTuple):
    """An option that asks for more than so many players can do."""

    option: str
    fault: str  # without a full stop
    instead: str  # what happens if a stage begins all the same


ADVANCE = Option(0, "How many go on to the next stage; 0: all.")


class Format(ABC):
    """One way to pair the players of a stage. It keeps no state.

    A round begins when all matches before it are over.
    `options` given to a method are complete: every name that the format lists has a value.
    """

    name: str
    version: int  # another one for every change after which a league would be paired differently
    about: str  # a sentence for lists and help
    options: Mapping[str, Option]
    tie_breaks: Sequence[str] = USUAL_TIE_BREAKS  # of a league that names none
    late: Late = "never"  # when somebody who comes late can be taken in

    def pairs_by_results(self, options: Options) -> bool:
        """Whether rounds depend on results, which are kept for it; if not, `planned` knows all."""
        return True

    @abstractmethod
    def begin(self, entrants: Entrants, options: Options) -> Totals | None:
        """How long a stage of these will be, if known. Raises ValueError if there can be none.

        Nobody can change the options once players have come: what is in `excess` is no error here.
        """

    def excess(self, players: int, options: Options) -> Sequence[Excess]:
        """What is too much for so many; an error where their number is known beforehand."""
        advance = options["advance"]
        if advance <= players:
            return ()
        return (Excess("advance", f"Of {players} players {advance} cannot go on", "all go on"),)

    @abstractmethod
    def next_round(self, played: Played, entrants: Entrants, options: Options) -> Round | Done:
        """The round after those that were played.

        A ruling may have changed a result after rounds that followed from it: what was paired since
        is a fact, which later rounds go on from.
        """

    def planned(self, round_id: int, entrants: Entrants, options: Options) -> Round | None:
        """A round that does not depend on results; None if there is none or it does."""
        return None

    def merits(self, played: Played, entrants: Entrants, options: Options) -> Mapping[str, int]:
        """What ranks the players before their points, more is better; empty: points alone rank.

        After the last round the one with the most, if it is one, wins. The same holds here as in
        `next_round` for results that changed late.
        """
        return {}

    def ending(self, played: Played, entrants: Entrants, options: Options) -> str:
        """A sentence on why a stage that is over was not shorter or longer; empty: nothing to say.

        Whether it is over is not asked here.
        """
        return ""

    def bye_points(self, points: Points, options: Options) -> int:
        """What a bye is worth in the table."""
        return 0

    def advancing(
        self, ranked: Sequence[str], entrants: Entrants, options: Options
    ) -> Sequence[str]:
        """Who goes on to the next stage, by seed there, if the stage is over and this is its table.

        Every format has the option `advance`: how many go on, 0 for all.
        """
        return ranked[: options["advance"] or len(ranked)]

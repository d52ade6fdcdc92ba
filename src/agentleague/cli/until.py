"""`league play --until`: after each pair of matches, is it clear who is better, and how clear."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from agentleague.cli.output import say, shown
from agentleague.cli.progress import Progress
from agentleague.statistics.sequential import SIDES, WhoIsBetter, expected

if TYPE_CHECKING:
    from agentleague.league.league import League

PERCENT_MIN, PERCENT_MAX = 60.0, 99.99
MARGIN = 30.0  # Elo: 54.3 % of the points
MARGIN_MIN, MARGIN_MAX = 1.0, 400.0
MATCHES = 10_000  # at most, unless --matches says otherwise
BAR = 20
BY_HOW_MUCH = "  By how much, a fixed number of matches shows: --matches 2000, without --until."
MEANING = "A full bar: it is clear that this one is better. Both empty: neither is."
FIRST_SAID = 16  # pairs, where stderr is not a terminal; then after twice as many


class Percent(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none.
    """A confidence such as 95%, as a share."""

    name = "PERCENT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The share, if it is within the bounds."""
        try:
            percent = float(str(value).removesuffix("%"))
        except ValueError:
            percent = 0.0
        if PERCENT_MIN <= percent <= PERCENT_MAX:
            return percent / 100
        bounds = f"from {PERCENT_MIN:g}% to {PERCENT_MAX:g}%"
        return self.fail(f"must be a percentage {bounds}, such as 95%, not {value!r}", param, ctx)


class Clarity:
    """Counts the pairs of a league of two in the order of its rounds, which is the scheduled one.

    A pair one of whose matches does not count says nothing. A match without a game counts as the
    table counts it.
    """

    def __init__(self, confidence: float, margin: float) -> None:
        self.test = WhoIsBetter(confidence, margin)
        self._before = (0, 0)
        self._said = FIRST_SAID
        self._is_explained = False

    def after_round(self, league: "League") -> bool:
        """Whether it is clear now; to be asked once after every round."""
        if league.rounds_ended % 2 == 0:
            first, second = _players(league)
            played, ahead = first.played, first.wins - second.wins
            if played == self._before[0] + 2:
                self.test.count(2 + ahead - self._before[1])
            self._before = played, ahead
        return self.test.verdict is not None

    def watch(self, progress: Progress, league: "League", awaited: Sequence[str]) -> None:
        """Show how it goes: with bars on a terminal, else a line now and then."""
        evidence = self.bars(league) if league.has_started else ()
        is_shown = evidence and (progress.is_live or self.test.pairs >= self._said)
        if is_shown and not self._is_explained:
            self._is_explained = True
            say(MEANING)
        if evidence and not progress.is_live and self.test.pairs >= self._said:
            self._said = 2 * self.test.pairs
            say("\n".join((f"After {2 * self.test.pairs:,} matches:", *evidence)))
        progress(league, awaited, evidence=evidence)

    def bars(self, league: "League") -> list[str]:
        """How far each test is between its bounds."""
        test = self.test
        said = [f"  {shown(row.display_name)} is better" for row in _players(league)]
        return [
            f"{words:<{max(map(len, said))}}  {test.lower:+.2f} "
            f"{_bar((ratio - test.lower) / (test.upper - test.lower))} {test.upper:+.2f}"
            f"  LLR {ratio:+.2f}"
            for words, ratio in zip(said, test.llrs, strict=True)
        ]

    def facts(self, league: "League") -> dict[str, Any]:
        """For JSON, from the side of the first player."""
        test = self.test
        better = {"first": "P01", "second": "P02"}.get(test.verdict or "")
        return {
            "verdict": test.verdict or "not_clear",
            "better": better,
            "confidence": test.confidence,
            "margin_elo": test.margin,
            "llr": list(test.llrs),
            "bounds": [test.lower, test.upper],
            "pairs": test.counts,
            "matches_max": league.total_matches,
        }

    def interval(self) -> dict[str, Any]:
        """The interval of a score that holds whenever the matches stop."""
        low, high = self.test.interval()
        shares = [0.0 if low is None else expected(low), 1.0 if high is None else expected(high)]
        elo = {"elo_interval": [low, high]}
        return elo | {"interval": shares, "confidence": self.test.confidence, "method": "gsprt"}


def _players(league: "League") -> list[Any]:
    return sorted(league.table.rows(), key=lambda row: row.player_id)


def _bar(part: float) -> str:
    full = round(BAR * min(1.0, max(0.0, part)))
    return "#" * full + "-" * (BAR - full)


def sentences(
    names: Sequence[str], score: Mapping[str, Any], until: Mapping[str, Any]
) -> list[str]:
    """The answer: who is better after how many matches, and what is known of by how much."""
    is_second, is_clear = until["verdict"] == "second", until["verdict"] in SIDES
    one, other = reversed(names) if is_second else names
    points, matches, share = score["points"], score["matches"], score["share"]
    elo, (low, high) = score["elo"], score["elo_interval"]
    if is_second:
        points, share = matches - points, 1 - share
        elo, low, high = (None if each is None else -each for each in (elo, high, low))
    if is_clear:  # It stopped as soon as the interval began above 0: where it begins says no more.
        low = None
    said = {
        "neither": f"Neither is better by {until['margin_elo']:g} Elo or more",
        "not_clear": f"Not clear after {matches:,} matches",
    }.get(until["verdict"], f"{one} is better than {other}")
    words = ("from", "to") if low is not None and high is not None else ("at least", "at most")
    ends = [f"{w} {end:+.0f}" for w, end in zip(words, (low, high), strict=True) if end is not None]
    value = "" if elo is None else f" {elo:+.0f},"
    confidence = f"with {100 * until['confidence']:g} %"
    difference = f", Elo{value} {' '.join(ends)} {confidence}" if ends else ""
    answer = (
        f"{said}: {one} has {points:,.7g} points in {matches:,} matches "
        f"({100 * share:.1f} %){difference}."
    )
    return [answer, BY_HOW_MUCH] if is_clear else [answer]

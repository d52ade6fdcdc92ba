"""Ladder: in each round all who are free meet somebody near in rating, until a limit ends it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter

from msgspec import Struct

from agentleague.league.formats.format import (
    ADVANCE,
    Done,
    Entrants,
    Format,
    Option,
    Options,
    Played,
    PlayedMatch,
    PlayedRound,
    Players,
    Round,
    Totals,
)

# The expected score in thousandths, 1000 / (1 + 10 ** (-gap / 400)), of who is rated 0, 25, 50, …
# points above the other; between two of them on a straight line. A gap above 800 counts as 800.
_STEP = 25
_EXPECTED = (
    *(500, 536, 571, 606, 640, 673, 703, 733, 760, 785, 808),
    *(830, 849, 867, 882, 896, 909, 920, 930, 939, 947, 954),
    *(960, 965, 969, 973, 977, 980, 983, 985, 987, 989, 990),
)
_NEAR = 4  # pairs on both sides, with which one exchanges partners instead of a rematch


class Ladder(Format):
    """Rated in Elo by integers, from the rating with which each player began.

    After a match the rating of both changes by factor k times the score (1, ½, 0) less the expected
    one, rounded to a whole number, half away from 0. What one gains the other loses.
    """

    name, version = "ladder", 1
    about = "Each round pairs all who are free, near in rating, until a limit is reached."
    options: Mapping[str, Option] = {
        "rounds": Option(0, "The last round; 0: no limit."),
        "matches": Option(0, "No round begins after so many matches in all; 0: no limit."),
        "seconds": Option(0, "No round begins so long after the first; 0: no limit."),
        "k": Option(32, "How far one match moves a rating: half of it between equals.", 1, 400),
        "advance": ADVANCE,
    }
    late = "round"

    def begin(self, entrants: Entrants, options: Options) -> Totals | None:
        """See Format; a ladder without a limit is a ValueError."""
        number = sum(each.from_round <= 1 for each in entrants)
        if number < 2:
            raise ValueError(f"A ladder needs at least 2 players, not {number}.")
        if not (options["rounds"] or options["matches"] or options["seconds"]):
            raise ValueError("A ladder without a limit never ends: set rounds, matches or seconds.")
        if options["matches"] or options["seconds"]:
            return None
        end = options["rounds"] + 1
        came = sorted(min(each.from_round, end) for each in entrants)
        players = enumerate(pairwise([*came, end]), start=1)
        return Totals(end - 1, sum((until - since) * (n // 2) for n, (since, until) in players))

    def next_round(self, played: Played, entrants: Entrants, options: Options) -> Round | Done:
        """All who are free, by rating and then by seed; the neighbours meet."""
        climbers = _climbers(played, entrants, options)
        free = [
            climbers[each.player_id]
            for each in entrants
            if each.from_round <= played.rounds + 1 and each.player_id not in played.removed
        ]
        if len(free) < 2 or _is_over(played, options):
            return Done()
        free.sort(key=lambda each: -each.elo)
        byes = [_resting(free, played)] if len(free) % 2 else []
        free = [each for each in free if each not in byes]
        pairings = tuple(_seated(*pair) for pair in _pairs(free))
        return Round(played.rounds + 1, pairings, tuple(each.player_id for each in byes))

    def merits(self, played: Played, entrants: Entrants, options: Options) -> Mapping[str, int]:
        """The ratings."""
        climbers = _climbers(played, entrants, options)
        return {player_id: each.elo for player_id, each in climbers.items()}


def elos(played: Played, entrants: Entrants, options: Options) -> Mapping[str, Sequence[int]]:
    """For a view: each player's rating at the start, then after each round."""
    after: dict[str, list[int]] = {each.player_id: [] for each in entrants}
    for climbers in _rounds(played, entrants, options):
        for player_id, each in climbers.items():
            after[player_id].append(each.elo)
    return after


def change(gap: int, thousandths: int, k: int) -> int:
    """What a player gains that was rated `gap` points above the other and scored so much."""
    step, rest = divmod(min(abs(gap), _STEP * (len(_EXPECTED) - 1)), _STEP)
    expected = _EXPECTED[step]
    if rest:
        expected += ((_EXPECTED[step + 1] - expected) * rest + _STEP // 2) // _STEP
    product = k * (thousandths - (expected if gap >= 0 else 1000 - expected))
    rounded = (abs(product) + 500) // 1000
    return rounded if product >= 0 else -rounded


class _Climber(Struct):
    """What one player has done so far."""

    player_id: str
    elo: int
    met: str = ""  # the last one
    balance: int = 0  # how much more often it had the first seat
    byes: int = 0


def _rounds(
    played: Played, entrants: Entrants, options: Options
) -> Iterator[Mapping[str, _Climber]]:
    """All at the start and after each round; they are the same objects."""
    climbers = {each.player_id: _Climber(each.player_id, each.elo) for each in entrants}
    yield climbers
    for results in played.results:
        _count_round(results, climbers, options["k"])
        yield climbers


def _climbers(played: Played, entrants: Entrants, options: Options) -> Mapping[str, _Climber]:
    """All as they are now. A ladder can have very many rounds, so each is counted once."""
    counted = {} if played.counted is None else played.counted
    climbers: dict[str, _Climber] = counted.setdefault("climbers", {})
    for each in entrants[len(climbers) :]:
        climbers[each.player_id] = _Climber(each.player_id, each.elo)
    for results in played.results[counted.get("rounds", 0) :]:
        _count_round(results, climbers, options["k"])
    counted["rounds"] = len(played.results)
    return climbers


def _count_round(results: PlayedRound, climbers: Mapping[str, _Climber], k: int) -> None:
    for match in results.matches:
        one, other = match.players
        _count(match, climbers[one], climbers[other], k)
    for player_id in results.byes:
        climbers[player_id].byes += 1


def _count(match: PlayedMatch, one: _Climber, other: _Climber, k: int) -> None:
    one.met, other.met = other.player_id, one.player_id
    one.balance, other.balance = one.balance + 1, other.balance - 1
    if match.counts and (match.winner or not match.technical):  # A double forfeit moves nobody.
        score = 500 if match.winner is None else 1000 * (match.winner == one.player_id)
        gain = change(one.elo - other.elo, score, k)
        one.elo, other.elo = one.elo + gain, other.elo - gain


def _is_over(played: Played, options: Options) -> bool:
    rounds, matches, seconds = options["rounds"], options["matches"], options["seconds"]
    return bool(
        (rounds and played.rounds >= rounds)
        or (matches and sum(len(each.matches) for each in played.results) >= matches)
        or (seconds and played.is_time_up)
    )


def _resting(free: Sequence[_Climber], played: Played) -> _Climber:
    """Who has a bye: of those with the fewest the lowest rated, but nobody twice running."""
    last = played.results[-1].byes if played.results else ()
    return min(
        (each for each in reversed(free) if each.player_id not in last), key=lambda each: each.byes
    )


def _pairs(free: Sequence[_Climber]) -> Sequence[tuple[_Climber, _Climber]]:
    """Neighbours; who met last exchange partners with the pair near them where it costs least."""
    pairs = list(zip(free[::2], free[1::2], strict=True))
    for place, (one, other) in enumerate(pairs):
        if _met(one, other):
            exchanges = [
                (abs(one.elo - third.elo) + abs(other.elo - fourth.elo), near, third, fourth)
                for near in range(max(0, place - _NEAR), min(len(pairs), place + _NEAR + 1))
                for third, fourth in (pairs[near], pairs[near][::-1])
                if near != place and not _met(one, third) and not _met(other, fourth)
            ]
            if exchanges:
                _, near, third, fourth = min(exchanges, key=itemgetter(0))
                pairs[place], pairs[near] = (one, third), (other, fourth)
    return pairs


def _met(one: _Climber, other: _Climber) -> bool:
    return one.met == other.player_id or other.met == one.player_id


def _seated(one: _Climber, other: _Climber) -> Players:
    """The first seat is for who had it less often; for the better one, if that is nobody."""
    players = (one.player_id, other.player_id)
    return players if one.balance <= other.balance else players[::-1]


LADDER = Ladder()

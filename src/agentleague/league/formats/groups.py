"""Groups: everybody meets everybody in its group, and the best of each group go on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set

from agentleague.league.formats.format import Entrant, Excess, Option, Options, Round, Totals
from agentleague.league.formats.knockout import slots
from agentleague.league.formats.round_robin import ROUND_ROBIN, RoundRobin


class Groups(RoundRobin):
    """A round robin in each group, all at the same time.

    Groups differ by one player at most; a smaller one may be ready some rounds before the others.
    """

    name, version = "groups", 1
    about = "A round robin in each group; the best of each go on."
    options: Mapping[str, Option] = {
        "groups": Option(2, "How many groups there are.", least=1, most=256),
        "cycles": ROUND_ROBIN.options["cycles"],
        "advance": Option(2, "How many of each group go on to the next stage; 0: all."),
    }
    late = "never"

    def begin(self, entrants: Sequence[Entrant], options: Options) -> Totals:
        """See Format; groups with too few players are a ValueError."""
        number, groups = len(entrants), options["groups"]
        if number < 2 * groups:
            raise ValueError(f"{groups} groups need at least {2 * groups} players, not {number}.")
        parts = [
            ROUND_ROBIN.length(each, options["cycles"]) for each in groups_of(entrants, options)
        ]
        return Totals(max(each.rounds for each in parts), sum(each.matches for each in parts))

    def excess(self, players: int, options: Options) -> Sequence[Excess]:
        """See Format; here so many of each group go on."""
        groups, advance = options["groups"], options["advance"]
        smallest = players // groups
        if advance <= smallest:
            return ()
        fault = f"Of {players} players in {groups} groups {advance} of each cannot go on, because "
        has = f"the smallest group has {smallest}"
        return (Excess("advance", fault + has, "all of such a group go on"),)

    def planned(self, round_id: int, entrants: Sequence[Entrant], options: Options) -> Round | None:
        """The round of each group, in their order; in a group that is ready nobody has a bye."""
        groups = groups_of(entrants, options)
        rounds = [ROUND_ROBIN.planned(round_id, each, options) for each in groups]
        parts = [each for each in rounds if each]
        pairings = tuple(pairing for each in parts for pairing in each.pairings)
        byes = tuple(player for each in parts for player in each.byes)
        return Round(round_id, pairings, byes) if parts else None

    def advancing(
        self, ranked: Sequence[str], entrants: Sequence[Entrant], options: Options
    ) -> Sequence[str]:
        """First those of rank 1 in their groups, as the table has them, then those of rank 2, …

        From rank 2 on each is seeded so that in a knockout it meets those of its group late, and
        never in the first round if it need not.
        """
        groups = groups_of(entrants, options)
        group_of = {each.player_id: n for n, group in enumerate(groups) for each in group}
        ranks: list[list[str]] = [[] for _ in max(groups, key=len)]
        taken = [0] * len(groups)
        for player in ranked:
            group = group_of[player]
            ranks[taken[group]].append(player)
            taken[group] += 1
        return _apart(ranks[: options["advance"] or len(ranks)], group_of)


def groups_of(entrants: Sequence[Entrant], options: Options) -> Sequence[Sequence[Entrant]]:
    """The groups, each by seed. The seeds go along all groups and back again: 1 2 3, 6 5 4, 7 …"""
    groups: list[list[Entrant]] = [[] for _ in range(options["groups"])]
    there_and_back = [*groups, *reversed(groups)]
    for number, entrant in enumerate(entrants):
        there_and_back[number % len(there_and_back)].append(entrant)
    return groups


def _apart(ranks: Sequence[Sequence[str]], group_of: Mapping[str, int]) -> list[str]:
    """All by seed. Each rank has the next seeds, and its players change places among them."""
    levels = (sum(map(len, ranks)) - 1).bit_length()
    seeds = slots(1 << levels)  # by slot
    seeded: list[str] = []
    slot_of = {seed: slot for slot, seed in enumerate(seeds)}
    # Group and level -> the parts of the bracket up to it in which its players are so far.
    parts: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for rank in ranks:
        next_seeds = range(len(seeded) + 1, len(seeded) + len(rank) + 1)
        own = [slot_of[seed] for seed in next_seeds]
        # The later two of a group meet, the better: in the final; if need be in the first round.
        takers = next(
            takers
            for level in range(levels, -1, -1)
            if (
                takers := _takers(
                    [_free(own, parts[group_of[each], level], level) for each in rank]
                )
            )
            is not None
        )
        for slot in own:
            seeded.append(rank[takers[slot]])
            for level in range(levels + 1):
                parts[group_of[seeded[-1]], level].add(slot >> level)
    return seeded


def _free(own: Sequence[int], parts: Set[int], level: int) -> list[int]:
    """The slots from which one meets nobody in these parts before that level of the bracket."""
    return [slot for slot in own if slot >> level not in parts]


def _takers(free: Sequence[Sequence[int]]) -> dict[int, int] | None:
    """Who takes which slot, if each can have one of those that are free for it."""
    takers: dict[int, int] = {}

    def finds(who: int, tried: set[int]) -> bool:
        for slot in sorted(free[who], key=takers.__contains__):  # Displace nobody without need.
            if slot not in tried:
                tried.add(slot)
                if slot not in takers or finds(takers[slot], tried):
                    takers[slot] = who
                    return True
        return False

    return takers if all(finds(who, set()) for who in range(len(free))) else None


GROUPS = Groups()

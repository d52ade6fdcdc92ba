"""The stages of a league in words: what each is called, how far a player came, which round runs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agentleague.league.formats.format import Stage
from agentleague.league.formats.knockout import KNOCKOUT, bracket
from agentleague.league.formats.ladder import LADDER
from agentleague.league.formats.stages import Begun, StageProgress

TITLES = {
    **{"round_robin": "Round robin", "swiss": "Swiss", "knockout": "Knockout"},
    **{"groups": "Groups", "ladder": "Ladder"},
}
THIRD = "Match for third place"


class Reached(NamedTuple):
    """How far a player came: the round of a bracket or its last stage, or its rating."""

    place: str  # such as Semi-finals
    elo: int | None
    why: str  # for a sentence, such as `out in the semi-finals`; may be empty


def titles(stages: Sequence[Stage]) -> list[str]:
    """What people call the stages; those of the same format have numbers."""
    found = [TITLES.get(each.format, each.format) for each in stages]
    return [
        f"{title} {found[: number + 1].count(title)}" if found.count(title) > 1 else title
        for number, title in enumerate(found)
    ]


def reached(progress: StageProgress, removed: Mapping[str, int]) -> dict[str, Reached]:
    """How far everybody came, in the last stage in which it was."""
    found: dict[str, Reached] = {}
    names = titles(progress.stages)
    for begun in progress.begun(removed):
        title = names[begun.stage - 1]
        if begun.format is KNOCKOUT:
            found |= _in_bracket(begun)
        elif begun.format is LADDER:
            elos = LADDER.merits(begun.played, begun.field, begun.options)
            found |= {each: Reached(title, elo, f"Elo {elo}") for each, elo in elos.items()}
        else:
            scores = begun.scores() if begun.stage > 1 else {}
            out = "" if begun.stage == progress.stage else f"out after the {title.lower()}"
            for player_id, *_ in begun.field:
                won = in_points(scores[player_id]) if scores else ""
                place = f"{title}, {won}" if won else title
                why = " with ".join(filter(None, (out, won)))
                why += f" in the {title.lower()}" if won and not out else ""
                found[player_id] = Reached(place, None, why)
    return found


def in_points(points: int) -> str:
    """`1 point`, `4 points`."""
    return f"{points} point" if points == 1 else f"{points} points"


def _in_bracket(begun: Begun) -> dict[str, Reached]:
    found: dict[str, Reached] = {}
    for name, ties in bracket(begun.played, begun.field, begun.options):
        words = name[0].lower() + name[1:]
        won, lost = {"Final": ("Winner", name), THIRD: ("Third place", "Fourth place")}.get(
            name, (name, name)
        )
        for tie in ties:
            for each in filter(None, (*tie.players, tie.winner)):
                how, place = "in", name
                if tie.is_over:
                    how, place = ("out in", lost) if tie.winner != each else ("winner of", won)
                found[each] = Reached(place, None, f"{how} the {words}")
    return found


def round_in_words(progress: StageProgress, round_id: int, removed: Mapping[str, int]) -> str:
    """`round 3 of 9`, `round 5, semi-finals (stage 2 of 2: knockout)`; only what is known."""
    totals = progress.totals
    words = f"round {round_id}" + (f" of {totals.rounds}" if totals else "")
    *_, begun = progress.begun(removed)
    if begun.format is KNOCKOUT:
        rounds = bracket(begun.played, begun.field, begun.options)
        running = [each for each in rounds if not all(tie.is_over for tie in each.ties)]
        words += f", {(running or rounds)[0 if running else -1].name.lower()}"
    if len(progress.stages) > 1:
        title = titles(progress.stages)[begun.stage - 1].lower()
        words += f" (stage {begun.stage} of {len(progress.stages)}: {title})"
    return words

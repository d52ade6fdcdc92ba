"""Draw the phases of a match from the machine's table: `python tools/match_picture.py FILE.svg`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agentleague.match.machine import (
    STATE,
    Abandon,
    Clock,
    ErrorCall,
    GameOverCall,
    InvitationCall,
    LockCall,
    Match,
    MoveCall,
    Phase,
    ReportCall,
    Start,
)
from agentleague.protocol.messages import ChooseParityResponse, GameJoinAck, GameMoveResponse

WIDTH, HEIGHT = 1020, 905
BOX_WIDTH, BOX_HEIGHT = 200, 46
MIDDLE, RIGHT, TOP, STEP = 390, 900, 45, 132
PLACES = {
    **{
        phase: (MIDDLE, TOP + STEP * row)
        for row, phase in enumerate(each for each in Phase if each is not Phase.RECOVERING)
    },
    Phase.RECOVERING: (RIGHT, TOP),
}
WORDS = {
    Start: "started",
    Abandon: "abandoned",
    Clock: "time is up",
    InvitationCall: "invitation answered",
    MoveCall: "call answered",
    ErrorCall: "error answered",
    GameJoinAck: "join pushed",
    ChooseParityResponse: "move pushed",
    GameMoveResponse: "move pushed",
    LockCall: "lock answered",
    GameOverCall: "result answered",
    ReportCall: "report answered",
}
# The light look is in attributes, for viewers that know no style sheets.
LOOKS = {
    "back": 'fill="#ffffff"',
    "box": 'fill="#e7eff7" stroke="#24507a"',
    "phase": 'fill="#1b2b3a" font-weight="600"',
    "state": 'fill="#566778" font-size="10.5"',
    "arrow": 'fill="none" stroke="#24507a" stroke-width="1.5"',
    "head": 'fill="#24507a"',
    "label": 'fill="#1b2b3a" font-size="12"',
    "why": 'fill="#566778" font-size="12" font-style="italic"',
}
DARK = """
@media (prefers-color-scheme: dark) {
  .back { fill: #12181f; } .box { fill: #1d2b3a; stroke: #79b0e0; }
  .phase, .label { fill: #e6edf3; } .state, .why { fill: #9fb0c0; }
  .arrow { stroke: #79b0e0; } .head { fill: #79b0e0; }
}
"""


# Why it is this phase, of those to which the same may lead.
REASONS = {
    (Phase.NEW, Phase.JOINING): "a new match",
    (Phase.NEW, Phase.RECOVERING): "begun by another",
    (Phase.RECOVERING, Phase.JOINING): "it is not decided",
    (Phase.RECOVERING, Phase.TELLING): "it is decided",
    (Phase.RECOVERING, Phase.CLOSED): "not ours any more",
    (Phase.JOINING, Phase.PLAYING): "both have joined",
    (Phase.JOINING, Phase.LOCKING): "a player failed or declined",
    (Phase.PLAYING, Phase.LOCKING): "all have moved or failed",
    (Phase.LOCKING, Phase.PLAYING): "a number was drawn",
    (Phase.LOCKING, Phase.TELLING): "it is decided",
    (Phase.LOCKING, Phase.REPORTING): "both were silent",
    (Phase.LOCKING, Phase.CLOSED): "not ours any more",
    (Phase.TELLING, Phase.REPORTING): "both were told",
    (Phase.TELLING, Phase.CLOSED): "not ours any more",
    (Phase.REPORTING, Phase.CLOSED): "acknowledged",
}


class Lane(NamedTuple):
    """The column of an arrow between phases that are not neighbours, and how far off it docks."""

    x: float
    leaves: float = 0
    arrives: float = 0


LANES = {
    (Phase.JOINING, Phase.LOCKING): Lane(250, 0, -10),
    (Phase.LOCKING, Phase.REPORTING): Lane(250, 10, 0),
    (Phase.LOCKING, Phase.CLOSED): Lane(135, 0, 0),
    (Phase.LOCKING, Phase.PLAYING): Lane(570, -8, 8),
    (Phase.TELLING, Phase.CLOSED): Lane(570, 8, -8),
    (Phase.RECOVERING, Phase.JOINING): Lane(810, 0, 0),
    (Phase.RECOVERING, Phase.TELLING): Lane(850, 0, -8),
    (Phase.RECOVERING, Phase.CLOSED): Lane(985, 0, 8),
}


def picture() -> str:
    """The whole drawing."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            'aria-label="The phases of a match" font-family="system-ui, sans-serif" '
            'font-size="13">',
            f"<title>The phases of a match</title>\n<style>{DARK}</style>",
            f'<rect {_look("back")} width="{WIDTH}" height="{HEIGHT}" rx="8"/>',
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            f'markerHeight="7" orient="auto"><path {_look("head")} d="M0,0 L8,4 L0,8 z"/></marker>'
            "</defs>",
            *[arrow for arrow, _ in _arrows()],
            *[label for _, label in _arrows()],
            *map(_box, Phase),
            *_from_everywhere(),
            "</svg>\n",
        ]
    )


def transitions() -> dict[tuple[Phase, Phase], list[str]]:
    """What leads from one phase to another, in words; without what can happen everywhere."""
    found: dict[tuple[Phase, Phase], list[str]] = {}
    for (before, happened), transition in Match.TRANSITIONS.items():
        if happened in _everywhere():
            continue
        for after in transition.to:
            words = found.setdefault((before, after), [])
            if WORDS[happened] not in words:
                words.append(WORDS[happened])
    return found


def _everywhere() -> list[type]:
    """What every phase handles, and in the same way."""
    found = []
    for happened in dict.fromkeys(happened for _, happened in Match.TRANSITIONS):
        rows = [Match.TRANSITIONS.get((phase, happened)) for phase in Phase]
        if rows[0] is not None and all(row is rows[0] for row in rows):
            found.append(happened)
    return found


def _look(name: str) -> str:
    return f'class="{name}" {LOOKS[name]}'


def _box(phase: Phase) -> str:
    x, y = PLACES[phase]
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    return (
        f'<rect {_look("box")} x="{left:g}" y="{top:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
        f'rx="6"/>\n<text {_look("phase")} x="{x}" y="{y - 2}" text-anchor="middle">'
        f"{phase.name}</text>\n"
        f'<text {_look("state")} x="{x}" y="{y + 14}" text-anchor="middle">{STATE[phase]}</text>'
    )


def _arrows() -> Iterator[tuple[str, str]]:
    """Each arrow and its label; labels are drawn over all arrows."""
    for (before, after), words in transitions().items():
        lane, lines = LANES.get((before, after)), [*words, REASONS[before, after]]
        yield _by_lane(before, after, lane, lines) if lane else _straight(before, after, lines)


def _straight(before: Phase, after: Phase, words: list[str]) -> tuple[str, str]:
    (x1, y1), (x2, y2) = PLACES[before], PLACES[after]
    if y1 == y2:  # Side by side.
        path = f"M{x1 + BOX_WIDTH / 2:g},{y1} H{x2 - BOX_WIDTH / 2 - 2:g}"
        return _arrow(path), _label((x1 + x2) / 2, y1 - 20, words, "middle")
    path = f"M{x1},{y1 + BOX_HEIGHT / 2:g} V{y2 - BOX_HEIGHT / 2 - 2:g}"
    return _arrow(path), _label(x1 + 8, _first_line((y1 + y2) / 2, words), words, "start")


def _by_lane(before: Phase, after: Phase, lane: Lane, words: list[str]) -> tuple[str, str]:
    (x1, y1), (x2, y2) = PLACES[before], PLACES[after]
    side = 1 if lane.x > x2 else -1
    end_y, end_x = y2 + lane.arrives, x2 + side * (BOX_WIDTH / 2 + 2)
    if x1 == x2:
        start_y = y1 + lane.leaves
        start = f"M{x1 + side * BOX_WIDTH / 2:g},{start_y:g} H{lane.x:g}"
    else:
        start_y = y1 + BOX_HEIGHT / 2
        start = f"M{lane.x:g},{start_y:g}"
    arrow = _arrow(f"{start} V{end_y:g} H{end_x:g}")
    if x1 != x2:  # The lanes from the other column have free room on their left.
        side = -1
    anchor = "start" if side > 0 else "end"
    middle = _first_line((start_y + end_y) / 2, words)
    return arrow, _label(lane.x + side * 8, middle, words, anchor)


def _first_line(middle: float, words: list[str]) -> float:
    return middle + 4 - 7.5 * (len(words) - 1)


def _arrow(path: str) -> str:
    return f'<path {_look("arrow")} d="{path}" marker-end="url(#head)"/>'


def _label(x: float, y: float, words: list[str], anchor: str) -> str:
    return "\n".join(
        f'<text {_look("label" if word != words[-1] else "why")} x="{x:g}" y="{y + 15 * line:g}" '
        f'text-anchor="{anchor}">{word}</text>'
        for line, word in enumerate(words)
    )


def _from_everywhere() -> Iterator[str]:
    x, y = PLACES[Phase.CLOSED]
    for line, happened in enumerate(_everywhere()):
        (after,) = Match.TRANSITIONS[Phase.NEW, happened].to
        yield (
            f'<text {_look("label")} x="{x}" y="{y + 44 + 15 * line}" text-anchor="middle">'
            f"From every phase: {WORDS[happened]} → {after.name}</text>"
        )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")

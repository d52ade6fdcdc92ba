"""`league bracket`: a stage as people know it: a bracket, a table by rounds, groups, a ladder."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from shutil import get_terminal_size
from typing import Any

import click

from agentleague.cli.options import Number
from agentleague.cli.output import (
    BYES,
    ROWS_MAX,
    WIDTH_ELSEWHERE,
    Column,
    counted,
    first_is_bold,
    print_json,
    print_notes,
    print_rest,
    print_rows,
    say,
    shown,
)
from agentleague.cli.reading import all_option, read, reading_options, see_all, source_option
from agentleague.errors import LeagueError
from agentleague.runtime.query_pages import Source, all_rows
from agentleague.storage.directory import JournalPlace

Row = dict[str, Any]
DRAWN_MAX = 8  # ties of a round that is drawn; those of earlier rounds are listed
NAME_MIN, NAME_MAX = 12, 24
BESIDE_NAME = 7  # in a slot: the seed before it, the mark and the games won after it
MARKS = {"won": "+", "drawn": "=", "lost": "-", "forfeited": "-t", "void": "~", "live": "…"}
BARS = "▁▂▃▄▅▆▇█"
SEEDS = "The number before a name is the seed, the one after it the games won; ✓ goes on"
DECIDED = {  # what decided a tie where games did not: its mark, and what that says
    "seed": ("*", "level after all games: the better seed goes on"),
    "removal": ("!", "goes on because the other one was removed"),
}
WHO = (Column("rank", "Rank"), Column("player_id", "Id", True), Column("name", "Name", True, True))
RECORD = [Column(each, each.capitalize()) for each in ("played", "won", "drawn", "lost")]
LEGEND = "+P03 won against P03, = drew, - lost, -t lost without a game, ~ no contest, … playing"


@click.command()
@click.option("--stage", metavar="N", type=Number(int, 1), help="This stage, not the running one.")
@all_option
@reading_options
def command(
    directory: JournalPlace | None,
    manager_url: str | None,
    as_json: bool,
    stage: int | None,
    is_all: bool,
) -> None:
    """Print a stage as people know it: the bracket of a knockout, a Swiss with each player's
    rounds, the groups, or the ladder.

    league bracket
    league bracket ./cup --stage 1
    league bracket --manager http://127.0.0.1:8000/mcp --json
    """

    async def ask(source: Source) -> tuple[Row, list[Row]]:
        head = await source.ask("GET_STAGE", limit=0)
        stages = len(head["stages"])
        if stage and stage > stages:
            there = f"there are stages 1 to {stages}" if stages > 1 else "there is one"
            raise LeagueError(f"there is no stage {stage}; {there}")
        if stage:
            head = await source.ask("GET_STAGE", limit=0, stage=stage)
        rows = await all_rows(source, "GET_STAGE", "rows", stage=head["stage"])
        status = await source.ask("GET_STATUS")
        return {**head, "status": status}, rows

    head, rows = read(directory, manager_url, ask)
    about = head["stages"][head["stage"] - 1]
    if as_json:
        print_json(
            {name: head[name] for name in ("stage", "stages", "shown_rounds")} | {"rows": rows}
        )
        return
    title = f"{head['status'].get('league_id')}: {about['title'].lower()}, {about['state']}"
    if len(head["stages"]) > 1:
        title += f" (stage {head['stage']} of {len(head['stages'])})"
    if not rows:
        print(f"{shown(title)}; who is in it is not known yet.")
        return
    rest = "" if is_all or not sys.stdout.isatty() else see_all("bracket", directory)
    PRINTED.get(about["format"], _print_rounds)(head, rows, title, rest)
    print_notes(rows)
    if head["stage"] > 1 and not stage:
        source = source_option(directory, manager_url)
        say(f"See the first stage with: league bracket{source} --stage 1")


def print_bracket(head: Row, rows: Sequence[Row], title: str, rest: str) -> None:
    """A knockout: what fits is drawn, and the rounds before that are listed."""
    levels = [[*ties] for _, ties in groupby(rows, key=lambda tie: tie["level"])]
    is_third = len(levels) > 1 and len(levels[-1]) == len(levels[-2]) == 1
    tree = levels[:-1] if is_third else levels
    drawn = [ties for ties in tree if len(ties) <= DRAWN_MAX]
    width = _width()
    while len(drawn) > 1 and _room(width, len(drawn)) < NAME_MIN:
        drawn.pop(0)
    listed = tree[: len(tree) - len(drawn)]
    cut = [*listed]
    while rest and sum(map(len, cut)) > ROWS_MAX:
        cut.pop(0)
    if cut or is_third:
        _print_ties([tie for ties in [*cut, *levels[len(tree) :]] for tie in ties], title)
    else:
        print(shown(title), end="\n\n")
    left_out = sum(map(len, listed)) - sum(map(len, cut))
    if left_out:
        print(f"… {counted(left_out, 'tie')} of earlier rounds; see all with: {rest}\n")
    print("\n".join(picture(drawn, width)))
    found = {tie.get("by") for tie in rows}
    marks = (f"{mark} {words}" for by, (mark, words) in DECIDED.items() if by in found)
    print("\n" + "\n".join([f"{SEEDS}.", *(f"{each}." for each in marks)]))


def _width() -> int:
    return get_terminal_size().columns if sys.stdout.isatty() else WIDTH_ELSEWHERE


def _print_ties(ties: Sequence[Row], title: str) -> None:
    rows = [
        {
            "round": tie["round"],
            "one": _seeded(tie, 0),
            "score": _score(tie),
            "other": _seeded(tie, 1),
            "matches": " ".join(tie["matches"]),
        }
        for tie in ties
    ]
    columns = (
        Column("round", "Round", True),
        Column("one", "Player", True, True),
        Column("score", "Score", True),
        Column("other", "Player", True, True),
        Column("matches", "Matches", True, leaves=1),
    )
    print_rows(rows, columns, title)


def _seeded(tie: Row, place: int) -> str:
    seed = tie["seeds"][place]
    return f"{_won(tie, place)} {f'{seed} ' if seed else ''}{tie['names'][place]}"


def _won(tie: Row, place: int) -> str:
    is_won = tie["winner"] and tie["winner"] == tie["players"][place]
    return DECIDED.get(tie.get("by", ""), ("✓",))[0] if is_won else " "


def _score(tie: Row) -> str:
    is_played = tie["matches"] and None not in tie["players"]
    return f"{tie['wins'][0]}:{tie['wins'][1]}{'…' if tie['is_live'] else ''}" if is_played else ""


def _room(width: int, levels: int) -> int:
    """How long a name may be; beside them there is a column for the winner."""
    return (width - (BESIDE_NAME + 2) * levels - 2) // (levels + 1)


def picture(levels: Sequence[Sequence[Row]], width: int) -> Iterator[str]:
    """The rounds of a bracket from left to right; what is not known yet is said in words."""
    from rich.cells import cell_len

    longest = max(cell_len(shown(name)) for ties in levels for tie in ties for name in tie["names"])
    name = max(NAME_MIN, min(NAME_MAX, longest, _room(width, len(levels))))
    heads = (_sized(ties[0]["round"], name + BESIDE_NAME) for ties in levels)
    yield "  ".join(heads).rstrip()
    height = 4 * len(levels[0]) - 1
    canvas = [""] * height
    for level, ties in enumerate(levels):
        step, first = 2 << level, (1 << level) - 1  # between two slots, before the first
        for number in range(height):
            slot, rest = divmod(number - first, step)
            is_slot = number >= first and rest == 0 and slot < 2 * len(ties)
            text = _slot(ties[slot // 2], slot % 2, name) if is_slot else " " * (name + BESIDE_NAME)
            canvas[number] += text + _line(slot, rest, step, is_slot, number >= first)
    final = levels[-1][0]
    if final["winner"]:
        won = final["names"][final["players"].index(final["winner"])]
        canvas[(1 << len(levels)) - 1] += f" {_sized(won, name)}"
    yield from (line.rstrip() for line in canvas)


def _slot(tie: Row, place: int, width: int) -> str:
    name = _sized(tie["names"][place], width)
    wins = tie["wins"][place] if _score(tie) else ""
    return f"{tie['seeds'][place] or '':>3} {name} {_won(tie, place)}{wins:>1}"


def _sized(text: str, width: int) -> str:
    from rich.text import Text

    sized = Text(shown(text))
    sized.truncate(width, overflow="ellipsis", pad=True)
    return sized.plain


def _line(slot: int, rest: int, step: int, is_slot: bool, is_below_first: bool) -> str:
    """What joins the two slots of a tie to the one that follows."""
    if is_slot:
        return "┘ " if slot % 2 else "┐ "
    if not is_below_first or slot % 2:
        return "  "
    return "├─" if rest == step // 2 else "│ "


def _print_rounds(head: Row, rows: Sequence[Row], title: str, rest: str) -> None:
    fields = [f"R{number}" for number in head["shown_rounds"]]
    ties = [name for name in rows[0]["tie_breaks"] if name in ("buchholz", "sonneborn_berger")]
    room = _width() if rest or not sys.stdout.isatty() else 1_000
    rows = [row | {"on": "▸" if row.get("goes_on") else ""} for row in rows]
    on = _noted(rows)
    byes = any(row.get("bye_points") for row in rows)
    room -= 6 * byes
    most = max(1, (room - 34 - 9 * len(ties)) // (4 + max(len(row["player_id"]) for row in rows)))
    hidden, fields, cut = fields[:-most], fields[-most:], rows[: ROWS_MAX if rest else None]
    flat = []
    for row in cut:
        cells = row["cells"][len(row["cells"]) - len(fields) :]
        by_round = zip(fields, map(_cell, cells), strict=True)
        flat.append({**row, **row["tie_breaks"], **dict(by_round)})
        flat[-1]["bye_points"] = row.get("bye_points") or ""
    columns = (
        *WHO,
        *on,
        *(Column(field, field) for field in fields),
        *([BYES] if byes else []),
        Column("points", "Points"),
        *(Column(name, {"buchholz": "Buchh.", "sonneborn_berger": "S.-B."}[name]) for name in ties),
    )
    print_rows(flat, columns, title, first_is_bold)
    print_rest(len(rows) - len(cut), rest)
    if fields:
        print(LEGEND)
    if hidden:
        print(f"Not shown: {', '.join(hidden)}; use a wider terminal, or --json.")
    if on:
        print(_cut(head, rows))
    if byes:
        print("Byes: the points that were given for them.")


def _cell(cell: Row) -> str:
    if "match_id" not in cell:
        return "bye" if cell["outcome"] == "bye" else ""
    return f"{MARKS[cell['outcome']]}{cell['opponent_id']}"


def _is_running(head: Row) -> bool:
    return bool(head["stages"][head["stage"] - 1]["state"] == "running")


def _marked(head: Row, rows: Sequence[Row]) -> Iterator[Row]:
    """With whether each player goes on to the next stage, and by what, at equal points."""
    on = "would go on" if _is_running(head) else "goes on"
    for row in rows:
        by = "level; by id" if row.get("by") == "id" else f"by {row['by']}" if row.get("by") else ""
        yield row | {"on": ": ".join(filter(None, (on if row.get("goes_on") else "", by)))}


def _cut(head: Row, rows: Sequence[Row]) -> str:
    """What the mark of those who go on says, and what decided at equal points."""
    words = f"▸ {'would go on if it ended now' if _is_running(head) else 'goes on'}"
    edge = [row for row in rows if row.get("by")]
    if not edge:
        return words
    by = "level; the id decides" if edge[0]["by"] == "id" else f"{edge[0]['by']} decides"
    ids = [row["player_id"] for row in edge]
    players = " and ".join(ids) if len(ids) < 3 else f"{len(ids)} players"
    return f"{words}; at equal points at the cut ({players}): {by}"


def _noted(rows: Sequence[Row]) -> Sequence[Column]:
    return (Column("on", "", True),) if any(row["on"] for row in rows) else ()


def _print_groups(head: Row, rows: Sequence[Row], title: str, rest: str) -> None:
    rows = [*_marked(head, rows)]
    columns = (*WHO, *RECORD, Column("points", "Points"), *_noted(rows))
    print(shown(title), end="\n\n")
    for group, inside in groupby(rows, key=lambda row: row["group"]):
        print_rows(
            [*inside], columns, f"Group {group}", lambda row: "bold" if row["goes_on"] else ""
        )


def _print_ladder(head: Row, rows: Sequence[Row], title: str, rest: str) -> None:
    rows = [*_marked(head, rows)]
    cut = rows[: ROWS_MAX if rest else None]
    flat = [
        row
        | {"change": f"{row['change']:+}" if row["change"] else "", "course": _course(row["elos"])}
        for row in cut
    ]
    columns = (
        *WHO,
        Column("elo", "Elo"),
        Column("change", "Change"),
        Column("course", "Course", True),
        *RECORD,
        *_noted(rows),
    )
    print_rows(flat, columns, title, first_is_bold)
    print_rest(len(rows) - len(cut), rest)
    print("Change: of Elo, in the last round. Course: Elo after the last rounds, from low to high.")


def _course(elos: Sequence[int], most: int = 12) -> str:
    """The last ratings as bars; one height each for a rating that never moved."""
    last = elos[-most:]
    least, span = min(last), max(last) - min(last)
    if not span:
        return BARS[3] * len(last)
    return "".join(BARS[(each - least) * (len(BARS) - 1) // span] for each in last)


PRINTED: Mapping[str, Callable[[Row, Sequence[Row], str, str], None]] = {
    "knockout": print_bracket,
    "groups": _print_groups,
    "ladder": _print_ladder,
}

"""Plots as SVG, drawn by hand from plain data: small, without script, readable on a phone.

Each is 400 units wide and scales with its page; text is 13 units high. Colours are classes (c1 to
c4, win, loss, draw, soft) that style.css gives to both themes; the colour beside each is for a plot
in a file of its own. Colour never speaks alone: lines are named at their ends and differ in
dashes, cells differ in height or carry a mark. Too little data for a plot gives a sentence.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from agentleague.protocol.printable import counted, one_line

WIDTH = 400
INTERVAL_WIDTH = 160  # of the rating of a player, in a cell of a table
LINE = 16  # from one line of text to the next
NAMED_MAX = 8  # lines with a name
GREY_MAX = 24  # lines without one; more are drawn as one band
BARS_MAX = 40  # also points of a line
KINDS_MAX = 7  # of moves, with the others as one
CELLS_MAX = 16  # players with a name and a mark in each cell
ROWS_MAX = 110  # players with a row of their own
GROUPS_MAX = 56  # rows where several players share one
ABOUT_MAX = 600  # characters of a description
OTHERS = "others"
WIDE = "mwMW@%"
NARROW = "iIljtfr.,:;'|!()[] -1"
MARKS = {"win": "1", "draw": "½", "loss": "0", "": ""}
COLOURS = {
    **{"c1": "#0060a8", "c2": "#ad4400", "c3": "#1a1d21", "c4": "#c07890"},
    **{"win": "#0060a8", "loss": "#ad4400", "draw": "#5f6670", "soft": "#808893"},
}


class _Chart:
    """A rectangle with two scales, from `x` and `y` (lowest, highest) to units of the picture."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], right: int, top: int = 10
    ) -> None:
        self.x_scale, self.y_scale = x, y
        self.left, self.right, self.top, self.bottom = 44, right, top, 200
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        return _place(value, self.x_scale, self.left, self.right)

    def y(self, value: float) -> float:
        return _place(value, self.y_scale, self.bottom, self.top)

    def line(self, points: Sequence[int]) -> str:
        """A path through points at 0, 1, 2, ...; of very many some are left out."""
        step = max(1, math.ceil(len(points) / BARS_MAX))
        picked = [*range(0, len(points) - 1, step), len(points) - 1]
        return "M" + "L".join(f"{self.x(at)} {self.y(points[at])}" for at in picked)

    def axes(self, x: Sequence[tuple[float, str]], y: Sequence[Any], title: str) -> None:
        """Lines and labels for these places; a number of `y` is its own label."""
        y = [each if isinstance(each, tuple) else (each, _number(each)) for each in y]
        grid = "".join(f"M{self.left} {self.y(value)}H{self.right}" for value, _ in y)
        grid += "".join(f"M{self.x(value)} {self.bottom}v4" for value, _ in x)
        self.parts.append(_path("soft", grid, 0.5))
        self.parts += [_text(self.left - 6, self.y(at) + 4.5, words, "end") for at, words in y]
        self.parts += [_text(self.x(at), self.bottom + 18, words, "middle") for at, words in x]
        self.parts.append(_text((self.left + self.right) / 2, self.bottom + 35, title, "middle"))

    def name(self, ends: Sequence[tuple[float, str, str, str]]) -> None:
        """Name what ends at the right: its height, colour, name and number; none over another."""
        places = _spread([end for end, *_ in ends], self.top, self.bottom + 12)
        for (end, colour, name, number), y in zip(ends, places, strict=True):
            self.parts.append(_path(colour, f"M{self.right + 2} {end}L{self.right + 11} {y}", 1))
            room = WIDTH - self.right - 30 - _width(number)
            self.parts.append(_text(self.right + 14, y + 4.5, _cut(name, room)))
            self.parts.append(_text(WIDTH - 1, y + 4.5, number, "end"))

    def svg(self, title: str, about: str) -> Markup:
        return _svg(title, about, self.bottom + 42, self.parts)


def points_by_round(series: Sequence[Mapping[str, Any]], highlight: str = "") -> Markup:
    """Points after each round; the first eight players by name, and the highlighted one."""
    ranked = sorted(
        (each for each in series if each["points"]), key=lambda each: -each["points"][-1]
    )
    rounds = max((len(each["points"]) for each in ranked), default=0)
    if rounds < 2:
        first = ", ".join(f"{each['name']} {each['points'][0]}" for each in ranked[:NAMED_MAX])
        so_far = f"after the first round {first}" if first else "no round has ended"
        return _sentence(f"Points by round: {so_far}.")
    ranked.sort(key=lambda each: each["player_id"] != highlight)  # It is named wherever it stands.
    named, rest = ranked[:NAMED_MAX], ranked[NAMED_MAX:]
    named.sort(key=lambda each: -each["points"][-1])
    low = min(0, *(min(each["points"]) for each in ranked))
    high = max(1, *(max(each["points"]) for each in ranked))
    chart = _Chart((0, rounds - 1), (low, high), right=248)
    chart.axes([(n - 1, str(n)) for n in _from_one(rounds)], _ticks(low, high), "round")
    _draw_rest(chart, rest)
    lines: list[str] = []
    ends = []
    for number, each in enumerate(named):
        is_bold = each["player_id"] == highlight if highlight else number == 0
        dashes = ' stroke-dasharray="5 3"' if number > 3 else ""
        colour, last = f"c{number % 4 + 1}", each["points"][-1]
        path = _path(colour, chart.line(each["points"]), 3 if is_bold else 1.8, dashes)
        lines.insert(len(lines) if is_bold else 0, path)  # The bold one lies on top.
        ends.append((chart.y(last), colour, each["name"], _number(last)))
    chart.parts += lines
    chart.name(ends)
    others = f", and {counted(len(rest), 'other player')} in grey" if rest else ""
    last_words = ", ".join(f"{each['name']} {each['points'][-1]}" for each in named)
    about = f"Points after each of {rounds} rounds{others}. At the end: {last_words}."
    return chart.svg("Points by round", about)


def _draw_rest(chart: _Chart, rest: Sequence[Mapping[str, Any]]) -> None:
    """Thin lines for the other players; for very many one band, and its median as a line."""
    lines = [each["points"] for each in rest]
    if len(lines) > GREY_MAX:
        length = min(len(points) for points in lines)
        columns = [sorted(points[at] for points in lines) for at in range(length)]
        upper, lower = ([column[at] for column in columns] for at in (-1, 0))
        back = "L".join(reversed(chart.line(lower)[1:].split("L")))
        band = f"{chart.line(upper)}L{back}z"
        chart.parts.append(_path("soft", band, style=' fill-opacity=".25"'))
        lines = [[column[len(column) // 2] for column in columns]]
    if lines:
        chart.parts.append(_path("soft", "".join(map(chart.line, lines)), 0.8))


def response_times(ms: Sequence[int], limit_ms: int | None) -> Markup:
    """How long answers took, by powers of ten, with the middle, the slow end and the limit."""
    times = sorted(max(1, each) for each in ms)
    if len(times) < 2:
        so_far = f"one answer, after {_duration(times[0])}" if times else "no answer was timed"
        return _sentence(f"Response times: {so_far}.")
    half, slow = times[(len(times) - 1) // 2], times[math.ceil(len(times) * 0.95) - 1]
    marks = [("c3", f"half within {_duration(half)}", half)]
    marks.append(("c3", f"95 % within {_duration(slow)}", slow))
    if limit_ms and limit_ms > 0:
        marks.append(("loss", f"limit {_duration(limit_ms)}", limit_ms))
    first = math.floor(math.log10(min(times[0], marks[-1][2])))
    last = math.floor(math.log10(max(times[-1], marks[-1][2]))) + 1
    size = (last - first) / BARS_MAX  # of a bar, in powers of ten
    counts = Counter(min(BARS_MAX - 1, int((math.log10(each) - first) / size)) for each in times)
    high = max(counts.values())
    chart = _Chart((first, last), (0, high), right=WIDTH - 24, top=3 * LINE + 6)
    step = math.ceil((last - first) / 6)
    x_ticks = [(n, _duration(10**n)) for n in range(first, last + 1, step)]
    chart.axes(x_ticks, _ticks(0, high), "answers by time taken")
    wide = round((chart.right - chart.left) / BARS_MAX - 1, 1)
    bars = (
        f"M{chart.x(first + bar * size)} {chart.bottom}V{chart.y(count)}h{wide}V{chart.bottom}z"
        for bar, count in sorted(counts.items())
    )
    chart.parts.append(_path("win", "".join(bars)))
    labels = ""
    for row, (colour, words, value) in enumerate(marks):
        x, y = chart.x(math.log10(value)), 12 + row * LINE
        dashes = f' stroke-dasharray="{2 + 3 * row} 3"'
        chart.parts.append(_path(colour, f"M{x} {y - 9}V{chart.bottom}", 1.5, dashes))
        has_room = x + 5 + _width(words) < WIDTH
        labels += _text(x + 5, y, words) if has_room else _text(x - 5, y, words, "end")
    # Over the lines, with an edge in the colour of the page.
    edge = 'class="edge" stroke="#fff" stroke-width="4" paint-order="stroke"'
    chart.parts.append(f"<g {edge}>{labels}</g>")
    found = ", ".join(words for _, words, _ in marks)
    about = f"{counted(len(times), 'answer')}: {found}; the slowest took {_duration(times[-1])}."
    return chart.svg("Response times", about)


def cross_table(
    ids: Sequence[str], names: Sequence[str], cells: Mapping[str, Mapping[str, int]]
) -> Markup:
    """Who beat whom, in the order given: a full cell is won, a thin one lost.

    `cells` has what the first of "A|B" won, drew and lost; the cell of "B|A" may be left out.
    """
    size = 1 if len(ids) <= ROWS_MAX else math.ceil(len(ids) / GROUPS_MAX)
    group_of = {player_id: number // size for number, player_id in enumerate(ids)}
    shares = _shares(group_of, cells)
    if not shares:
        return _sentence("Cross-table: no match between two players was decided.")
    count, is_small = math.ceil(len(ids) / size), len(ids) <= CELLS_MAX
    left, top = (126 if is_small else 40), 20
    side = (WIDTH - left - 12) / count
    runs: dict[str, list[str]] = {"win": [], "draw": [], "loss": [], "": []}
    for row in range(count):
        kinds = ((_kind(shares.get((row, column))), column) for column in range(count))
        for kind, run in groupby(kinds, key=lambda each: each[0]):
            columns = [column for _, column in run]
            runs[kind].append(f"M{columns[0]} {row}h{len(columns)}")
    parts = [f'<g transform="translate({left} {top + side / 2:.2f}) scale({side:.4f})">']
    for kind, thick in (("win", 0.92), ("draw", 0.5), ("loss", 0.2)):
        style = ' stroke-dasharray=".92 .08"' + (' stroke-opacity=".25"' if is_small else "")
        parts.append(_path(kind, "".join(runs[kind]), 0.92 if is_small else thick, style))
    parts.append("</g>")
    last = len(ids)
    for rank in range(1, last + 1) if is_small else _from_one(last):
        place = round((rank - 0.5) / size * side, 1)
        parts.append(_text(left + place, top - 6, str(rank), "middle"))
        parts.append(_text(left - 6, top + place + 4.5, str(rank), "end"))
        if is_small:
            parts.append(_text(0, top + place + 4.5, _cut(names[rank - 1], left - 36)))
            found = [(at, _kind(shares.get((rank - 1, at)))) for at in range(count)]
            places = " ".join(str(round(left + (at + 0.5) * side, 1)) for at, kind in found if kind)
            marks = "".join(MARKS[kind] for _, kind in found if kind)
            parts.append(_text(places, top + place + 4.5, marks, "middle"))
    shared = f" Each cell is {size} by {size} players." if size > 1 else ""
    about = (
        f"{len(ids)} players in the order of the table, each row against each column. Blue and "
        f"full is won, grey is even, orange and thin is lost, empty is not played.{shared}"
    )
    return _svg("Cross-table", about, math.ceil(top + count * side + 8), parts)


def choices(rounds: Sequence[Mapping[str, Any]]) -> Markup:
    """Which moves were made: their shares, round by round."""
    played = [(each["round"], +Counter[str](each["moves"])) for each in rounds]
    played = [(number, moves) for number, moves in played if moves]
    total = sum((moves for _, moves in played), Counter[str]())
    if len(played) < 2:
        first = ", ".join(f"{move} {number}" for move, number in total.most_common(KINDS_MAX))
        so_far = f"in round {played[0][0]} {first}" if played else "no move is known"
        return _sentence(f"Choices: {so_far}.")
    kinds = [move for move, _ in total.most_common(KINDS_MAX)]
    together = math.ceil(len(played) / BARS_MAX)
    groups = [played[at : at + together] for at in range(0, len(played), together)]
    chart = _Chart((0, len(groups)), (0, 100), right=280)
    step = math.ceil(len(groups) / 6)
    x_ticks = [(at + 0.5, str(groups[at][0][0])) for at in range(0, len(groups), step)]
    chart.axes(x_ticks, [(0, "0%"), (50, "50%"), (100, "100%")], "round")
    tops, ends = [0.0] * len(groups), []
    wide = round((chart.right - chart.left) / len(groups) * 0.9, 1)
    for number, kind in enumerate([*kinds, OTHERS] if len(total) > len(kinds) else kinds):
        bars, low = "", 0.0
        for at, group in enumerate(groups):
            moves = sum((moves for _, moves in group), Counter[str]())
            share = 100 * moves[kind] / moves.total() if number < len(kinds) else 100 - tops[at]
            low, tops[at] = tops[at], min(100.0, tops[at] + share)
            if share:
                bars += f"M{chart.x(at)} {chart.y(low)}V{chart.y(tops[at])}h{wide}V{chart.y(low)}z"
        colour = "soft" if number == len(kinds) else f"c{number % 4 + 1}"
        style = ' fill-opacity=".5"' if number > 3 else ""
        chart.parts.append(_path(colour, bars, style=style))
        rest = total.total() - sum(total[each] for each in kinds)
        share_of_all = 100 * (rest if number == len(kinds) else total[kind]) / total.total()
        ends.append((chart.y((low + tops[-1]) / 2), colour, kind, f"{share_of_all:.0f}%"))
    chart.name(ends)
    found = ", ".join(f"{name} {number}" for _, _, name, number in ends)
    return chart.svg("Choices over time", f"Of all moves in {len(played)} rounds: {found}.")


def share_of_losses(causes: Mapping[str, int]) -> Markup:
    """Why matches were lost: a bar for each cause, the most frequent first."""
    counts = +Counter[str](causes)
    if not counts:
        return _sentence("Losses by cause: nobody has lost.")
    rows = counts.most_common(NAMED_MAX)
    if len(counts) > NAMED_MAX:
        rows[-1] = (OTHERS, counts.total() - sum(number for _, number in rows[:-1]))
    parts = []
    for row, (cause, number) in enumerate(rows):
        y, share = row * 42, number / counts.total()
        wide = max(1.5, _short(share * (WIDTH - 100)))
        parts.append(_text(0, y + 13, _cut(cause, WIDTH)))
        parts.append(_path("draw" if cause == "beaten" else "loss", f"M0 {y + 19}h{wide}v14H0z"))
        parts.append(_text(wide + 6, y + 31, f"{_number(number)} ({100 * share:.0f}%)"))
    found = ", ".join(f"{cause} {number}" for cause, number in rows)
    about = f"{counted(counts.total(), 'loss', 'losses')} by cause: {found}."
    return _svg("Losses by cause", about, len(rows) * 42, parts)


def interval(row: Mapping[str, Any], scale: tuple[int, int]) -> Markup:
    """A rating as a dot, with a thick line for 50 % and a thin one for 95 %; and where 0 is."""

    def x(value: int) -> float:
        return _place(value, scale, 4, INTERVAL_WIDTH - 4)

    zero = _path("soft", f"M{x(0)} 0V16", 1, ' stroke-dasharray="2 2"')
    lines = "".join(
        _path("win", f"M{x(row[f'low_{share}'])} 8H{x(row[f'high_{share}'])}", width)
        for share, width in ((95, 1.5), (50, 5))
    )
    about = f"{row['rating']:+}, with 95 % from {row['low_95']:+} to {row['high_95']:+}"
    return Markup(
        f'<svg class="plot interval" viewBox="0 0 {INTERVAL_WIDTH} 16" role="img" '
        f'aria-label="{about}">{zero}{lines}'
        f'<circle class="c3" cx="{x(row["rating"])}" cy="8" r="4" fill="currentColor"/></svg>'
    )


def sparkline(values: Sequence[int]) -> Markup:
    """A course as a line of text height, between its lowest and its highest value."""
    if len(values) < 2:
        return Markup("")
    scale = (min(values), max(max(values), min(values) + 1))
    last = len(values) - 1
    points = (
        f"{_place(n, (0, last), 1, 79)} {_place(each, scale, 17, 3)}"
        for n, each in enumerate(values)
    )
    words = f"from {values[0]} to {values[-1]}, between {min(values)} and {max(values)}"
    line = _path("c1", "M" + "L".join(points), 1.5)
    return Markup(
        f'<svg class="plot spark" viewBox="0 0 80 20" role="img" aria-label="{words}">{line}</svg>'
    )


def _shares(
    group_of: Mapping[str, int], cells: Mapping[str, Mapping[str, int]]
) -> dict[tuple[int, int], float]:
    """Of each pair of rows: which share of its points the first has taken."""
    sums: dict[tuple[int, int], tuple[int, int]] = {}
    for pair, cell in cells.items():
        one, other = (group_of.get(each) for each in pair.split("|", 1))
        played = cell["won"] + cell["drawn"] + cell["lost"]
        if one is None or other is None or one == other or played <= 0:
            continue
        halves = 2 * cell["won"] + cell["drawn"]
        before, all_before = sums.get((one, other), (0, 0))
        sums[one, other] = (before + halves, all_before + 2 * played)
    mirrored = {(b, a): (whole - part, whole) for (a, b), (part, whole) in sums.items()}
    return {pair: part / whole for pair, (part, whole) in (mirrored | sums).items()}


def _kind(share: float | None) -> str:
    if share is None:
        return ""
    return "draw" if share == 0.5 else "win" if share > 0.5 else "loss"


def _place(value: float, scale: tuple[float, float], start: float, end: float) -> float:
    low, high = scale
    return _short(start + (value - low) / ((high - low) or 1) * (end - start))


def _short(value: float) -> float:
    """With one digit after the point, or none."""
    return round(value) if abs(value - round(value)) < 0.05 else round(value, 1)


def _ticks(low: int, high: int) -> list[int]:
    """Round numbers from low to high, about five."""
    raw = max(1, (high - low) // 5)
    power = 10 ** (len(str(raw)) - 1)
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= raw)
    return [*range(-(-low // step) * step, high + 1, step)]


def _from_one(last: int) -> list[int]:
    ticks = _ticks(1, last)
    return ticks if ticks[0] == 1 else [1, *(tick for tick in ticks if tick > 2)]


def _number(value: int) -> str:
    """A number in few characters: 950, 12k, 3.4M."""
    if abs(value) >= 10**12:
        return f"{value:.1e}"
    for limit, letter in ((10**9, "G"), (10**6, "M"), (10**4, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}"
    return str(value)


def _duration(ms: int) -> str:
    seconds = f"{ms / 1_000:.2g}" if ms < 10_000 else _number(ms // 1_000)
    return f"{ms} ms" if ms < 1_000 else f"{seconds} s"


def _spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Heights near the wanted ones, a line of text apart, in the same order."""
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    places = [0.0] * len(wanted)
    lowest = top
    for at in order:
        places[at] = lowest = max(wanted[at], lowest)
        lowest += LINE
    highest = bottom
    for at in reversed(order):
        places[at] = _short(min(places[at], highest))
        highest = places[at] - LINE
    return places


def _width(text: str) -> float:
    """About how wide text is, in units."""
    return sum(
        13
        if unicodedata.east_asian_width(char) in "WF" or char in WIDE
        else (4.6 if char in NARROW else 9.5 if char.isupper() else 7.7)
        for char in text
    )


def _cut(text: str, room: float) -> str:
    text = one_line(text)
    if _width(text) <= room:
        return text
    while text and _width(text) > room - 9:
        text = text[:-1]
    return f"{text.rstrip()}…"


def _path(colour: str, d: str, stroke: float = 0, style: str = "") -> str:
    """A line of this width, or without one an area."""
    line = f'fill="none" stroke="currentColor" stroke-width="{stroke}"'
    paint = line if stroke else 'fill="currentColor"'
    return f'<path class="{colour}" color="{COLOURS[colour]}" d="{d}" {paint}{style}/>'


def _text(x: float | str, y: float, words: str, anchor: str = "start") -> str:
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    x = x if isinstance(x, str) else _short(x)
    return f'<text x="{x}" y="{_short(y)}"{where}>{escape(one_line(words))}</text>'


def _svg(title: str, about: str, height: int, parts: Sequence[str]) -> Markup:
    return Markup(
        f'<svg class="plot" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'role="img" font-family="system-ui, sans-serif" font-size="13" fill="currentColor">'
        f"<title>{title}</title><desc>{escape(one_line(about, ABOUT_MAX))}</desc>"
        f"{''.join(parts)}</svg>"
    )


def _sentence(words: str) -> Markup:
    return Markup('<p class="plot-empty">{}</p>').format(one_line(words, ABOUT_MAX))

"""Small charts as SVG: readable on light and dark pages, without a library."""

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 74, 24, 66, 50
COLOURS = ("#24507a", "#c9752e", "#4f8f5b", "#8a5a9e")
INK, GREY, PALE, BLUE = "#1b2b3a", "#5d6b78", "#dbe3ea", "#c5dcf0"
Points = Sequence[tuple[float, float]]


def bars(title: str, unit: str, labels: Sequence[str], parts: Mapping[str, Sequence[float]]) -> str:
    """Bars side by side, each stacked from the parts, with its sum above it."""
    sums = [sum(values) for values in zip(*parts.values(), strict=True)]
    ceiling = _round_up(max(sums))
    up = _linear(ceiling)
    shapes = _grid([ceiling * part / 4 for part in range(5)], up)
    room = (WIDTH - LEFT - RIGHT) / len(labels)
    for number, label in enumerate(labels):
        x, below = LEFT + room * (number + 0.25), 0.0
        for colour, values in zip(COLOURS, parts.values(), strict=False):
            top, foot = up(below + values[number]), up(below)
            shapes.append(_box((x, top), (room / 2, foot - top), colour))
            below += values[number]
        middle = x + room / 4
        shapes.append(_text(middle, up(below) - 6, _short(below), INK, "middle"))
        shapes.append(_text(middle, HEIGHT - BOTTOM + 20, label, GREY, "middle"))
    return _chart(title, unit, list(parts), shapes)


def lines(
    title: str, unit: str, series: Mapping[str, Points], x_unit: str, *, logarithmic: bool = False
) -> str:
    """Lines through points; where `logarithmic`, each step on both axes is ten times the last."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    ticks = _decades(ys) if logarithmic else [_round_up(max(ys)) * part / 4 for part in range(5)]
    across, up = (_log_axes if logarithmic else _linear_axes)(xs, ticks)
    shapes = _grid(ticks, up)
    marks = _decades(xs) if logarithmic else [max(xs) * part / 5 for part in range(6)]
    for x in marks:
        shapes.append(_text(across(x), HEIGHT - BOTTOM + 20, _short(x), GREY, "middle"))
    shapes.append(_text(WIDTH - RIGHT, HEIGHT - 10, x_unit, GREY, "end"))
    for colour, points in zip(COLOURS, series.values(), strict=False):
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if len(points) <= 12:
            shapes += [_dot(across(x), up(y), colour) for x, y in points]
    return _chart(title, unit, list(series), shapes)


def chains(title: str, unit: str, rows: Mapping[str, Sequence[str]]) -> str:
    """Under each heading its names as boxes, in their order, in as many lines as they need."""
    shapes, y = [], 30.0
    for number, (heading, names) in enumerate(rows.items()):
        shapes.append(_text(16, y + 22, heading, INK))
        x, y = 16.0, y + 32
        for name in names:
            width = 16 + 7.0 * len(name)
            if x + width > WIDTH - 16:
                x, y = 16.0, y + 30
            shapes.append(_box((x, y), (width, 22), (PALE, BLUE)[number % 2]))
            shapes.append(_text(x + width / 2, y + 15, name, INK, "middle"))
            x += width + 8
        y += 30
    return _svg(title, unit, shapes, round(y) + 10)


def _chart(title: str, unit: str, names: Sequence[str], shapes: Sequence[str]) -> str:
    legend, x = [], float(LEFT)
    for colour, name in zip(COLOURS, names, strict=False):
        legend += [_box((x, 38), (11, 11), colour), _text(x + 16, 48, name, INK)]
        x += 40 + 7 * len(name)
    return _svg(title, unit, [*legend, *shapes])


def _svg(title: str, unit: str, shapes: Sequence[str], height: int = HEIGHT) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="13">'
    )
    parts = [
        head,
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
        f'<text x="16" y="24" font-weight="600" fill="{INK}">{escape(title)}</text>',
        _text(WIDTH - RIGHT, 24, unit, GREY, "end"),
        *shapes,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _grid(ticks: Sequence[float], up: Callable[[float], float]) -> list[str]:
    shapes = []
    for tick in ticks:
        y = up(tick)
        shapes.append(
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{PALE}"/>'
        )
        shapes.append(_text(LEFT - 8, y + 4, _short(tick), GREY, "end"))
    return shapes


def _linear(ceiling: float) -> Callable[[float], float]:
    span = HEIGHT - TOP - BOTTOM
    return lambda value: HEIGHT - BOTTOM - span * value / ceiling


def _linear_axes(
    xs: Sequence[float], ticks: Sequence[float]
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    furthest = max(xs)
    return lambda x: LEFT + (WIDTH - LEFT - RIGHT) * x / furthest, _linear(ticks[-1])


def _log_axes(
    xs: Sequence[float], ticks: Sequence[float]
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    def axis(values: Sequence[float], start: float, end: float) -> Callable[[float], float]:
        low, high = math.log10(values[0]), math.log10(values[-1])
        return lambda value: start + (end - start) * (math.log10(value) - low) / (high - low)

    across = axis(_decades(xs), LEFT + 20, WIDTH - RIGHT - 20)
    return across, axis(ticks, HEIGHT - BOTTOM, TOP)


def _decades(values: Sequence[float]) -> list[float]:
    """Powers of ten from below the least to above the most."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value)) if value > 0 else 1.0
    return next(step * power for step in (1, 2, 4, 6, 8, 10) if step * power >= value)


def _short(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
    return f"<text {place}>{escape(text)}</text>"


def _box(corner: tuple[float, float], size: tuple[float, float], colour: str) -> str:
    (x, y), (width, height) = corner, size
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'
    )


def _dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'

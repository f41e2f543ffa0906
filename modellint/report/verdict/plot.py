"""The error by layer as SVG: a log axis, the tolerance as a line, the culprits marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

WIDTH, TOP, HEIGHT, BOTTOM, LEFT, RIGHT = 960, 56, 260, 104, 88, 88
"""In SVG units: the whole width, then the heights and widths of the parts around and in the plot."""
_BAND = 26
"""Height of the rows for values that a log axis does not have: 0 below it, infinite above."""
_LABELS, _TICKS, _LETTERS = 32, 9, 18


@dataclass(frozen=True, slots=True)
class _Scale:
    """From errors to heights. `low` and `high` are decades; `top` and `bottom` their heights."""

    low: int
    high: int
    top: float
    bottom: float
    zero: float
    infinite: float

    def y(self, error: float) -> float:
        if math.isnan(error) or math.isinf(error):
            return self.infinite
        if error <= 0:
            return self.zero
        share = (math.log10(error) - self.low) / (self.high - self.low)
        return self.bottom - share * (self.bottom - self.top)


def plot(layers: Sequence[Mapping[str, Any]], tolerance: float | None, label: str) -> str:
    """Return the picture for layers in the order in which they run; `label` says what it is to who cannot see it."""
    rows = [(layer, float(layer["error_in"]), float(layer["error_out"])) for layer in layers]
    scale = _scale([error for _, *errors in rows for error in errors], tolerance or 0.0)
    step = (WIDTH - LEFT - RIGHT) / len(rows)
    xs = [LEFT + step * (number + 0.5) for number in range(len(rows))]
    parts = [*_axes(scale), *_limit(scale, tolerance)]
    points = " ".join(f"{x:.1f},{scale.y(leaves):.1f}" for x, (_, _, leaves) in zip(xs, rows, strict=True))
    parts.append(f'<polyline class="way" points="{points}"/>')
    radius = max(1.5, min(4.0, step / 3))
    for x, (layer, enters, leaves) in zip(xs, rows, strict=True):
        parts += _dot(x, layer, enters, leaves, scale, radius)
    parts += _names(xs, [layer for layer, *_ in rows])
    parts += _legend()
    height = TOP + HEIGHT + BOTTOM
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def _scale(errors: Sequence[float], tolerance: float) -> _Scale:
    known = [error for error in (*errors, tolerance) if math.isfinite(error) and error > 0]
    low = math.floor(math.log10(min(known, default=1e-8)))
    high = max(low + 1, math.ceil(math.log10(max(known, default=1.0))))
    unbounded = any(not math.isfinite(error) for error in errors)
    top = TOP + (_BAND if unbounded else 0)
    return _Scale(low, high, top, TOP + HEIGHT - _BAND, TOP + HEIGHT, TOP)


def _axes(scale: _Scale) -> list[str]:
    stride = max(1, math.ceil((scale.high - scale.low) / _TICKS))
    ticks = [(scale.y(10.0**decade), f"1e{decade:+03d}") for decade in range(scale.low, scale.high + 1, stride)]
    ticks.append((scale.zero, "0"))
    if scale.top > scale.infinite:
        ticks.append((scale.infinite, "infinite"))
    return [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        for y, text in ticks
    ]


def _limit(scale: _Scale, tolerance: float | None) -> list[str]:
    if tolerance is None:
        return []
    y = scale.y(tolerance)
    text = f"{tolerance:.0e}" if tolerance else "exact"
    return [
        f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<text class="limit-name" x="{WIDTH - RIGHT + 8}" y="{y - 3:.1f}">tolerance</text>',
        f'<text class="limit-name" x="{WIDTH - RIGHT + 8}" y="{y + 12:.1f}">{text}</text>',
    ]


def _dot(x: float, layer: Mapping[str, Any], enters: float, leaves: float, scale: _Scale, radius: float) -> list[str]:
    told = escape(f"{layer['layer']} ({layer['type']}): {enters:.2g} in, {leaves:.2g} out, {layer['verdict']}")
    y = scale.y(leaves)
    found = [f'<circle class="in" cx="{x:.1f}" cy="{scale.y(enters):.1f}" r="{radius:.1f}"/>']
    if layer["verdict"] == "culprit":
        size = radius + 4
        points = f"{x:.1f},{y - size:.1f} {x + size:.1f},{y:.1f} {x:.1f},{y + size:.1f} {x - size:.1f},{y:.1f}"
        found.append(f'<polygon class="guilty" points="{points}"><title>{told}</title></polygon>')
    else:
        found.append(f'<circle class="out" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{told}</title></circle>')
    return found


def _names(xs: Sequence[float], layers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names below the axis: those of the culprits, and as many others as there is room for."""
    stride = max(1, math.ceil(len(layers) / _LABELS))
    gap = (WIDTH - LEFT - RIGHT) / _LABELS * 0.9
    guilty = [number for number, layer in enumerate(layers) if layer["verdict"] == "culprit"]
    shown: list[int] = []
    for number in (*guilty, *range(0, len(layers), stride)):
        if all(abs(xs[number] - xs[other]) >= gap for other in shown):
            shown.append(number)
    y = TOP + HEIGHT + 16
    found = []
    for number in sorted(shown):
        name = str(layers[number]["layer"])
        short = name if len(name) <= _LETTERS else "…" + name[1 - _LETTERS :]
        kind = "name guilty-name" if number in guilty else "name"
        x = f"{xs[number]:.1f}"
        turned = f'transform="rotate(-40 {x} {y})" text-anchor="end"'
        found.append(f'<text class="{kind}" x="{x}" y="{y}" {turned}>{escape(short)}</text>')
    return found


def _legend() -> list[str]:
    y = 18
    found = []
    for x, shape, text in (
        (LEFT, f'<circle class="out" cx="{LEFT + 6}" cy="{y}" r="4"/>', "error that leaves a layer"),
        (LEFT + 210, f'<circle class="in" cx="{LEFT + 216}" cy="{y}" r="4"/>', "error that enters it"),
        (
            LEFT + 380,
            f'<polygon class="guilty" points="{LEFT + 386},{y - 7} {LEFT + 393},{y} {LEFT + 386},{y + 7} '
            f'{LEFT + 379},{y}"/>',
            "culprit: agrees before, differs after",
        ),
    ):
        found += [shape, f'<text class="tick" x="{x + 18}" y="{y + 4}">{text}</text>']
    return found

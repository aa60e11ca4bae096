"""Colours of the page: text can be read, categories differ for every kind of vision."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from peakline.pages.categories import category_style

ROOT = Path(__file__).resolve().parents[2]
STYLE = category_style() + (ROOT / "report" / "page" / "page.css").read_text()
CATEGORIES = (
    "parameter",
    "buffer",
    "optimizer-state",
    "gradient",
    "activation",
    "temporary",
    "workspace",
    "communication",
    "cache",
    "input",
    "cuda-graph-warm-up",
    "autotuning",
)
# Never a large part; unknown and untraced are hatched.
GREYS = ("kept", "compilation", "unknown", "untraced")

Colour = tuple[float, float, float]

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def token(name: str, theme: str) -> Colour:
    """A token of the style as linear RGB."""
    found = re.search(rf"--{name}: light-dark\((#[0-9a-f]{{6}}), (#[0-9a-f]{{6}})\)", STYLE)
    assert found, name
    text = found[1 if theme == "light" else 2]
    parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return linear[0], linear[1], linear[2]


def contrast(a: Colour, b: Colour) -> float:
    light = [0.2126 * r + 0.7152 * g + 0.0722 * b_ + 0.05 for r, g, b_ in (a, b)]
    return max(light) / min(light)


def oklab(colour: Colour) -> Colour:
    r, g, b = (min(1.0, max(0.0, c)) for c in colour)
    cones = (
        0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b,
        0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
        0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b,
    )
    long, middle, short = (c ** (1 / 3) for c in cones)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def seen(colour: Colour, vision: str) -> Colour:
    rows = [sum(w * c for w, c in zip(row, colour, strict=True)) for row in VISIONS[vision]]
    return oklab((rows[0], rows[1], rows[2]))


def distance(a: Colour, b: Colour) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_categories_differ_for_every_kind_of_vision(theme: str) -> None:
    least = min(
        (distance(seen(token(a, theme), vision), seen(token(b, theme), vision)), a, b, vision)
        for a, b in combinations(CATEGORIES, 2)
        for vision in VISIONS
    )
    assert least[0] > 0.08, least


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_can_be_read(theme: str) -> None:
    background = token("bg", theme)
    for name in (*CATEGORIES, "kept"):
        assert contrast(token(name, theme), background) >= 3, name
    for name in (*CATEGORIES, *GREYS):
        assert contrast(token(f"on-{name}", theme), token(name, theme)) > 4.5, name
    for name in ("text", "muted", "accent"):
        for below in ("bg", "soft", "panel"):
            assert contrast(token(name, theme), token(below, theme)) > 4.5, (name, below)
    for name in ("frame", "accent-soft"):
        assert contrast(token("text", theme), token(name, theme)) > 4.5, name
    assert contrast(token("hit-text", theme), token("hit", theme)) > 4.5

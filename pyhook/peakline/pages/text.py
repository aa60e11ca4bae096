"""Shares as people read them; names as text in markup, for the page's static part."""

from __future__ import annotations

import html

from peakline.base.output import printable

_LONGEST_NAME = 300


def text_of(text: str) -> str:
    """The only way of a name into the markup: short, without controls, escaped."""
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME // 2]} … {text[-_LONGEST_NAME // 3 :]}"
    return html.escape(printable(text, instead=" "), quote=True)


def name_of(text: str) -> str:
    """A name in a sentence: its direction of writing ends with it."""
    return f"<bdi>{text_of(text)}</bdi>"


def share_of(part: int, whole: int) -> str:
    """In percent; small shares with a digit more."""
    share = part / whole if whole else 0.0
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"

"""Names as text in markup, for the page's static part."""

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

"""Names as text in markup, for the static part of the page."""

from __future__ import annotations

import html

from peakline.base.output import printable

_LONGEST_NAME = 300


def text_of(text: str) -> str:
    """Return a name for markup: shortened, without control characters, escaped. The only way in."""
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME // 2]} … {text[-_LONGEST_NAME // 3 :]}"
    return html.escape(printable(text, instead=" "), quote=True)


def name_of(text: str) -> str:
    """Return a name in a sentence, with its text direction isolated."""
    return f"<bdi>{text_of(text)}</bdi>"

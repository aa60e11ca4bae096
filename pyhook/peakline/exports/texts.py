"""Names as text of formats whose records are lines."""

from __future__ import annotations

import unicodedata


def one_line(text: str) -> str:
    """Return text without line breaks and other control characters: each becomes a blank."""
    return "".join(" " if unicodedata.category(one) in _CONTROL else one for one in text)


_CONTROL = ("Cc", "Zl", "Zp")  # control characters; separators of lines and paragraphs

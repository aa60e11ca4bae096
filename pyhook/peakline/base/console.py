"""A rich console that strips terminal controls from all text; only rich's own styles emit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

# Line breaks of the layout, and the isolates that `Marks.shown` puts around a name.
_OURS = "\n\u2068\u2069"


class SafeConsole(Console):
    """Draws text literally: no markup, no emoji codes, no control characters."""

    def __init__(self, clean: Callable[..., str], **options: Any) -> None:
        """Take `printable` of output.py, which loads no rich, and the options of rich's Console."""
        self._clean = clean
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Return the segments; their text has no terminal control characters."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(self._clean(segment.text, keep=_OURS), segment.style)

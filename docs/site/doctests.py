"""An extension of griffe: examples (`>>>`) and blocks (`::`) of docstrings as Markdown has them."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?:>>> .*\n?)(?:.*\S.*\n?)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Changes docstrings as they are read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Put a fence around each example, up to the next empty line; take one colon of `::`."""
        if obj.docstring:
            text = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
            obj.docstring.value = re.sub(r"::$", ":", text, flags=re.MULTILINE)

"""Reads fields of foreign files: each must have its expected type, or is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from peakline.imports.writing import UnreadableError, plain_text

U32, U64 = 2**32, 2**64
_SHOWN = 40  # shown characters of a wrong value


@dataclass(frozen=True)
class Fields:
    """A dictionary of the file; `what` names it in error messages."""

    values: Mapping[str, Any]
    what: str

    def number(self, key: str, below: int = U64, default: int | None = None) -> int:
        """Return an integer from 0 to below `below`."""
        value = self.values.get(key, default)
        if type(value) is not int:
            raise self.wrong(key, value, "no whole number")
        if not 0 <= value < below:
            raise self.wrong(key, value, "out of range")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text that a trace can hold."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, value, "no text")
        return plain_text(value)

    def list_of(self, key: str) -> list[Any]:
        """Return a list of any values; an empty one if the field is missing."""
        value = self.values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, value, "no list")
        return value

    def wrong(self, key: str, value: object, why: str) -> UnreadableError:
        """Return the error of a field."""
        if value is None:
            return UnreadableError(f"{self.what} is not one of torch's: it has no '{key}'")
        return UnreadableError(
            f"{self.what} is not one of torch's: its '{key}' is {_shown(value)}, {why}"
        )


def entries_of(values: list[Any], what: str) -> Iterator[Fields]:
    """Yield the dictionaries of a list."""
    for one in values:
        if not isinstance(one, dict):
            raise UnreadableError(f"{what} is not one of torch's: it is {_shown(one)}")
        yield Fields(one, what)


def _shown(value: object) -> str:
    """Return a value as text for a message; containers, which may be endless, are abbreviated."""
    if not isinstance(value, (int, float, str)):
        return f"a {type(value).__name__}"
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"{value[:_SHOWN]!r}..."
    return repr(value)

"""Reads pickles of plain values, and nothing else: no class is looked up, no function called."""

from __future__ import annotations

import io
import pickle
from typing import Any


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(
            f"the file asks for {module}.{name}: only numbers, texts, lists and dictionaries"
            " are read"
        )

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError(f"the file asks for the object {pid!r} outside of it")


def load_plain(data: bytes) -> Any:
    """Return what was pickled: numbers, texts, bytes, None, lists, tuples, sets, dictionaries.

    Raises:
        pickle.UnpicklingError: it holds anything else, or is cut off.
    """
    try:
        return _Plain(io.BytesIO(data)).load()
    except (EOFError, ValueError, IndexError, KeyError, AttributeError, TypeError) as error:
        raise pickle.UnpicklingError(f"not a pickle, or cut off: {error}") from error

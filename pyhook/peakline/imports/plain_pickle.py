"""Reads pickles of plain values, and nothing else: no class is looked up, no function called.

Dictionaries of collections are read as plain ones, without what they make of missing keys.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

# What the reader of the standard library raises for bytes that are no pickle.
_OF_BAD_DATA = (ValueError, IndexError, KeyError, AttributeError, TypeError)


class _NotPlain(pickle.UnpicklingError):
    """The file asks for something that is no plain value."""


_DICTIONARIES = {("collections", "defaultdict"), ("collections", "OrderedDict")}
# What a defaultdict may name for missing keys.
_MAKERS = {("builtins", name) for name in ("dict", "float", "int", "list", "set", "str", "tuple")}


def _plain_dictionary(*_maker: None) -> dict[Any, Any]:
    return {}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _DICTIONARIES:
            return _plain_dictionary
        if (module, name) in _MAKERS:
            return None  # nothing that could be called
        raise _NotPlain(
            f"the file asks for {module}.{name}: only numbers, texts, lists and dictionaries"
            " are read"
        )

    def persistent_load(self, pid: Any) -> Any:
        raise _NotPlain(f"the file asks for the object {pid!r} outside of it")


def load_plain(data: bytes) -> Any:
    """Return what was pickled: numbers, texts, bytes, None, lists, tuples, sets, dictionaries.

    Raises:
        pickle.UnpicklingError: it holds anything else, or is cut off.
    """
    try:
        return _Plain(io.BytesIO(data)).load()
    except _NotPlain:
        raise
    except (pickle.UnpicklingError, EOFError, *_OF_BAD_DATA) as error:
        raise pickle.UnpicklingError(f"not a pickle, or cut off: {error}") from error

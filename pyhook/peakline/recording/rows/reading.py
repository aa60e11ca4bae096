"""Makes rows from the JSON of reports. A field without a unit there has another name in its row."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from typing import Any, TypeVar

Row = TypeVar("Row")


def named(name_in_json: str) -> dict[str, str]:
    """Return the metadata of a field that has another name in JSON."""
    return {"json": name_in_json}


def json_name(one: dataclasses.Field[Any]) -> str:
    """Return the name of a field in JSON."""
    return str(one.metadata.get("json", one.name))


def row_of(kind: type[Row], document: dict[str, Any]) -> Row:
    """Return a row from its JSON object; unknown fields are ignored."""
    hashable: Any = kind
    return kind(
        **{name: read(document[key]) for name, key, read in _readers(hashable) if key in document}
    )


@functools.cache
def _readers(kind: Any) -> list[tuple[str, str, Any]]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)
    return [(one.name, json_name(one), _reader(hints[one.name])) for one in fields]


def _reader(hint: Any) -> Any:
    """Return a function that makes a value of this type from its JSON."""
    if isinstance(hint, types.UnionType):
        inner = [one for one in typing.get_args(hint) if one is not type(None)]
        if len(inner) > 1:  # a number or a text
            return _same
        read = _reader(inner[0])
        return lambda value: None if value is None else read(value)
    if typing.get_origin(hint) is tuple:
        read = _reader(typing.get_args(hint)[0])
        return lambda values: tuple(map(read, values))
    if dataclasses.is_dataclass(hint):
        return functools.partial(row_of, typing.cast("type[Any]", hint))
    if hint in (int, str):
        # A damaged trace gives null.
        return lambda value: hint() if value is None else value
    return _same


def _same(value: Any) -> Any:
    return value

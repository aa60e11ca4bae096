"""Reads a file of limits (TOML). A wrong key or size is named with its line and a near word."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from peakline.base.engine import CommandError
from peakline.base.output import did_you_mean
from peakline.base.sizes import bytes_of
from peakline.differences.limits.limit import (
    CODE,
    DEVICE,
    LEVELS,
    LINE,
    MAX,
    RESERVED,
    TABLES,
    Limit,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DEVICES = re.compile(r"[0-9]+|all|pinned|cpu")


def read_limits(path: str) -> list[Limit]:
    """Return the limits of a file, in its order.

    Raises:
        CommandError: the file cannot be read, or has a wrong key or size.
    """
    try:
        text = Path(path).read_text()
        document = tomllib.loads(text)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # no TOML, or no UTF-8
        raise CommandError(f"{path}: {error}") from error
    limits = [*_Reader(path, text).limits_of(document)]
    if not limits:
        raise CommandError(f"{path}: there is no limit in this file: {_listed()}")
    return limits


def _listed() -> str:
    tables = ", ".join(f"[{name}]" for name in TABLES)
    return f"{', '.join(LEVELS)}, {tables} and [{DEVICE}.N] with the same keys"


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text

    def limits_of(
        self, table: Mapping[str, Any], device: str | None = None, *above: str
    ) -> Iterator[Limit]:
        """Yield the limits of the whole file, or of one of its devices."""
        for key, value in table.items():
            keys = (*above, key)
            if key in LEVELS:
                yield self._limit(keys, key, "", value, device)
            elif key in TABLES:
                for name, one in self._table(keys, value).items():
                    yield self._limit((*keys, name), key, name, one, device)
            elif key == DEVICE and device is None:
                for number, limits in self._table(keys, value).items():
                    self._check_device((*keys, number), number)
                    of_device = self._table((*keys, number), limits)
                    yield from self.limits_of(of_device, number, *keys, number)
            else:
                near = did_you_mean(key, [*LEVELS, *TABLES, DEVICE])
                raise self._error(keys, f"'{key}' is no limit{near or f'; there are: {_listed()}'}")

    def _limit(
        self, keys: tuple[str, ...], kind: str, name: str, value: object, device: str | None
    ) -> Limit:
        code = ""
        if isinstance(value, dict) and name:
            known = (MAX, CODE) if kind == LINE else (MAX,)
            for key in value.keys() - set(known):
                near = did_you_mean(key, known)
                raise self._error((*keys, key), f"'{key}' is no key of a limit of one {kind}{near}")
            code = str(value.get(CODE, ""))
            value = value.get(MAX)
        measure = RESERVED if kind == RESERVED else "allocated"
        source = f"{self._path}:{self._line_of(keys)}"
        return Limit(kind, name, self._size(keys, value), device, measure, code, source)

    def _size(self, keys: tuple[str, ...], value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if not isinstance(value, str):
            raise self._error(keys, f"'{keys[-1]}' needs a size, such as '70GB'")
        try:
            return bytes_of(value)
        except ValueError as error:
            raise self._error(keys, f"{keys[-1]}: {error}{_near_size(value)}") from None

    def _table(self, keys: tuple[str, ...], value: object) -> Mapping[str, Any]:
        if isinstance(value, dict):
            return value
        raise self._error(keys, f"{keys[-1]} is a table: [{'.'.join(keys)}], with its limits below")

    def _check_device(self, keys: tuple[str, ...], name: str) -> None:
        if not _DEVICES.fullmatch(name):
            raise self._error(keys, f"'{name}' is no device: [{DEVICE}.0], as --device takes it")

    def _error(self, keys: tuple[str, ...], sentence: str) -> CommandError:
        return CommandError(f"{self._path}:{self._line_of(keys)}: {sentence}")

    def _line_of(self, keys: tuple[str, ...]) -> int:
        """Return the number of the line that sets a key; tomllib does not have it."""
        table: tuple[str, ...] = ()
        best, found = 0, 1
        for number, line in enumerate(self._text.splitlines(), 1):
            own = _keys_of(line)
            if line.lstrip().startswith("["):
                table = own
            whole = own if line.lstrip().startswith("[") else (*table, *own)
            common = _common(whole, keys)
            if own and common > best and common in (len(whole), len(keys)):
                best, found = common, number
        return found


def _near_size(text: str) -> str:
    """Return "; did you mean 70GB?" for a number with a wrong unit, or ''."""
    found = re.match(r"([0-9]+(?:\.[0-9]+)?) *([KMGT])", text.strip(), re.IGNORECASE)
    return f"; did you mean {found[1]}{found[2].upper()}B?" if found else ""


def _keys_of(line: str) -> tuple[str, ...]:
    """Return the path of keys that one line of TOML sets or opens."""
    try:
        value: Any = tomllib.loads(line)
    except ValueError:  # part of a value of several lines
        return ()
    keys = []
    while isinstance(value, dict) and len(value) == 1:
        [(key, value)] = value.items()
        keys.append(key)
    return tuple(keys)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))

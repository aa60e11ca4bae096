"""The markers: what a test may need, and what it may leave behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

from peakline.base.sizes import bytes_of
from peakline.pytest_plugin.notes import LEAKS, MEMORY
from peakline.pytest_plugin.stacks import Stack

_ALL = "all"


class MarkerError(Exception):
    """A marker that says nothing we understand; the text says what it takes."""


@dataclass(frozen=True)
class MemoryLimit:
    """What may be in use. `device`: a number, "all" for the sum, None for each by itself."""

    bytes: int
    device: int | str | None = None


@dataclass(frozen=True)
class LeakLimit:
    """What may be left; `filter_fn` says of a stack whether it counts."""

    bytes: int
    device: int | str | None = None
    filter_fn: Callable[[Stack], bool] | None = None


@dataclass(frozen=True)
class Limits:
    """All limits of a test."""

    memory: tuple[MemoryLimit, ...] = ()
    leaks: tuple[LeakLimit, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.memory or self.leaks)


Limit = TypeVar("Limit", MemoryLimit, LeakLimit)


def limits_of(item: pytest.Item) -> Limits:
    """Return the limits of a test: of each device the closest of its own, its class, its module.

    Raises:
        MarkerError: a marker has no size, or what is none.
    """
    return Limits(_closest(item, MEMORY, _memory_limit), _closest(item, LEAKS, _leak_limit))


def _closest(item: pytest.Item, name: str, make: Callable[..., Limit]) -> tuple[Limit, ...]:
    found: dict[int | str | None, Limit] = {}
    for marker in item.iter_markers(name):
        try:
            limit = make(*marker.args, **marker.kwargs)
        except (TypeError, ValueError) as error:
            raise MarkerError(f"{item.nodeid}: {_takes(name)}: {_reason(error, name)}") from None
        found.setdefault(limit.device, limit)
    return tuple(found.values())


def _memory_limit(size: str, *, device: object = None) -> MemoryLimit:
    return MemoryLimit(bytes_of(str(size)), _device(device))


def _leak_limit(
    size: str, *, device: object = None, filter_fn: Callable[[Stack], bool] | None = None
) -> LeakLimit:
    if filter_fn is not None and not callable(filter_fn):
        raise ValueError(f"filter_fn={filter_fn!r} cannot be called")
    return LeakLimit(bytes_of(str(size)), _device(device), filter_fn)


def _device(given: object) -> int | str | None:
    """Take 1, "cuda:1", torch.device("cuda", 1) or "all"."""
    text = str(given).removeprefix("cuda:")
    if given is None or text == _ALL:
        return None if given is None else _ALL
    if not text.isdecimal():
        raise ValueError(f"device={given!r} is no GPU: 0, 'cuda:1' or 'all'")
    return int(text)


def _takes(name: str) -> str:
    options = "device=" if name == MEMORY else "device= and filter_fn="
    return f'@pytest.mark.{name} takes a size, "24 GB", and {options}'


def _reason(error: Exception, name: str) -> str:
    """Return what is wrong, without the names of the functions here."""
    text = str(error)
    for function in (_memory_limit, _leak_limit):
        text = text.replace(f"{function.__name__}()", name)
    return text

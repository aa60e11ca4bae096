"""The markers: the memory that a test may need, and the memory that it may leave behind."""

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
    """A marker has wrong arguments; the text lists the valid ones."""


@dataclass(frozen=True)
class MemoryLimit:
    """The memory that may be in use. `device`: a number, "all" for the sum, None for each one."""

    bytes: int
    device: int | str | None = None


@dataclass(frozen=True)
class LeakLimit:
    """The memory that may be left; `filter_fn` returns whether a stack counts."""

    bytes: int
    device: int | str | None = None
    filter_fn: Callable[[Stack], bool] | None = None


@dataclass(frozen=True)
class Limits:
    """All limits of a test."""

    memory: tuple[MemoryLimit, ...] = ()
    leaks: tuple[LeakLimit, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is a limit."""
        return bool(self.memory or self.leaks)


Limit = TypeVar("Limit", MemoryLimit, LeakLimit)


def limits_of(item: pytest.Item) -> Limits:
    """Return the limits of a test: for each device the closest of its own, its class, its module.

    Raises:
        MarkerError: a marker has no size or a wrong argument.
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
    """Return the device of 1, "cuda:1", torch.device("cuda", 1) or "all"."""
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
    """Return the text of an error with the marker's name instead of our function names."""
    text = str(error)
    for function in (_memory_limit, _leak_limit):
        text = text.replace(f"{function.__name__}()", name)
    return text

"""Puts a callback before the loggers in its trainer's list.

A trainer calls its callbacks in order, and figures that ours adds reach those behind it only. The
list belongs to the caller of the hook, which trainers do not pass to it.
"""

from __future__ import annotations

import sys
from typing import Any

_CALLERS = 7  # frames to look at


def owner_of(item: object, name: str) -> Any:
    """Return the `self` of a calling function whose list `name` has the item, else None."""
    for depth in range(1, _CALLERS):
        try:
            frame = sys._getframe(depth)
        except ValueError:
            return None
        owner = frame.f_locals.get("self")
        listed = vars(owner).get(name) if hasattr(owner, "__dict__") else None
        if isinstance(listed, list) and any(one is item for one in listed):
            return owner
    return None


def put_first_in(item: object, name: str) -> None:
    """Move an item to the front of that list, also while a caller goes through the list."""
    owner = owner_of(item, name)
    if owner is not None:
        listed = getattr(owner, name)
        at = next(i for i, one in enumerate(listed) if one is item)
        listed.insert(0, listed.pop(at))

"""Under what an allocation of a snapshot was made: its stack, and the tag that the program set.

Equal ones are one object, so that who writes them does so once. A list of frames is read once, by
its identity: torch's pickles have one list for each stack, however many actions name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peakline.imports.fields import Fields
from peakline.imports.frames import Stack, read_stack

_WHAT = "an action or block of the snapshot"
_NOT_COMPILED = ("", "N/A")


class Made:
    """A stack and a tag; compared by identity."""

    __slots__ = ("stack", "tag")

    def __init__(self, stack: Stack, tag: str) -> None:
        """Hold both."""
        self.stack = stack
        self.tag = tag


NOWHERE = Made((), "")


class Makers:
    """Stacks and tags that were read so far."""

    def __init__(self) -> None:
        """Hold none yet."""
        self._lists: dict[tuple[int, Any, Any], Made] = {}  # by the identity of the frames' list
        self._stacks: dict[int, Stack] = {}  # by the same
        self._same: dict[tuple[Stack, str], Made] = {((), ""): NOWHERE}

    def of(self, one: Mapping[str, Any]) -> Made:
        """Return what an action or block says of its making.

        Raises:
            UnreadableError: a field is wrong.
        """
        get = one.get
        key = (id(get("frames")), get("user_metadata"), get("compile_context"))
        try:
            # Lists live as long as the file's values do: an identity is not used again.
            found = self._lists.get(key)
        except TypeError:
            found = None  # no text: the checks below say so
        if found is not None:
            return found
        fields = Fields(one, _WHAT)
        tag = _tag_of(fields)
        stack = self._stack_of(fields)
        made = self._same.setdefault((stack, tag), Made(stack, tag))
        if stack:
            self._lists[key] = made
        return made

    def _stack_of(self, one: Fields) -> Stack:
        frames = one.list_of("frames")
        if not frames:
            return ()
        found = self._stacks.get(id(frames))
        if found is None:
            found = self._stacks[id(frames)] = read_stack(frames)
        return found


def _tag_of(one: Fields) -> str:
    """Return what the program said of the block, and which compiled graph ran."""
    metadata, compiled = (
        one.text(key) if one.values.get(key) is not None else ""
        for key in ("user_metadata", "compile_context")
    )
    if compiled in _NOT_COMPILED:
        return metadata
    return f"{metadata} (compiled {compiled})".lstrip()

"""The origin of an allocation in a snapshot: its stack, and the tag that the program set.

Equal origins are one object, so a writer writes them once. A list of frames is read once, by its
id(): torch's pickles have one list for each stack, however many actions refer to it.
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
    """The stacks and tags read so far."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lists: dict[tuple[int, Any, Any], Made] = {}  # by the id() of the list of frames
        self._stacks: dict[int, Stack] = {}  # by the same
        self._same: dict[tuple[Stack, str], Made] = {((), ""): NOWHERE}

    def of(self, one: Mapping[str, Any]) -> Made:
        """Return the origin of an action or block.

        Raises:
            UnreadableError: a field is wrong.
        """
        get = one.get
        key = (id(get("frames")), get("user_metadata"), get("compile_context"))
        try:
            # Lists live as long as the values of the file, so an id() is never reused.
            found = self._lists.get(key)
        except TypeError:
            found = None  # not a text: the checks below report it
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
    """Return the program's text about the block, and the compiled graph that ran."""
    metadata, compiled = (
        one.text(key) if one.values.get(key) is not None else ""
        for key in ("user_metadata", "compile_context")
    )
    if compiled in _NOT_COMPILED:
        return metadata
    return f"{metadata} (compiled {compiled})".lstrip()

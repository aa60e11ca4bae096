"""A line of code on a terminal: `models/gpt2.py:42 forward via aten::addmm`.

If columns are few, the folders of its path are dropped first, from the middle, then the called
operator. The file, the line and the function are kept longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from peakline.text.terminal import Marks, cells, cut_end, cut_middle

# With less room, the called operator is left out.
_LEAST_ROOM_OF_VIA = 12
_LEAST_ROOM_OF_FUNCTION = 8
_LEAST_ROOM_OF_CODE = 12
_GAP = 2


@dataclass(frozen=True)
class CodeLine:
    """A line of a Python file and the operator called there; without a path, only a function."""

    before: str = ""
    path: str = ""
    number: int = 0
    function: str = ""
    via: str = ""
    more_via: int = 0
    caller: str = ""  # the line of the program that led to a library's line
    more_callers: int = 0
    code: str = ""  # what is written there
    is_changed: bool = False  # unknown, because the file was changed since the program began

    @property
    def folders(self) -> str:
        """The path up to its file, with the last slash."""
        return self.path[: self.path.rfind("/") + 1]

    @property
    def place(self) -> str:
        """The file and the line."""
        name = self.path[self.path.rfind("/") + 1 :]
        return f"{name}:{self.number}" if self.number else name

    @property
    def columns(self) -> int:
        """Its columns without shortening."""
        return _Pieces(
            self.before, self.folders, self.place, self.function, _via(self), _more(self)
        ).columns


def line_of_cell(cell: str | CodeLine | Mapping[str, Any]) -> CodeLine:
    """Return the line of a cell: a text of the engine, or an object with the parts of a line."""
    if isinstance(cell, CodeLine):
        return cell
    if isinstance(cell, str):
        return CodeLine(function=cell)
    called = {name: cell[name] for name in ("via", "more_via", "caller", "more_callers")}
    line = cell["line"]
    return CodeLine(**line, **called) if line else CodeLine(function=cell["text"], **called)


def text_of_cell(cell: str | Mapping[str, Any]) -> str:
    """Return the whole cell as text: `model.py:42 (forward)  via aten::addmm`."""
    if isinstance(cell, str):
        return cell
    line = CodeLine(function=cell["text"], via=cell["via"], more_via=cell["more_via"])
    return line.function + _via(line) + _more(line)


def fitted(line: CodeLine, room: int, marks: Marks) -> list[tuple[str, str]]:
    """Return the line in at most `room` columns: pieces of text, each with its style."""
    for folders, more in _shorter_ways(line, marks.gap):
        found = _Pieces(line.before, folders, line.place, line.function, _via(line), more)
        if found.columns <= room:
            return found.styled(marks)
    return _squeezed(line, room, marks.gap).styled(marks)


def code_of(line: CodeLine, room: int, marks: Marks) -> list[tuple[str, str]]:
    """Return what is written at a line, and who led to it, in at most `room` columns.

    Empty where nothing is known, or there is no room.
    """
    code = "(the file was changed after the program began)" if line.is_changed else line.code
    more = f", +{line.more_callers} more" if line.more_callers else ""
    caller = f"called from {line.caller}{more}" if line.caller else ""
    left = room - cells(caller) - _GAP * bool(caller)
    if left < min(cells(code), _LEAST_ROOM_OF_CODE):
        left, caller = room, ""
    shown = cut_end(marks.shown(code), left, marks.gap) if left >= _LEAST_ROOM_OF_CODE else ""
    gap = " " * _GAP * bool(shown and caller)
    pieces = [(shown, "dim"), (gap, ""), (marks.shown(caller), "dim")]
    return [piece for piece in pieces if piece[0]]


@dataclass(frozen=True)
class _Pieces:
    before: str
    folders: str
    place: str
    function: str
    via: str
    more: str

    @property
    def columns(self) -> int:
        pieces = (self.before, self.folders, self.place, self.function, self.via, self.more)
        return sum(map(cells, pieces)) + self._has_space

    @property
    def _has_space(self) -> bool:
        return bool(self.place and self.function)

    def styled(self, marks: Marks) -> list[tuple[str, str]]:
        pieces = [
            (marks.shown(self.before), ""),
            (marks.shown(self.folders), "dim"),
            (marks.shown(self.place), "bold"),
            (" " * self._has_space + marks.shown(self.function), ""),
        ]
        if self.via:
            pieces.append(("  via ", "dim"))
            pieces.append((marks.shown(self.via.removeprefix("  via ")), "magenta"))
            pieces.append((self.more, "dim"))
        return [piece for piece in pieces if piece[0]]


def _via(line: CodeLine) -> str:
    return f"  via {line.via}" if line.via else ""


def _more(line: CodeLine) -> str:
    return f", +{line.more_via} more" if line.via and line.more_via else ""


def _shorter_ways(line: CodeLine, gap: str) -> Iterator[tuple[str, str]]:
    """Yield folders and ", +2 more" in shorter versions, the longest first."""
    more = _more(line)
    ways = list(_shorter_folders(line.folders, gap))
    yield from ((folders, more) for folders in ways[:-1] or ways)
    yield from ((folders, "") for folders in ways)


def _shorter_folders(folders: str, gap: str) -> Iterator[str]:
    """Yield `a/b/c/`, `a/.../c/`, `a/.../`, `.../` and nothing."""
    yield folders
    parts = folders.split("/")[:-1]
    for begin in range(2, len(parts) + 1):
        yield "/".join([parts[0], gap, *parts[begin:], ""])
    if folders:
        yield f"{gap}/"
        yield ""


def _squeezed(line: CodeLine, room: int, gap: str) -> _Pieces:
    """Return the file and the function, with as much of the rest as fits."""
    before, place, function = line.before, line.place, line.function
    if not place:
        called = _via(line)
        own = room - cells(called)
        if own < room // 2:
            called, own = "", room
        return _Pieces("", "", "", cut_middle(before + function, own, gap), called, "")
    left = room - cells(before) - cells(place) - 1
    if left < cells(function):
        before = cut_end(before, room // 4, gap)
        least = min(cells(function), max(_LEAST_ROOM_OF_FUNCTION, room // 3))
        place = cut_middle(place, max(room - cells(before) - 1 - least, room // 3), gap)
        function = cut_end(function, max(room - cells(before) - cells(place) - 1, 0), gap)
    left = room - cells(before) - cells(place) - 1 - cells(function)
    called = cut_end(_via(line), left, gap) if left >= _LEAST_ROOM_OF_VIA else ""
    return _Pieces(before, "", place, function, called, "")

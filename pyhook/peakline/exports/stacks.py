"""Stacks with the bytes that they hold at a moment: folded lines and pprof."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, BinaryIO

from peakline.base.output import printable
from peakline.exports.protobuf import data, number, numbers

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import Location, Recording, Report, TableRow


def write_folded(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write a line per stack: its frames, root first and separated by ;, then its bytes."""
    for row in _stacks(recording, asked):
        frames = [_folded(str(frame)) for frame in reversed(row.stack)] or [_folded(row.key)]
        out.write(f"{';'.join(frames)} {row.bytes}\n".encode(errors="replace"))


def _folded(text: str) -> str:
    """Return a frame without the characters that separate frames."""
    return printable(text).replace(";", ",")


def _stacks(recording: Recording, asked: Asked) -> Report[TableRow]:
    return recording.table(**asked.of_moment(by="stack", top=0))


def write_pprof(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write a gzipped Profile.

    Source of the format and of the field numbers:
    https://github.com/google/pprof/blob/main/proto/profile.proto
    """
    profile = _Pprof()
    body = bytearray()
    types = (("inuse_objects", "count"), ("inuse_space", "bytes"))
    for name, unit in types:
        body += data(1, number(1, profile.text(name)) + number(2, profile.text(unit)))
    for row in _stacks(recording, asked):
        locations = [profile.location(frame) for frame in row.stack or (row.key,)]
        body += data(2, numbers(1, locations) + numbers(2, [row.count, row.bytes]))
    start_ns = recording.info()["start_realtime_ns"]
    body += profile.locations + profile.functions
    body += number(9, start_ns) + number(14, profile.text("inuse_space"))
    texts = b"".join(data(6, text) for text in profile.texts)
    out.write(gzip.compress(bytes(body) + texts, mtime=0))


class _Pprof:
    """The tables of a profile: texts by offset, functions and locations by number from 1."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.locations = bytearray()
        self.functions = bytearray()
        self._text_ids: dict[str, int] = {}
        self._location_ids: dict[Location | str, int] = {}
        self.text("")

    def text(self, text: str) -> int:
        if text not in self._text_ids:
            self._text_ids[text] = len(self.texts)
            self.texts.append(text)
        return self._text_ids[text]

    def location(self, frame: Location | str) -> int:
        """Return the number of a frame; each has a function of its own."""
        if frame not in self._location_ids:
            self._location_ids[frame] = len(self._location_ids) + 1
            self._write(self._location_ids[frame], frame)
        return self._location_ids[frame]

    def _write(self, own: int, frame: Location | str) -> None:
        if isinstance(frame, str):
            name, file, line = frame, "", 0
        else:
            name, file, line = frame.qualified_name or frame.function, frame.file, frame.line
        texts = number(2, self.text(name)) + number(3, self.text(name)) + number(4, self.text(file))
        self.functions += data(5, number(1, own) + texts)
        self.locations += data(4, number(1, own) + data(4, number(1, own) + number(2, line)))

"""heaptrack's data file, as heaptrack_interpret writes it: for its viewer and heaptrack_print.

Source of the format: src/analyze/accumulatedtracedata.cpp of heaptrack 1.4. Lines consist of words
in hexadecimal; definitions are numbered from 1 in order: `s` is a text with its length, `i` an
instruction with module, function, file and line, `t` a stack: an instruction and the stack that
called it, `a` a size and its stack. `+` and `-` allocate and free a block of the `a` with this
number, from 0; `c` is the time in milliseconds.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, BinaryIO

from peakline.base.output import printable

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import EventBatch, Events, Location, Recording

_VERSION = "v 10400 3\n"
_PAGE_BYTES = 4096


def write(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write every block of the requested part."""
    info = recording.info()
    command = printable(info["meta"].get("argv", recording.path.name))
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed:
        packed.write(f"{_VERSION}X {command}\nI {_PAGE_BYTES:x} 0\n".encode(errors="replace"))
        events = recording.events(**asked.of_part())
        writer = _Writer(events)
        for batch in events.batches():
            packed.write(writer.lines(batch))


class _Writer:
    def __init__(self, events: Events) -> None:
        self._events = events
        self._lines: list[bytes] = []
        self._texts: dict[str, int] = {"": 0}
        self._instructions: dict[Location, int] = {}
        self._traces: dict[int, int] = {0: 0}  # by node
        self._infos: dict[tuple[int, int], int] = {}
        self._live: dict[int, int] = {}
        self._milliseconds = -1

    def lines(self, batch: EventBatch) -> bytes:
        """Return the lines of these events, after the definitions that they refer to."""
        self._lines = []
        for event in batch:
            if event.kind == "alloc" and event.block is not None:
                self._at(event.seconds)
                info = self._info(event.bytes or 0, event.stack_id or 0)
                self._live[event.block] = info
                self._put(f"+ {info:x}")
            elif event.kind in ("free", "free_completed") and event.block in self._live:
                self._at(event.seconds)
                self._put(f"- {self._live.pop(event.block):x}")
        return b"".join(self._lines)

    def _put(self, line: str) -> None:
        self._lines.append(line.encode(errors="replace") + b"\n")

    def _at(self, seconds: float) -> None:
        milliseconds = int(seconds * 1000)
        if milliseconds != self._milliseconds:
            self._milliseconds = milliseconds
            self._put(f"c {milliseconds:x}")

    def _info(self, size: int, node: int) -> int:
        trace = self._trace(node)
        key = (size, trace)
        if key not in self._infos:
            self._infos[key] = len(self._infos)
            self._put(f"a {size:x} {trace:x}")
        return self._infos[key]

    def _trace(self, node: int) -> int:
        """Return the number of a stack; writes the stacks of its callers first."""
        missing = []
        at = node
        while at not in self._traces:
            missing.append(at)
            at = self._events.names.nodes[at][0]
        for one in reversed(missing):
            parent, frame = self._events.names.nodes[one]
            instruction = self._instruction(self._events.names.frame(frame))
            self._traces[one] = len(self._traces)
            self._put(f"t {instruction:x} {self._traces[parent]:x}")
        return self._traces[node]

    def _instruction(self, frame: Location) -> int:
        if frame not in self._instructions:
            module = self._text(frame.file if frame.native else "python")
            function = self._text(frame.function or frame.file)
            file = self._text("" if frame.native else frame.file)
            self._instructions[frame] = number = len(self._instructions) + 1
            # The trace has no addresses, so each frame gets its own.
            self._put(f"i {number:x} {module:x} {function:x} {file:x} {frame.line:x}")
        return self._instructions[frame]

    def _text(self, text: str) -> int:
        text = printable(text)
        if text not in self._texts:
            self._texts[text] = len(self._texts)
            size = len(text.encode(errors="replace"))
            self._put(f"s {size:x} {text}")
        return self._texts[text]

"""Tells which kernels fill the buffers of the code that torch.compile generated.

The recorder knows such a buffer by file and line; the file lies in a cache that may be gone when
the trace is read. What is reported is a fact about the run: "inductor:FILE:LINE" is the kernel.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

# Longer files are not read: their buffers keep the names of their lines.
_MAX_FILE_BYTES = 4 << 20
_MAX_LINES = 20_000

_BUFFER = re.compile(r"\s*(\w+) = empty_strided(?:_cuda|_p2p)?\(")
_OTHER_NAME = re.compile(r"\s*(\w+) = (?:reinterpret_tensor\()?(\w+)[,;]")
_CALL = re.compile(r"\s*(?:\w+ = )?([\w.]+)\(")
# What only looks at a buffer or takes it apart.
_NO_KERNELS = re.compile(r"assert_|del$|reinterpret_tensor$|.*_if_misaligned$|get_raw_stream$")


def kernels_of(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Line numbers of buffers, each with the first kernel that is given the buffer."""
    waiting: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        made = _BUFFER.match(line)
        if made is not None:
            waiting[made[1]] = number
            continue
        other = _OTHER_NAME.match(line)
        if other is not None and other[2] in waiting:
            waiting[other[1]] = waiting.pop(other[2])
            continue
        call = _CALL.match(line)
        if call is None or _NO_KERNELS.match(call[1]) or not waiting:
            continue
        for word in set(re.findall(r"\w+", line)) & waiting.keys():
            yield waiting.pop(word), call[1].removesuffix(".run")


class GeneratedCode:
    """The files that were reported."""

    def __init__(self, recorder: ModuleType) -> None:
        """Begin with none."""
        self._recorder = recorder
        self._told: set[str] = set()
        self._trace = ""
        self._line_count = 0

    def report_kernels(self) -> None:
        """Look at what inductor has loaded since the last time."""
        trace = self._recorder.trace_path()
        if trace != self._trace:
            self._told.clear()
            self._trace, self._line_count = trace, 0
        codecache = sys.modules.get("torch._inductor.codecache")
        for module in list(codecache.PyCodeCache.modules) if codecache is not None else ():
            file = getattr(module, "__file__", None)
            if file and file not in self._told and self._line_count < _MAX_LINES:
                self._told.add(file)
                self._report_file(file)

    def _report_file(self, file: str) -> None:
        # Empty where the file is gone: a cache may be emptied at any time.
        lines = (
            self._recorder.read_file(file, _MAX_FILE_BYTES).decode(errors="replace").splitlines()
        )
        for number, kernel in kernels_of(lines):
            self._recorder.put_meta(f"inductor:{file}:{number}", kernel)
            self._line_count += 1

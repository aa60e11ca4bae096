"""Reads a file of code that inductor generated: its buffers, and the nodes they come from.

Only comments and calls are read, which all recent versions of torch write alike; what a file lacks
is left unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_COMMENT = re.compile(
    r"\s*# (?:Topologically Sorted|Unsorted) Source Nodes: \[(.*?)\], Original ATen: \[(.*)\]"
)
_BUFFER = re.compile(r"\s*(\w+) = empty_strided(?:_cuda|_p2p)?\((\(.*?\)), (\(.*?\)), torch\.(\w+)")
_REUSE = re.compile(r"\s*(\w+) = (?:reinterpret_tensor\()?(\w+)(?:, (\(.*?\)),)?.*# reuse")
_RUN = re.compile(r"\s*(\w+)\.run\((.*)\)")
# A call of an operator, which allocates its results.
_CALL = re.compile(r"\s+(?:(\w+) = )?((?:torch\.ops|aten|extern_kernels|\w+_fallback)[\w.]*)\(")
# Inputs of a graph: primals count from 1 if there is a backward graph, else args from 0.
_INPUT = re.compile(r"\b(?:primals_(\d+)|arg(\d+)_1)\b")
_KERNEL = re.compile(r"(\w+) = async_compile\.\w+\(")
_MAPPING = re.compile(r"#   (\w+) => (.*)")
_TYPED = re.compile(r'#   %(\w+) : .*?"(\w+)\[(.*?)\]')
_CALLED = re.compile(r"#   %(\w+) : .* = call_function\[.*?\]\(args = (.*)")
_RETURN = re.compile(r"#   return (%.*)")
# Abbreviations in comments, as torch's dtype_abbrs has them.
_DTYPES = {
    "bfloat16": "bf16",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "bool": "b8",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
}


class Fragment:
    """The comment above a kernel: the part of the graph that it computes."""

    def __init__(self) -> None:
        """Begin empty."""
        self.sources: list[str] = []  # names in the program's graph, in order
        self.source_of: dict[str, str] = {}  # by the name of the fused operator
        self.types: dict[str, str] = {}
        self.calls: dict[str, str] = {}  # arguments by name, in order
        self.written: list[str] = []

    def sinks(self) -> list[str]:
        """Return the operators with results that no other one of the kernel reads."""
        read = {
            word for arguments in self.calls.values() for word in re.findall(r"%(\w+)", arguments)
        }
        return [name for name in self.calls if name not in read]


class Buffer(NamedTuple):
    """A line that allocates."""

    line: int
    name: str  # of the variable
    type: str  # as comments spell it; empty for results of operators
    is_reused: bool


class Launch(NamedTuple):
    """A kernel or operator that fills buffers, with the comment of this call."""

    kernel: str
    sources: list[str]
    operators: list[str]
    fragment: Fragment | None
    buffers: list[Buffer]
    inputs: list[int]  # numbers of the inputs of the whole graph that it reads


def _spelled(shape: str, dtype: str) -> str:
    sizes = [part.strip() for part in shape.strip("()").split(",") if part.strip()]
    return f"{_DTYPES.get(dtype, dtype)}[{', '.join(sizes)}]"


def _words(text: str) -> list[str]:
    return [word for word in text.split(", ") if word]


class GeneratedFile:
    """The launches of a file, in its order."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Read the file."""
        self.launches: list[Launch] = []
        self._fragments: dict[str, Fragment] = {}
        self._fragment = Fragment()
        self._waiting: list[Buffer] = []
        self._types: dict[str, tuple[str, str]] = {}  # shape and dtype by variable
        self._comment: tuple[list[str], list[str]] = ([], [])
        for number, line in enumerate(lines, 1):
            if line.startswith("#"):
                self._read_fragment(line)
            elif line.startswith((" ", "\t")):
                self._read_code(number, line)
            else:
                kernel = _KERNEL.match(line)
                if kernel is not None:
                    self._fragments.setdefault(kernel[1], self._fragment)
                if line.startswith("def "):
                    self._waiting.clear()

    def kernels(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that make buffers, each with the first kernel that receives the buffer.

        The recorder knows such a buffer by file and line, but the file is in a cache that may be
        gone when the trace is read.
        """
        for launch in self.launches:
            for buffer in launch.buffers:
                if buffer.type and not buffer.is_reused:
                    yield buffer.line, launch.kernel

    def _read_fragment(self, line: str) -> None:
        comment = _COMMENT.match(line)
        if comment is not None:
            self._fragment = Fragment()
            self._fragment.sources = _words(comment[1])
            return
        fragment = self._fragment
        if mapping := _MAPPING.match(line):
            fragment.source_of.update(dict.fromkeys(_words(mapping[2]), mapping[1]))
        if typed := _TYPED.match(line):
            fragment.types.setdefault(typed[1], f"{typed[2]}[{typed[3]}]")
        if called := _CALLED.match(line):
            fragment.calls[called[1]] = called[2]
        if returned := _RETURN.match(line):
            fragment.written = re.findall(r"%(\w+)", returned[1])

    def _read_code(self, number: int, line: str) -> None:
        if made := _BUFFER.match(line):
            self._wait(number, made[1], (made[2], made[4]), is_reused=False)
        elif reused := _REUSE.match(line):
            self._rename(number, reused[1], reused[2], reused[3])
        elif comment := _COMMENT.match(line):
            self._comment = (_words(comment[1]), _words(comment[2]))
        elif run := _RUN.match(line):
            self._launch(run[1], self._fragments.get(run[1]), self._taken(run[2]), line)
        elif call := _CALL.match(line):
            buffers = [*self._taken(line), Buffer(number, call[1] or "", "", False)]
            self._launch(call[2], None, buffers, line)

    def _wait(self, line: int, name: str, kind: tuple[str, str], *, is_reused: bool) -> None:
        self._types[name] = kind
        self._waiting.append(Buffer(line, name, _spelled(*kind) if kind[1] else "", is_reused))

    def _rename(self, line: int, name: str, before: str, shape: str | None) -> None:
        """Take another name for a buffer: of one that a kernel filled, or that still waits."""
        old_shape, dtype = self._types.get(before, ("", ""))
        for i, buffer in enumerate(self._waiting):
            if buffer.name == before:
                self._waiting[i] = buffer._replace(name=name)
                return
        self._wait(line, name, (shape or old_shape, dtype), is_reused=True)

    def _taken(self, arguments: str) -> list[Buffer]:
        """Return the waiting buffers that a call receives; they wait no longer."""
        words = set(re.findall(r"\w+", arguments))
        taken = [buffer for buffer in self._waiting if buffer.name in words]
        self._waiting = [buffer for buffer in self._waiting if buffer.name not in words]
        return taken

    def _launch(
        self, kernel: str, fragment: Fragment | None, buffers: list[Buffer], line: str
    ) -> None:
        if any(not buffer.is_reused for buffer in buffers):
            inputs = [
                int(found[1]) - 1 if found[1] else int(found[2]) for found in _INPUT.finditer(line)
            ]
            self.launches.append(Launch(kernel, *self._comment, fragment, buffers, inputs))

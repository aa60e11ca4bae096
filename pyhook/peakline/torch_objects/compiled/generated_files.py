"""Reads a file of code that inductor generated: buffers, calls, and the nodes they come from.

Only comments and calls are read, which all recent versions of torch write alike; what a file lacks
is left unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

_COMMENT = re.compile(
    r"\s*# (?:Topologically Sorted|Unsorted) Source Nodes: \[(.*?)\], Original ATen: \[(.*)\]"
)
_BUFFER = re.compile(r"\s*(\w+) = empty_strided(?:_cuda|_p2p)?\((\(.*?\)), (\(.*?\)), torch\.(\w+)")
_REUSE = re.compile(r"\s*(\w+) = (?:reinterpret_tensor\()?(\w+)(?:, (\(.*?\)),)?.*# reuse")
_ALIAS = re.compile(r"\s*(\w+) = (?:reinterpret_tensor\()?(\w+)(?:\[\d+\]|[;,]|$)")
_RUN = re.compile(r"\s*(\w+)\.run\((.*)\)")
# A call of an operator, which allocates its results.
_CALL = re.compile(r"\s+(?:(\w+) = )?((?:torch\.ops|aten|extern_kernels|\w+_fallback)[\w.]*)\((.*)")
_ARGUMENTS = re.compile(r"\s+((?:\w+, )*\w+),? = args$")
_RESULTS = re.compile(r"\s+return \((.*)\)$")
# Inputs of a graph: primals count from 1 if there is a backward graph, else args from 0.
_INPUT = re.compile(r"primals_(\d+)|arg(\d+)_1")
_KERNEL = re.compile(r"(\w+) = async_compile\.\w+\(")
_MAPPING = re.compile(r"#   (\w+) => (.*)")
_TYPED = re.compile(r'#   %(\w+) : .*?"(\w+)\[(.*?)\]')
_CALLED = re.compile(
    r"#   %(\w+) : .*?(?:\[num_users=(\d+)\])? = call_function\[.*?\]\(args = (.*)"
)
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
        self.user_counts: dict[str, int] = {}
        self.written: list[str] = []

    @cached_property
    def _readers(self) -> Counter[str]:
        """Operators of the kernel that read each value."""
        found = (set(re.findall(r"%(\w+)", arguments)) for arguments in self.calls.values())
        return Counter(name for names in found for name in names)

    def sinks(self) -> list[str]:
        """Return the operators with results that no other one of the kernel reads."""
        return [name for name in self.calls if name not in self._readers]

    def is_only_inside(self, name: str) -> bool:
        """Whether all that read this result are operators of the kernel, so it need not be kept."""
        return 0 < self._readers[name] == self.user_counts.get(name)


class Buffer(NamedTuple):
    """A line that allocates."""

    line: int
    name: str  # of the variable
    type: str  # as comments spell it, of reused inputs the shape; empty for results of operators
    is_reused: bool
    is_in_place: bool = False  # the kernel can have stored another result there before
    is_in_parts: bool = False  # several launches fill it, as torch.cat does


class Launch(NamedTuple):
    """A kernel or operator, with the comment of this call."""

    line: int
    kernel: str
    sources: list[str]
    operators: list[str]
    fragment: Fragment | None
    buffers: list[Buffer]  # those that it fills first
    names: list[str]  # of the variables that it receives

    @property
    def made(self) -> list[Buffer]:
        """The buffers that it fills, but for memory that is used again."""
        return [buffer for buffer in self.buffers if not buffer.is_reused]

    @property
    def inputs(self) -> list[int]:
        """Numbers of the inputs of the whole graph that it reads."""
        return [number for name in self.names if (number := input_number(name)) is not None]


def input_number(name: str) -> int | None:
    """Return the number of an input of the whole graph, from 0. None: another variable."""
    found = _INPUT.fullmatch(name)
    if found is None:
        return None
    return int(found[1]) - 1 if found[1] else int(found[2])


def _spelled(shape: str, dtype: str) -> str:
    if not shape:
        return ""
    sizes = [part.strip() for part in shape.strip("()").split(",") if part.strip()]
    return f"{_DTYPES.get(dtype, dtype)}[{', '.join(sizes)}]"


def is_alike(first: str, second: str) -> bool:
    """Whether these can be one type: all of it can be unknown, or what stands before the shape."""
    if not first or not second or first == second:
        return True
    return "[" in (first[0], second[0]) and first.partition("[")[2] == second.partition("[")[2]


def _words(text: str) -> list[str]:
    return [word for word in text.split(", ") if word]


def _variables(text: str) -> list[str]:
    """Return the first variable of each item of a list."""
    items, depth, begin = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            items.append(text[begin:i])
            begin = i + 1
    items.append(text[begin:])
    words = [re.findall(r"\w+", item.replace("reinterpret_tensor", "")) for item in items]
    return [found[0] for found in words if found]


def _outside_kernels(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines but for the texts of kernels, which are most of a file."""
    is_inside = False
    for number, line in enumerate(lines, 1):
        if is_inside:
            is_inside = not line.startswith("'''")
        else:
            yield number, line
            is_inside = line.endswith("'''") and _KERNEL.match(line) is not None


class GeneratedFile:
    """The launches of a file, in its order."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Read the file."""
        self.launches: list[Launch] = []
        self.arguments: list[str] = []  # of the first function
        self.results: list[str] = []
        self.writer: dict[str, Launch] = {}  # the first launch with a variable
        self._fragments: dict[str, Fragment] = {}
        self._fragment = Fragment()
        self._waiting: dict[str, Buffer] = {}  # by variable
        self._views: dict[str, str] = {}  # of waiting buffers, by their own variables
        self._types: dict[str, tuple[str, str]] = {}  # shape and dtype by variable
        self._comment: tuple[list[str], list[str]] = ([], [])
        for number, line in _outside_kernels(lines):
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

    @property
    def is_backward(self) -> bool:
        """Whether it is a backward pass: gradients are among its arguments."""
        return any(name.startswith("tangents_") for name in self.arguments)

    def kernels(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that make buffers, each with the first kernel that receives the buffer.

        The recorder knows such a buffer by file and line, but the file is in a cache that may be
        gone when the trace is read.
        """
        for launch in self.launches:
            for buffer in launch.made:
                if buffer.type:
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
            fragment.calls[called[1]] = called[3]
            fragment.user_counts[called[1]] = int(called[2] or 0)
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
            self._launch(number, run[1], run[2], None)
        elif call := _CALL.match(line):
            result = Buffer(number, call[1] or "", "", is_reused=False)
            self._launch(number, call[2], call[3], result)
        elif alias := _ALIAS.match(line):
            self._share(alias[1], alias[2])
        elif not self.arguments and (arguments := _ARGUMENTS.match(line)):
            self.arguments = arguments[1].split(", ")
        elif self.arguments and not self.results and (results := _RESULTS.match(line)):
            self.results = _variables(results[1])

    def _wait(self, line: int, name: str, kind: tuple[str, str], *, is_reused: bool) -> None:
        self._types[name] = kind
        self._waiting[name] = Buffer(line, name, _spelled(*kind), is_reused, is_in_place=is_reused)
        self.writer.pop(name, None)

    def _rename(self, line: int, name: str, before: str, shape: str | None) -> None:
        """Take another name for a buffer: of one that a kernel filled, or that still waits."""
        if before in self._waiting:
            self._waiting[name] = self._waiting.pop(before)._replace(name=name, is_in_place=True)
        else:
            old_shape, dtype = self._types.get(before, ("", ""))
            self._wait(line, name, (shape or old_shape, dtype), is_reused=True)

    def _share(self, name: str, before: str) -> None:
        """Take another name for the same memory: a view, or one of several results."""
        if before in self.writer:
            self.writer[name] = self.writer[before]
        elif before in self._waiting:
            self._views[name] = before

    def _launch(self, line: int, kernel: str, arguments: str, result: Buffer | None) -> None:
        """Add a call; the waiting buffers that it receives wait no longer."""
        names = re.findall(r"\w+", arguments)
        filled = {self._waiting.pop(name) for name in names if name in self._waiting}
        buffers = [*sorted(filled), *([] if result is None else [result])]
        fragment = self._fragments.get(kernel) if result is None else None
        launch = Launch(line, kernel, *self._comment, fragment, buffers, names)
        self.launches.append(launch)
        made = [buffer.name for buffer in buffers if buffer.name]
        # A buffer that several launches fill by views waits on: no one of them makes all of it.
        parts = [name for name in names if name in self._views]
        for whole in {self._views[part] for part in parts} & self._waiting.keys():
            self._waiting[whole] = self._waiting[whole]._replace(is_in_parts=True)
        for name in (*made, *parts, *(self._views[part] for part in parts)):
            self.writer.setdefault(name, launch)

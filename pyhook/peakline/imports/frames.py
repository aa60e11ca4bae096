"""Chooses and reads the kept frames of a snapshot's stacks.

Python frames name the program. Only a stack without Python frames keeps C++ frames, except those of
torch's recorder, its unwinder and the interpreter: torch's own viewer omits them as well
(_frame_filter in torch/cuda/_memory_viz.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from peakline.imports.fields import U32, Fields, entries_of

# File, line and function of each frame, the innermost first.
Stack: TypeAlias = tuple[tuple[str, int, str], ...]

_NO_LINE = -1  # torch has no line for some frames
# Parts of names and of files: first those of torch's viewer, then frames below the operator.
_OMITTED_NAMES = (
    "unwind::unwind",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "_start",
    "__libc_start_main",
    "PyEval_",
    "PyObject_",
    "PyFunction_",
    "CUDACachingAllocator",
    "CUDAPluggableAllocator",
    "peakline::",
)
_OMITTED_FILES = (
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
    "libpeakline",
    "_recorder.abi3.so",
)
# The innermost frames of every block: they allocate the storage for another function. The name of a
# template begins with its return type.
_MAKES_STORAGE = (
    "at::detail::empty",
    "at::detail::_empty",
    "at::detail::make_",
    "at::empty",
    "at::native::empty",
    "at::_ops::empty",
    "at::meta::",
    "c10::StorageImpl",
    "c10::cuda",
)
_NO_NAME = ("", "??")
# A file that inductor generated. The next frame outward is the line that torch keeps for a kernel.
_GENERATED = re.compile(r"(.*/)?c[a-z2-7]{51}\.py")
# The lines of the program behind a frame of an FX graph, the outermost first. Present if the
# program set torch.fx.experimental._config.enrich_profiler_metadata.
_FX_TRACE = "fx_original_trace"
_FX_LINE = re.compile(r'File "(.+)", line (\d{1,9}), in (.+)')


def read_stack(frames: list[object]) -> Stack:
    """Return the kept frames.

    Raises:
        UnreadableError: the list is not one of torch's.
    """
    entries = entries_of(frames, "a frame of the snapshot")
    found = [frame for one in entries for frame in (_frame(one), *_lines_of(one))]
    python = [one for one in found if _is_python(one)]
    return tuple(python or _of_cpp(found))


def is_of_inductor(stack: Stack) -> bool:
    """Return whether code that inductor generated is on the stack."""
    return any(_GENERATED.fullmatch(file) for file, _, _ in stack)


def _lines_of(one: Fields) -> Iterator[tuple[str, int, str]]:
    """Yield the lines of the program behind a frame, the innermost first."""
    if _FX_TRACE in one.values:
        for file, line, name in reversed(_FX_LINE.findall(one.text(_FX_TRACE))):
            yield file, int(line), name


def _of_cpp(frames: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    named = [one for one in frames if not _is_omitted(one)]
    asked = 0
    while asked < len(named) - 1 and _makes_storage(named[asked][2]):
        asked += 1
    return named[asked:]


def _makes_storage(name: str) -> bool:
    return any(part in name for part in _MAKES_STORAGE)


def _is_omitted(frame: tuple[str, int, str]) -> bool:
    file, _, name = frame
    return (
        name in _NO_NAME
        or any(part in name for part in _OMITTED_NAMES)
        or any(part in file for part in _OMITTED_FILES)
    )


def _is_python(frame: tuple[str, int, str]) -> bool:
    """Return whether Python ran it, including code without a file: notebook cells and <stdin>."""
    file, _, name = frame
    return file.endswith(".py") or name == "<module>" or (file[:1] == "<" and "(" not in name)


def _frame(one: Fields) -> tuple[str, int, str]:
    line = one.values.get("line", 0)
    number = 0 if line == _NO_LINE else one.number("line", U32, 0)
    return one.text("filename", ""), number, one.text("name", "")

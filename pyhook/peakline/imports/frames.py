"""Chooses and reads the kept frames of a snapshot's stacks.

Python frames name the program. Only a stack without Python frames keeps C++ frames, except those of
torch's recorder, its unwinder and the interpreter: torch's own viewer omits them as well
(_frame_filter in torch/cuda/_memory_viz.py).
"""

from __future__ import annotations

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


def read_stack(frames: list[object]) -> Stack:
    """Return the kept frames.

    Raises:
        UnreadableError: the list is not one of torch's.
    """
    found = [_frame(one) for one in entries_of(frames, "a frame of the snapshot")]
    python = [one for one in found if _is_python(one)]
    return tuple(python or _of_cpp(found))


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

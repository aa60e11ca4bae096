"""Notes reads of values that do not exist, for a simulated run that is not recorded.

The companion reports each read (preload/simulate/gpu/driver/companion.h). After the program,
`peakline run --no-record` lists them from the file named by PEAKLINE_SIM_READS. The file
gets one line per read, at most _MOST_NOTED per program line, so a killed program leaves its
list as well. A program that waits for a value ends as in a recorded run: SystemExit(3) in the main
thread.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from typing import Any

import _peakline_words

_DEFAULT_MOST_READS = 10_000
_MOST_NOTED = 1000
_WAITED_STATUS = 3
_STILL_READING = 100  # reads in a tenth of a second: the program did not end
_LIBRARIES = ("/site-packages/", "/dist-packages/", "/lib/python", "<")
# Kinds of values, as numbered in preload/simulate/gpu/driver/companion.h.
_SIZE, _FLOATING_POINT = 1, 2
_READERS = ("aten::item", "aten::_local_scalar_dense")
# C calls this, so it must live as long as the process.
_listener: Any = None


class _WaitedForValueError(SystemExit):
    """Raised in the main thread by its class, so without an argument."""

    def __init__(self) -> None:
        super().__init__(_WAITED_STATUS)


class _Notes:
    def __init__(self, path: str, most_reads: int) -> None:
        self._path = path
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        self._most_reads = most_reads
        self._counts: Counter[tuple[str, str]] = Counter()
        self._is_reported = False
        self._read_count = 0

    def note(self, operators: bytes, _bytes: int, kind: int) -> None:
        """Called by the companion on the reading thread."""
        try:
            self._note(operators.decode(errors="replace").split(">"), kind)
        except _WaitedForValueError:
            # Meant for the program, but raised here: it will be raised again.
            return

    def _note(self, operators: list[str], kind: int) -> None:
        location, is_printed = _location()
        is_size = kind == _SIZE
        operator = _named(operators, is_size)
        key = (location, operator)
        self._counts[key] += 1
        if self._counts[key] <= _MOST_NOTED:
            effect = _effect(operator, kind, is_printed)
            self._add(f"{location}\t{operator}\t{effect}\n".encode())
        self._read_count += 1
        if self._most_reads and self._counts[key] >= self._most_reads and not self._is_reported:
            self._is_reported = True
            self._end_waiting_program(location, self._counts[key])

    def _add(self, line: bytes) -> None:
        # A descriptor that stays open could be closed, and its number reused, by the program.
        with contextlib.suppress(OSError):
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                os.write(file, line)
            finally:
                os.close(file)

    def _end_waiting_program(self, location: str, count: int) -> None:
        import threading

        _peakline_words.say(
            f"{location} read a value {count} times that the simulated "
            "GPU never computes, and seems to wait for it. The program ends here with status "
            f"{_WAITED_STATUS}. Run it without --no-record to set the value with "
            "--assume, or allow more reads with --max-value-reads 0."
        )
        threading.Thread(target=self._insist, daemon=True).start()

    def _insist(self) -> None:
        """Raise in the main thread until the program stops reading."""
        import ctypes
        import threading
        import time

        thread = ctypes.c_ulong(threading.main_thread().ident or 0)
        what = ctypes.py_object(_WaitedForValueError)
        seen = -_STILL_READING
        while self._read_count - seen >= _STILL_READING:
            seen = self._read_count
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, what)
            time.sleep(0.1)


def _location() -> tuple[str, bool]:
    """The innermost line outside libraries, as `train.py:57 (step)`, and whether it prints."""
    frame = sys._getframe(2).f_back
    innermost, is_printed = "a line that is not known", False
    while frame is not None:
        file = frame.f_code.co_filename
        is_printed = is_printed or file.endswith("/torch/_tensor_str.py")
        name = f"{os.path.basename(file)}:{frame.f_lineno} ({frame.f_code.co_name})"  # noqa: PTH119
        if not any(part in file for part in _LIBRARIES) or file.startswith("<string>"):
            return _escaped(name), is_printed
        if innermost.startswith("a line"):
            innermost = _escaped(name)
        frame = frame.f_back
    return innermost, is_printed


def _escaped(name: str) -> str:
    """Return a name without line ends or terminal codes."""
    return repr(name)[1:-1]


def _named(operators: list[str], is_size: bool) -> str:
    """Name the operator as in reports (report/views/blocks): one that found a size, or item()."""
    while is_size and len(operators) > 1 and operators[-1] in _READERS:
        operators = operators[:-1]
    return "aten::item" if operators[-1] in _READERS else operators[-1]


def _effect(operator: str, kind: int, is_printed: bool) -> str:
    if is_printed or kind == _FLOATING_POINT:
        return "printed" if is_printed else "floating"
    if kind == _SIZE:
        return "size"
    return "copy" if operator in ("aten::copy_", "") else "number"


def prepare() -> None:
    """Listen if `peakline run` named a file for the list."""
    global _listener
    path = os.environ.get("PEAKLINE_SIM_READS")
    if not path:
        return
    import ctypes

    try:
        listen = ctypes.CDLL(None).peakline_sim_set_read_listener
    except AttributeError:
        return
    most = int(os.environ.get("PEAKLINE_MAX_VALUE_READS") or _DEFAULT_MOST_READS)
    notes = _Notes(path, most)
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
    _listener = prototype(notes.note)
    listen(_listener)

"""The test library as Python functions. Imported by the programs beside it."""

import ctypes
import os
import time

path = os.environ["PEAKLINE_TEST_LIBRARY"]
library = ctypes.CDLL(path)  # releases the GIL around every call
library_with_gil = ctypes.PyDLL(path)

attach_function = library_with_gil.peakline_test_attach
attach_function.restype = ctypes.c_char_p

SIZE = 1 << 20


def prepared(name):
    """A capture function that takes (buffer, size)."""
    function = getattr(library, name)
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    function.restype = ctypes.c_int
    return function


capture = prepared("peakline_test_capture")
capture_qualified = prepared("peakline_test_capture_qualified")
capture_id = library.peakline_test_capture_id
capture_id.restype = ctypes.c_uint32
TRUNCATED = 2


def attach():
    """Attaches and says so; ends the program when Python stacks are off."""
    start = time.perf_counter()
    answer = attach_function().decode()
    milliseconds = (time.perf_counter() - start) * 1e3
    if answer != "on":
        raise SystemExit(f"python stacks are off: {answer}")
    return milliseconds


def frames_of(text):
    """(file, line, name) of every line written by a capture, leaf first."""
    rows = [row.rsplit(":", 2) for row in text.decode().splitlines()]
    return [(file, int(line), name) for file, line, name in rows]

"""Where this thread's pauses begin and end: while it does not hold the GIL, and nowhere else."""

import ctypes
import json
import os
import sys
import threading

import capture as c

CALLS = 20_000


def function_of(library, name):
    function = getattr(library, name)
    function.restype = ctypes.c_uint64
    return function


without_gil = function_of(c.library, "peakline_test_pause")
with_gil = function_of(c.library_with_gil, "peakline_test_pause")
of_new_thread = function_of(c.library, "peakline_test_pause_of_new_thread")
around = c.library.peakline_test_pauses_around
callback_type = ctypes.CFUNCTYPE(None)


def wrong_calls():
    """Of many, those that are not a pause of their own without the GIL, or are one with it."""
    seen = {without_gil() for _ in range(CALLS)}
    is_missed = len(seen) < CALLS or any(number % 2 == 0 for number in seen)
    return is_missed + sum(with_gil() % 2 for _ in range(CALLS))


def wrong_calls_beside_another_thread():
    stop = False

    def busy():
        while not stop:
            without_gil()

    sys.setswitchinterval(1e-6)  # the GIL changes hands in the middle of Python code
    thread = threading.Thread(target=busy)
    thread.start()
    wrong = wrong_calls()
    stop = True
    thread.join()
    return wrong


def around_python():
    """Numbers before and after a call into Python without the GIL, and within it."""
    inner = []
    numbers = (ctypes.c_uint64 * 2)()
    around(callback_type(lambda: inner.append((with_gil(), without_gil()))), numbers)
    return [*numbers, *inner[0]]


def wrong_calls_in_child():
    pid = os.fork()
    if pid == 0:
        os._exit(min(wrong_calls(), 100))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    c.attach()
    before, after, with_inner, without_inner = around_python()
    json.dump(
        {
            "wrong": wrong_calls(),
            "wrong_beside_another": wrong_calls_beside_another_thread(),
            "wrong_in_child": wrong_calls_in_child(),
            "new_thread": of_new_thread() % 2,
            "around": [before % 2, with_inner % 2, without_inner % 2, after % 2],
            "different": len({before, with_inner, without_inner, after}),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()

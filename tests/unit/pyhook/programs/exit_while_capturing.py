"""Ends while daemon threads capture without the GIL, with frames and thread states going away."""

import ctypes
import sys
import threading

import capture as c


def recurse(depth):
    if depth > 0:
        return recurse(depth - 1)
    # Longer than the rest of the process: the interpreter ends while we are in here.
    return c.library.peakline_test_capture_for_ns(ctypes.c_uint64(10**10))


def main():
    c.attach()
    sys.setrecursionlimit(5000)
    threads = [threading.Thread(target=recurse, args=(300,), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert c.capture_id() != 0
    print("done", flush=True)


if __name__ == "__main__":
    main()

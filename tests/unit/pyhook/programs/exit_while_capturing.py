"""Ends while daemon threads capture without the GIL, with frames and thread states going away."""

import ctypes
import os
import sys
import threading
import time

import capture as c


class Lingering:
    """Dies late in the shutdown and reuses the memory of the freed states of other threads."""

    def __init__(self):
        self.sleep = time.sleep
        self.malloc = c.library.malloc  # where thread states come from; bytes() have another heap
        self.malloc.restype = ctypes.c_void_p
        self.malloc.argtypes = [ctypes.c_size_t]
        self.fill = ctypes.memset
        self.write = os.write

    def __del__(self):
        for size in range(128, 2048, 8):
            for _ in range(8):
                self.fill(self.malloc(size), 255, size)
        self.sleep(0.1)
        self.write(1, b"lingered\n")


# In sys: the frames of the daemon threads keep this module's names alive for ever.
sys.lingering = Lingering()


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

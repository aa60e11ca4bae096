"""Forks while other threads capture; the child must still capture right stacks."""

import ctypes
import json
import os
import sys
import threading
import traceback

import capture as c

stop = False


def busy():
    while not stop:
        c.library.peakline_test_capture_for_ns(ctypes.c_uint64(10**6))


def child_is_right():
    out = ctypes.create_string_buffer(c.SIZE)
    c.capture(out, c.SIZE), traceback.extract_stack()
    thread = threading.Thread(target=c.capture_id)
    thread.start()
    thread.join()
    if c.library.peakline_test_reads_slot():
        return False  # CPython makes a new key: another slot, one day
    return c.frames_of(out.value)[0][2] == "child_is_right"


def main():
    global stop
    c.attach()
    c.library.peakline_test_watch_fork()
    threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    failures = 0
    for _ in range(30):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if child_is_right() else 1)
        failures += os.waitpid(pid, 0)[1] != 0
    stop = True
    json.dump({"failures": failures}, sys.stdout)


if __name__ == "__main__":
    main()

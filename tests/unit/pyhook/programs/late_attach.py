"""Attaches where the GIL is not held, and captures on the very next line.

The argument says who attaches: this thread with the GIL released, another thread of Python while
this one waits for it or runs, or a thread that never had Python. The frames are compared with
traceback's.
"""

import ctypes
import json
import sys
import threading
import time
import traceback

import capture as c

BUFFER = ctypes.create_string_buffer(c.SIZE)


def function_of(library, name):
    function = getattr(library, name)
    function.restype = ctypes.c_char_p
    return function


here = function_of(c.library, "peakline_test_attach_without_gil")  # with the GIL released
on_native_thread = function_of(c.library_with_gil, "peakline_test_attach_on_new_thread")


def elsewhere():
    answer = on_native_thread()
    time.sleep(0)  # this thread takes the GIL
    return answer


def compared(attach):
    try:
        {}["the program has an exception of its own"]
    except KeyError:
        answer = attach()
        stacks = c.capture(BUFFER, c.SIZE), traceback.extract_stack()
        kept = repr(sys.exc_info()[1])
    ours = c.frames_of(BUFFER.value)
    theirs = [(frame.filename, frame.lineno, frame.name) for frame in reversed(stacks[1])]
    return {
        "first": answer.decode(),
        "same": ours == theirs,
        "frames": len(ours),
        "kept": kept,
    }


def compared_in_thread():
    said = {}
    thread = threading.Thread(target=lambda: said.update(compared(here)))
    thread.start()
    thread.join()  # no pending call is made here
    return said


def compared_beside_a_busy_thread():
    said = {}
    thread = threading.Thread(target=lambda: said.update(compared(here)))
    sys.setswitchinterval(1e-6)  # this thread loses the GIL while it attaches
    thread.start()
    while thread.is_alive():
        pass
    return said


def main():
    ways = {
        "released": lambda: compared(here),
        "thread": compared_in_thread,
        "busy thread": compared_beside_a_busy_thread,
        "native thread": lambda: compared(elsewhere),
    }
    print(json.dumps(ways[sys.argv[1]]()))


class Late:
    """Asks when the interpreter is taken apart."""

    def __init__(self):
        self.attach = here

    def __del__(self):
        self.attach()


if __name__ == "__main__":
    if sys.argv[1] == "ending":
        sys.late = Late()
        print(json.dumps({}))
    else:
        main()

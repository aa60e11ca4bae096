"""Stacks that are captured, beside those of traceback.extract_stack at the same place."""

import ctypes
import threading
import traceback

import capture as c

buffers = threading.local()
lock = threading.Lock()
compared = {}
mismatches = []
scenario = "start"


def begin(name):
    """What is compared from now on belongs to this scenario."""
    global scenario
    scenario = name


def buffer():
    if not hasattr(buffers, "value"):
        buffers.value = ctypes.create_string_buffer(c.SIZE)
    return buffers.value


def readable(text):
    return "".join("\ufffd" if 0xD800 <= ord(char) < 0xE000 else char for char in text)


def compare(ours, theirs, flags, expected_flags=0):
    theirs = [(readable(f.filename), f.lineno, f.name) for f in reversed(theirs)]
    with lock:
        compared[scenario] = compared.get(scenario, 0) + 1
        if ours != theirs or flags != expected_flags:
            mismatches.append(
                {"scenario": scenario, "ours": ours[:40], "theirs": theirs[:40], "flags": flags}
            )


def check(*_):
    out = buffer()
    flags, theirs = c.capture(out, c.SIZE), traceback.extract_stack()
    compare(c.frames_of(out.value), theirs, flags)
    return 0

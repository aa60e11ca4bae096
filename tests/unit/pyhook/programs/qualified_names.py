"""Prints captured qualified names beside those of the code objects (3.10 has only names)."""

import ctypes
import json
import sys

import capture as c


class Outer:
    class Inner:
        def method(self):
            def local():
                return (lambda: [names() for _ in range(1)][0])()

            return local()


def names():
    out = ctypes.create_string_buffer(c.SIZE)
    c.capture_qualified(out, c.SIZE)
    frame, theirs = sys._getframe(), []
    while frame:
        theirs.append(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))
        frame = frame.f_back
    return [name for _, _, name in c.frames_of(out.value)], theirs


def main():
    c.attach()
    ours, theirs = Outer.Inner().method()
    json.dump({"ours": ours, "theirs": theirs}, sys.stdout)


if __name__ == "__main__":
    main()

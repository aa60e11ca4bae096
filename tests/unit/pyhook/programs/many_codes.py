"""More live code objects than the code table holds, then reuse: every stack must stay right."""

import ctypes
import json
import sys

import capture as c

COUNT = 60_000


def main():
    c.attach()
    out = ctypes.create_string_buffer(c.SIZE)
    template = compile("def made():\n    return capture(out, size)", "<many>", "exec").co_consts
    code = next(constant for constant in template if hasattr(constant, "co_code"))
    space = {"capture": c.capture, "out": out, "size": c.SIZE}
    function_type = type(main)
    kept = []
    wrong = 0

    def capture_new(number):
        name = f"made_{number}"
        function = function_type(code.replace(co_name=name), space)
        function()
        return function, c.frames_of(out.value)[0] != ("<many>", 2, name)

    for number in range(COUNT):
        function, is_wrong = capture_new(number)
        kept.append(function)
        wrong += is_wrong
    function = None
    kept.clear()
    for number in range(COUNT, COUNT + 3000):
        wrong += capture_new(number)[1]
    json.dump({"captures": COUNT + 3000, "wrong": wrong}, sys.stdout)


if __name__ == "__main__":
    main()

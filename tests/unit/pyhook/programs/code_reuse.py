"""Compiles, runs and drops functions in a loop; counts stacks that name the wrong function.

With the argument "unwatched" the death of code objects goes unseen.
"""

import ctypes
import json
import sys

import capture as c

COUNT = 3000


def main():
    c.attach()
    if "unwatched" in sys.argv:
        c.library.peakline_test_stop_watching_code()
    out = ctypes.create_string_buffer(c.SIZE)
    epoch = c.library.peakline_test_epoch
    epoch.restype = ctypes.c_uint64
    wrong = 0
    addresses = set()
    for number in range(COUNT):
        name, file = f"made_{number:05d}", f"<made {number:05d}>"
        space = {"capture": c.capture, "out": out, "size": c.SIZE}
        exec(compile(f"def {name}():\n    capture(out, size)\n{name}()", file, "exec"), space)
        addresses.add(id(space[name].__code__))
        wrong += c.frames_of(out.value)[0] != (file, 2, name)
    before = epoch()
    for number in range(100):  # code that was never on a captured stack dies without effect
        compile(f"{number}", "<never run>", "exec")
    json.dump(
        {
            "captures": COUNT,
            "wrong": wrong,
            "distinct_addresses": len(addresses),
            "epoch_moves_for_unseen_code": epoch() - before,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()

"""Prints what a capture costs, in ns at depth 5, 30 and 100, for every interpreter found here.

Not a test. Run: python tests/unit/pyhook/bench_walk.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
DEPTHS = (5, 30, 100)
STEPS = ("thread state", "walk", "walk + hash + look-up")


def measure():
    """Runs inside the measured interpreter."""
    sys.path.insert(0, str(HERE / "programs"))
    import capture as c

    attach_ms = c.attach()
    bench = c.library.peakline_test_bench
    bench.restype = c.ctypes.c_double
    bench.argtypes = [c.ctypes.c_int, c.ctypes.c_long]

    def at_depth(depth, step):
        return bench(step, 200_000) if depth <= 1 else at_depth(depth - 1, step)

    print(
        "Python", sys.version.split()[0], f"  attached in {attach_ms:.1f} ms; ns at depth", *DEPTHS
    )
    for number, step in enumerate(STEPS):
        row = [at_depth(depth - 2, number) for depth in DEPTHS]
        print(f"  {step:24}", *(f"{value:8.1f}" for value in row))


def main():
    """Builds the library once and measures in each interpreter."""
    from interpreters import INTERPRETERS, build_library, find_interpreter

    with tempfile.TemporaryDirectory() as folder:
        library = build_library(Path(folder) / "libcapture_bench.so")
        environment = dict(os.environ, PEAKLINE_TEST_LIBRARY=str(library))
        for path in filter(None, map(find_interpreter, INTERPRETERS)):
            subprocess.run([path, __file__, "measure"], env=environment, check=True)


if __name__ == "__main__":
    if "measure" in sys.argv:
        measure()
    else:
        main()

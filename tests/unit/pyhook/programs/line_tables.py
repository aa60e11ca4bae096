"""Compares our line of every instruction of the standard library with co_lines(); prints JSON.

Of every third file: between them they have each kind of code.
"""

import array
import json
import os
import sys
import sysconfig
import types
import warnings
from pathlib import Path

import capture as c

wrong_lines = c.library.peakline_test_wrong_lines
wrong_lines.restype = c.ctypes.c_long
c_size = c.ctypes.c_size_t
totals = {"files": 0, "code_objects": 0, "offsets": 0, "wrong": 0, "wrong_positions": 0}


def wrong_in(code, expected):
    address, count = expected.buffer_info()
    return wrong_lines(
        code.co_linetable,
        c_size(len(code.co_linetable)),
        code.co_firstlineno,
        int(sys.version_info < (3, 11)),
        c.ctypes.c_void_p(address),
        c_size(count),
    )


def check(code):
    # Line 0 and below say "unknown" in the trace: an interactive or generated module has them.
    expected = array.array("I", bytes(4 * (len(code.co_code) // 2)))
    for start, end, line in code.co_lines():
        for unit in range(start // 2, end // 2):
            expected[unit] = line if line is not None and line > 0 else 0
    totals["code_objects"] += 1
    totals["offsets"] += len(expected)
    totals["wrong"] += wrong_in(code, expected)
    if sys.version_info >= (3, 11):
        lines = [position[0] or 0 for position in code.co_positions()]
        totals["wrong_positions"] += wrong_in(code, array.array("I", lines))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            check(constant)


def main():
    warnings.simplefilter("ignore")
    root = Path(sysconfig.get_paths()["stdlib"])
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else None
    files = sorted(p for p in root.rglob("*.py") if "site-packages" not in p.parts)
    for path in files[::3][:limit]:
        try:
            code = compile(path.read_bytes(), os.fspath(path), "exec")
        except (SyntaxError, ValueError, UnicodeDecodeError, RecursionError):
            continue  # some test files are broken on purpose
        totals["files"] += 1
        check(code)
    json.dump(totals, sys.stdout)


if __name__ == "__main__":
    main()

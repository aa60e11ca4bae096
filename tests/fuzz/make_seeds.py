"""Writes inputs that a fuzzer of the Python readers begins with: ``make_seeds.py FOLDER``.

The packed traces of `corpus/` with each thing that is done, and small snapshots.
"""

from __future__ import annotations

import itertools
import pickle
import sys
from pathlib import Path
from typing import Any

SUPERBLOCK = 104
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))


def snapshots() -> list[Any]:
    from test_hostile_imports import SNAPSHOT, TRACKED

    return [SNAPSHOT, TRACKED]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    traces = sorted((HERE / "corpus").iterdir(), key=lambda one: -one.stat().st_size)
    for number, path in zip(range(256), itertools.cycle(traces)):
        (folder / f"seed{number}").write_bytes(bytes([number]) + path.read_bytes()[SUPERBLOCK:])
    for number, value in enumerate(snapshots()):
        (folder / f"pickle{number}").write_bytes(b"\0" + pickle.dumps(value, 4))

"""A trace read where the libraries of the recording are not: names come from a folder that is told.

The trace is changed to say that site-packages were at another place, which does not exist.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import shutil
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import Lab
from test_attribution_models import MODELS

TORCH_CPU = "torch/lib/libtorch_cpu.so"
# Of trace_format.h.
CHUNKS_AT, CHUNK_BYTES, HEADER_BYTES = 4096, 256 * 1024, 128
DEFS, TYPE_AT, COMMITTED_AT, CHECKSUM_AT, FIRST_IDS_AT = 1, 4, 64, 72, 80


def xxh3(data: bytes, seed: int = 0) -> int:
    library = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    library.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    library.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    return library.XXH3_64bits_withSeed(data, len(data), seed)


def moved_trace(trace: bytes, before: bytes, after: bytes) -> bytes:
    """The same trace with another text, of the same length, in all that it defines."""
    assert len(before) == len(after)
    changed = bytearray(trace)
    for start in range(CHUNKS_AT, len(trace), CHUNK_BYTES):
        header = trace[start : start + HEADER_BYTES]
        number = lambda at, size, header=header: int.from_bytes(header[at : at + size], "little")  # noqa: E731
        if number(TYPE_AT, 2) != DEFS:
            continue
        payload = start + HEADER_BYTES
        end = payload + number(COMMITTED_AT, 4)
        definitions = trace[payload:end].replace(before, after)
        changed[payload:end] = definitions
        if number(CHECKSUM_AT, 8):
            checksum = xxh3(definitions, xxh3(header[FIRST_IDS_AT:HEADER_BYTES]))
            changed[start + CHECKSUM_AT : start + CHECKSUM_AT + 8] = checksum.to_bytes(8, "little")
    assert changed != trace
    return bytes(changed)


@pytest.fixture(scope="module")
def moved(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, Path]]:
    """A trace, where it says that its libraries were, and where they are."""
    packages = Path(sysconfig.get_paths()["purelib"])
    if not (packages / TORCH_CPU).exists() or ctypes.util.find_library("xxhash") is None:
        pytest.skip("torch is not in this interpreter's own site-packages, or there is no xxhash")
    start = f"{tempfile.gettempdir()}/{os.getpid()}"
    if len(start) >= len(str(packages)):
        pytest.skip("the path of site-packages is too short to be replaced")
    place = Path(start.ljust(len(str(packages)), "x"))
    trace = tmp_path_factory.mktemp("moved") / "moved.peak"
    recorded = lab.once(*MODELS["transformer"]).trace.read_bytes()
    trace.write_bytes(moved_trace(recorded, bytes(packages), bytes(place)))
    yield trace, place, packages
    shutil.rmtree(place, ignore_errors=True)


def operators(lab: Lab, trace: Path, *options: str) -> tuple[set[str], int]:
    """Rows of --by op, and how many libraries could not be matched."""
    stats = json.loads(lab.report("stats", trace, "--json", "--by", "op", *options))
    return {row["key"] for row in stats["by_bytes"]}, stats["unmatched_modules"]


def test_without_the_libraries_a_report_says_what_to_do(lab: Lab, moved) -> None:
    trace, _, _ = moved
    names, unmatched = operators(lab, trace)
    assert unmatched > 0
    assert not any(name.startswith("aten::add") for name in names)
    assert "--symbols" in lab.report("table", trace, "--by", "op")
    # What stands after a line is an addition: nothing of the line is missing without it.
    assert "--symbols" not in lab.report("table", trace)


def test_libraries_are_found_below_a_folder(lab: Lab, moved) -> None:
    trace, _, packages = moved
    names, unmatched = operators(lab, trace, "--symbols", str(packages))
    assert unmatched == 0
    assert {"aten::mm", "aten::add.Tensor"} <= names
    assert not any("+0x" in name for name in names)


def test_a_library_of_the_same_name_but_another_build_names_nothing(lab: Lab, moved) -> None:
    trace, link, packages = moved
    library = link / TORCH_CPU
    library.parent.mkdir(parents=True)
    library.symlink_to(packages / "torch" / "lib" / "libc10.so")
    names, unmatched = operators(lab, trace)
    assert unmatched > 0
    assert not any(name.startswith("aten::add") for name in names)
    assert operators(lab, trace, "--symbols", str(link))[1] > 0
    assert operators(lab, trace, "--symbols", str(link), "--symbols", str(packages))[1] == 0

"""Names the build of a shared library, as name_torch_build() of torch_library.cpp does."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_PT_NOTE = 4
_NT_GNU_BUILD_ID = 3
_MOST_BYTES = 8


def library_build(library: Path) -> str:
    """Return "b" and the beginning of its build id, or without one "s", its size and its time.

    Returns "none" if there is no such file.
    """
    try:
        facts = library.stat()
        with library.open("rb") as file:
            found = next(_build_ids(file.read(1 << 20)), b"")
    except OSError:
        return "none"
    if found:
        return f"b{found[:_MOST_BYTES].hex()}"
    return f"s{facts.st_size:x}-{facts.st_mtime_ns // 10**9:x}"


def _build_ids(image: bytes) -> Iterator[bytes]:
    """Yield the build ids from the notes of a 64-bit little-endian library."""
    if image[:6] != b"\x7fELF\x02\x01":
        return
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for i in range(count):
        kind, _, start, _, _, length = struct.unpack_from("<IIQQQQ", image, table + i * size)
        if kind == _PT_NOTE:
            yield from _build_ids_of_notes(image[start : start + length])


def _build_ids_of_notes(notes: bytes) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(notes):
        name_length, length, kind = struct.unpack_from("<III", notes, at)
        name = at + 12
        description = name + (name_length + 3 & ~3)
        if kind == _NT_GNU_BUILD_ID and notes[name : name + name_length] == b"GNU\0":
            yield notes[description : description + length]
        at = description + (length + 3 & ~3)

"""Finds the addresses of exported functions in a running process (elf(5), proc(5))."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from peakline.base.processes import Mapping, mappings_of

_SHT_DYNSYM = 11
_PT_LOAD = 1
_ET_EXEC = 2


@dataclass(frozen=True)
class Function:
    """A function in the memory of a process; `size` is 0 where the file does not tell it."""

    address: int
    size: int


def functions_of(pid: int, library: str, names: frozenset[str]) -> dict[str, Function]:
    """Return those of the named functions that a mapped file exports.

    Args:
        pid: the process.
        library: the path of the file, as in /proc/PID/maps.
        names: names of functions.

    Raises:
        OSError: the maps or the file cannot be read.
    """
    first = _first_mapping(pid, library)
    # The link leads to the file that is mapped, also where its path was replaced meanwhile.
    link = Path(f"/proc/{pid}/map_files/{first.span}")
    image = link.read_bytes() if link.exists() else Path(library).read_bytes()
    if image[:6] != b"\x7fELF\x02\x01":
        return {}
    shift = (
        0 if struct.unpack_from("<H", image, 16)[0] == _ET_EXEC else first.begin - _lowest(image)
    )
    return {
        name: Function(shift + value, size)
        for name, value, size in _defined(image)
        if name in names
    }


def mapped_files(pid: int) -> list[str]:
    """Return the files that a process has mapped as code, in the order of their addresses.

    Raises:
        OSError: there is no such process, or it belongs to another user.
    """
    return list(dict.fromkeys(one.path for one in mappings_of(pid) if "x" in one.permissions))


def _first_mapping(pid: int, library: str) -> Mapping:
    for one in mappings_of(pid):
        if one.path == library and one.offset == 0:
            return one
    raise FileNotFoundError(f"{library} is not mapped by process {pid}")


def _lowest(image: bytes) -> int:
    """Return the lowest address of the segments, by whole pages."""
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    heads = [struct.unpack_from("<IIQQ", image, table + i * size) for i in range(count)]
    return min(int(address) for kind, _, _, address in heads if kind == _PT_LOAD) & ~0xFFF


def _defined(image: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield name, address and size of each defined dynamic symbol."""
    (table,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQII", image, table + i * size) for i in range(count)]
    for _, kind, _, _, start, length, link, _ in sections:
        if kind != _SHT_DYNSYM:
            continue
        names = sections[link][4]
        for name, _, _, section, value, bytes_ in struct.iter_unpack(
            "<IBBHQQ", image[start : start + length]
        ):
            if section and value:
                at = names + name
                text = image[at : image.index(b"\0", at)]
                yield text.decode("ascii", "replace"), value, bytes_

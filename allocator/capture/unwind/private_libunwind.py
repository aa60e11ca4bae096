"""Makes the recorder's own copy of libunwind, which no other library of a program can see.

python private_libunwind.py LIBUNWIND OUT

libunwind also exports the functions that throw C++ exceptions (_Unwind_*). If it is loaded before
libgcc, as in a program that imports peakline first, libstdc++ and torch use its functions, and the
first exception ends the program. The copy hides these names. It has another name, so that the
program's libunwind is loaded beside it. It does not load liblzma, which it needs only for names of
functions. Only these table entries differ from the original.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

# The new name has the length of the old one, so it replaces its bytes.
_OLD_NAME = b"libunwind.so.8\0"
_NEW_NAME = b"libpkunwind.so\0"
_HIDDEN_PREFIXES = (b"_Unwind_", b"__libunwind_Unwind_", b"backtrace\0")
_UNNEEDED = b"liblzma.so.5"

_NEEDED, _STRTAB, _SYMTAB, _SONAME, _DEBUG = 1, 5, 6, 14, 21
_VERSYM, _VERNEED, _VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
_ANY_VERSION = 1
_LOAD, _DYNAMIC = 1, 2
_SYMBOL_BYTES = 24
_STB_WEAK, _STV_HIDDEN = 2, 2


class Image:
    """The bytes of a 64-bit little endian library, and its dynamic section."""

    def __init__(self, data: bytes) -> None:
        """Find the segments, the dynamic entries and the sections."""
        self.data = bytearray(data)
        if data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit("private_libunwind.py: not a 64-bit little endian ELF file")
        (table,) = self.read("<Q", 32)
        size, count = self.read("<HH", 54)
        headers = [self.read("<IIQQQQ", table + i * size) for i in range(count)]
        self.loads = [(h[3], h[2], h[5]) for h in headers if h[0] == _LOAD]
        start, length = next((h[2], h[5]) for h in headers if h[0] == _DYNAMIC)
        self.entries = [start + i * 16 for i in range(length // 16)]  # offsets
        (table,) = self.read("<Q", 40)
        size, count = self.read("<HH", 58)
        self.sections = [table + i * size for i in range(count)]  # offsets of their headers
        self.values = dict(map(self.entry, self.entries))

    def read(self, form: str, offset: int) -> tuple[int, ...]:
        """Return the numbers at an offset of the file."""
        return struct.unpack_from(form, self.data, offset)

    def write(self, form: str, offset: int, *values: int) -> None:
        """Change the numbers at an offset of the file."""
        struct.pack_into(form, self.data, offset, *values)

    def entry(self, offset: int) -> tuple[int, int]:
        """Return tag and value of a dynamic entry."""
        tag, value = self.read("<QQ", offset)
        return tag, value

    def offset_of(self, address: int) -> int:
        """Return the file offset of the byte that is loaded to an address."""
        return next(address - s + o for s, o, n in self.loads if s <= address < s + n)

    def symbols(self) -> range:
        """Return their offsets. The string table follows them, as in the layout of every linker."""
        start = self.offset_of(self.values[_SYMTAB])
        end = self.offset_of(self.values[_STRTAB])
        return range(start, end - _SYMBOL_BYTES + 1, _SYMBOL_BYTES)

    def string(self, index: int) -> bytes:
        """Return a string of the dynamic table with its end mark."""
        start = self.offset_of(self.values[_STRTAB]) + index
        return bytes(self.data[start : self.data.index(0, start) + 1])


def rename(image: Image) -> None:
    """Give the library another name."""
    index = image.values[_SONAME]
    if image.string(index) != _OLD_NAME:
        raise SystemExit(f"private_libunwind.py: the library is called {image.string(index)!r}")
    start = image.offset_of(image.values[_STRTAB]) + index
    image.data[start : start + len(_NEW_NAME)] = _NEW_NAME


def hide_exception_functions(image: Image) -> None:
    """Make them visible only inside the library: the loader skips hidden names."""
    for symbol in image.symbols():
        (name,) = image.read("<I", symbol)
        if image.string(name).startswith(_HIDDEN_PREFIXES):
            image.data[symbol + 5] = _STV_HIDDEN


def drop_liblzma(image: Image) -> None:
    """Load the library without this dependency, as if its functions did not exist."""
    for offset in image.entries:
        tag, value = image.entry(offset)
        if tag == _NEEDED and image.string(value).startswith(_UNNEEDED):
            image.write("<QQ", offset, _DEBUG, 0)  # an entry without meaning in a library
    previous, at = 0, image.offset_of(image.values[_VERNEED])
    for _ in range(image.values[_VERNEEDNUM]):
        _, count, name, versions, following = image.read("<HHIII", at)
        if image.string(name).startswith(_UNNEEDED):
            unlink_versions(image, previous, at, following)
            numbers = [image.read("<IHHII", at + versions + i * 16)[2] for i in range(count)]
            forget_versions(image, numbers)
            return
        previous, at = at, at + following


def unlink_versions(image: Image, previous: int, at: int, following: int) -> None:
    """Remove one library from the chain of libraries with checked versions."""
    if previous == 0 or following == 0:
        raise SystemExit("private_libunwind.py: liblzma stands first or last among the versions")
    image.write("<I", previous + 12, at - previous + following)
    for offset in image.entries:
        tag, value = image.entry(offset)
        if tag == _VERNEEDNUM:
            image.write("<QQ", offset, tag, value - 1)
    for section in image.sections:  # the linker reads this one
        if image.read("<I", section + 4) == (_VERNEED,):
            (count,) = image.read("<I", section + 44)
            image.write("<I", section + 44, count - 1)


def forget_versions(image: Image, numbers: list[int]) -> None:
    """Make the functions with these versions optional: no address, and no error."""
    start = image.offset_of(image.values[_VERSYM])
    for i, symbol in enumerate(image.symbols()):
        if image.read("<H", start + i * 2)[0] in numbers:
            image.write("<H", start + i * 2, _ANY_VERSION)
            image.data[symbol + 4] = _STB_WEAK << 4 | image.data[symbol + 4] & 15


def main() -> None:
    """Read one library, write the other."""
    source, out = sys.argv[1:]
    image = Image(Path(source).read_bytes())
    rename(image)
    hide_exception_functions(image)
    drop_liblzma(image)
    Path(out).write_bytes(image.data)


if __name__ == "__main__":
    main()

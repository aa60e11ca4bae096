"""Reads pickles of plain values only: it looks up no class and calls no function.

The virtual machine is in report/python/plain_pickle.cpp. The file bounds time and memory. A
`pickle.Unpickler` that refuses every class is no substitute: an index of its memo fills gigabytes,
colliding keys keep it busy for hours, and deep keys end the process by SIGSEGV.
"""

from __future__ import annotations

import gzip
import io
import pickle
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from peakline.imports.packed import open_unpacked

_MOST_BYTES = 4 << 30  # of a file; its values take ten times as much memory
_PART_BYTES = 1 << 20
_PROTOCOL = pickle.PROTO[0]
_OLD = b"(])}NI\x88\x89cJKMX"  # first bytes of pickles of old protocols, which have no header


def load_file(path: Path) -> Any:
    """Return the value pickled in a file, which may be gzipped; see `load_plain`.

    Raises:
        pickle.UnpicklingError: it is no file, is too large, or holds anything else.
        OSError: it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise pickle.UnpicklingError("not a file on a disk: copy its data into one first")
    if (size := path.stat().st_size) > _MOST_BYTES:
        raise _too_large(size)
    try:
        with open_unpacked(path) as file:
            data = _bytes_of_pickle(file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise pickle.UnpicklingError(f"not a file of gzip, or cut off ({error})") from error
    if len(data) > _MOST_BYTES:
        raise _too_large(len(data))
    return load_plain(data)


def _bytes_of_pickle(file: BinaryIO | gzip.GzipFile) -> bytes:
    """Return up to one part more than the limit; only the first byte if the file is no pickle.

    A few bytes of gzip can expand to any size, and a huge file may be no pickle at all.
    """
    read = io.BytesIO()
    read.write(head := file.read(1))
    if head and head[0] in (_PROTOCOL, *_OLD):
        # Read in parts: a read allocates its full size at once.
        while read.tell() <= _MOST_BYTES and (part := file.read(_PART_BYTES)):
            read.write(part)
    return read.getvalue()


def _too_large(size: int) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"has {size >> 30} GiB, more than can be read: record fewer entries (max_entries)"
    )


def load_plain(data: bytes) -> Any:
    """Return the pickled value: numbers, texts, bytes, None, lists, tuples, sets, dictionaries.

    Raises:
        pickle.UnpicklingError: it holds anything else, or is cut off.
    """
    from peakline import _report

    try:
        return _report.load_plain(data)
    except ValueError as error:
        raise pickle.UnpicklingError(str(error)) from error

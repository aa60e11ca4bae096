"""Reads pickles of plain values, and nothing else: no class is looked up, no function called.

The machine is in report/python/plain_pickle.cpp. Time and memory are bounded by the file. A
`pickle.Unpickler` that refuses every class is no substitute: an index of its memo fills gigabytes,
keys that collide keep it busy for hours, and deep keys end the process by SIGSEGV.
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
_OLD = b"(])}NI\x88\x89cJKMX"  # what pickles of protocols without a head begin with


def load_file(path: Path) -> Any:
    """Return what was pickled into a file, which gzip may have packed; see `load_plain`.

    Raises:
        pickle.UnpicklingError: it is no file, is too large, or holds anything else.
        OSError: it cannot be read.
    """
    if path.exists() and not path.is_file():
        raise pickle.UnpicklingError("not a file on a disk: write what it gives into one first")
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
    """Return what can be read, and a part more; of what begins as no pickle, its first byte.

    A few bytes of gzip can stand for any number, and a huge file be something else.
    """
    read = io.BytesIO()
    read.write(head := file.read(1))
    if head and head[0] in (_PROTOCOL, *_OLD):
        # In parts: what is asked for at once is set aside at once.
        while read.tell() <= _MOST_BYTES and (part := file.read(_PART_BYTES)):
            read.write(part)
    return read.getvalue()


def _too_large(size: int) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        f"has {size >> 30} GiB, more than can be read: record fewer entries (max_entries)"
    )


def load_plain(data: bytes) -> Any:
    """Return what was pickled: numbers, texts, bytes, None, lists, tuples, sets, dictionaries.

    Raises:
        pickle.UnpicklingError: it holds anything else, or is cut off.
    """
    from peakline import _report

    try:
        return _report.load_plain(data)
    except ValueError as error:
        raise pickle.UnpicklingError(str(error)) from error

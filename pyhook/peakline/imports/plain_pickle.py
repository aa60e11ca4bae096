"""Reads pickles of plain values, and nothing else: no class is looked up, no function called.

The machine is in report/python/plain_pickle.cpp. Time and memory are bounded by the file.
"""

from __future__ import annotations

import gzip
import pickle
import zlib
from pathlib import Path
from typing import IO, Any

_MOST_BYTES = 4 << 30  # of a file; its values take ten times as much memory
_GZIP = b"\x1f\x8b"
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
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
        file.seek(0)
        return load_plain(_unpacked(file) if is_packed else _whole(file, path.stat().st_size))


def _whole(file: IO[bytes], size: int) -> bytes:
    if size > _MOST_BYTES:
        raise _too_large(size)
    return _bytes_of_pickle(file)


def _unpacked(file: IO[bytes]) -> bytes:
    """Return what gzip packed; a few bytes can stand for any number, so it is counted."""
    try:
        with gzip.GzipFile(fileobj=file) as unpacked:
            data = _bytes_of_pickle(unpacked)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise pickle.UnpicklingError(f"not a file of gzip, or cut off ({error})") from error
    if len(data) > _MOST_BYTES:
        raise _too_large(len(data))
    return data


def _bytes_of_pickle(file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Return what can be read, and a byte more; of what begins as no pickle, its first byte."""
    head = file.read(1)
    return head + file.read(_MOST_BYTES) if head and head[0] in (_PROTOCOL, *_OLD) else head


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

"""Opens files that may be gzipped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import gzip

_GZIP = b"\x1f\x8b"


@contextmanager
def open_unpacked(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    """Open a file for reading, unpacked if it is gzipped.

    Raises:
        OSError: it cannot be read. Reading may raise gzip's errors for damaged files.
    """
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        if not is_packed:
            yield file
            return
        import gzip  # slow to import, and every command calls this module

        with gzip.GzipFile(fileobj=file) as unpacked:
            yield unpacked

"""Passes pickled objects between ranks on the host, without the device.

Uses the store of a process group if all ranks run, and a folder of the run for ranks alone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

_PAUSE_SECONDS = 0.02


class Channel(Protocol):
    """Each key is put once."""

    def put(self, key: str, value: bytes) -> None:
        """Make bytes known to the other ranks."""

    def take(self, key: str, from_rank: int) -> bytes:
        """Wait for a rank's value and return it."""


class StoreChannel:
    """Uses the store of the ranks, which all run."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def put(self, key: str, value: bytes) -> None:
        self._store.set(key, value)

    def take(self, key: str, from_rank: int) -> bytes:
        return bytes(self._store.get(key))


class FolderChannel:
    """For a rank alone: `peakline run` starts each rank that is named in the folder `wanted`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, key: str) -> Path:
        return self._folder / "objects" / quote(key, safe="")

    def put(self, key: str, value: bytes) -> None:
        file = self._file(key)
        scratch = file.with_name(f"{file.name}.{os.getpid()}")
        scratch.write_bytes(value)
        scratch.rename(file)

    def take(self, key: str, from_rank: int) -> bytes:
        file = self._file(key)
        if not file.exists():
            (self._folder / "wanted" / str(from_rank)).touch()
        while not file.exists():
            if (self._folder / "ended" / str(from_rank)).exists() and not file.exists():
                raise RuntimeError(
                    f"rank {os.environ['RANK']} needs an object from rank {from_rank}, which ended "
                    "without sending it: its messages are above"
                )
            time.sleep(_PAUSE_SECONDS)
        return file.read_bytes()

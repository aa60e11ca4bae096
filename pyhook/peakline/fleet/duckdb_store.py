"""Files of an object store for DuckDB, through pyarrow.

DuckDB would download an extension, which many clusters do not allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsspec.implementations.arrow import ArrowFSWrapper

from peakline.fleet.stores import Store


class StoreFiles(ArrowFSWrapper):  # type: ignore[misc]
    """The listed files of a store; the store is not queried about them again."""

    protocol = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
    cachable = False  # codespell:ignore cachable

    def __init__(self, store: Store, files: Mapping[str, Any]) -> None:
        """Take the results of `Store.files` of all tables."""
        super().__init__(store.filesystem)
        self._files = files

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.partition("://")[2] or path

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return the metadata of a file."""
        found = self._files.get(self._strip_protocol(path))
        if found is None:
            raise FileNotFoundError(path)
        entry: dict[str, Any] = self._make_entry(found)
        return entry

    def modified(self, path: str) -> Any:
        """Return the modification time of a file."""
        return self.info(path)["mtime"]

"""Files of an object store for DuckDB, through pyarrow.

DuckDB's own way is an extension that it downloads, which many clusters do not let it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsspec.implementations.arrow import ArrowFSWrapper

from peakline.fleet.stores import Store


class StoreFiles(ArrowFSWrapper):  # type: ignore[misc]
    """The files of a store that were listed: nothing is asked of the store about them again."""

    protocol = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
    cachable = False  # codespell:ignore cachable

    def __init__(self, store: Store, files: Mapping[str, Any]) -> None:
        """Take what `Store.files` returned, of all tables."""
        super().__init__(store.filesystem)
        self._files = files

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.partition("://")[2] or path

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return what is known of a file."""
        found = self._files.get(self._strip_protocol(path))
        if found is None:
            raise FileNotFoundError(path)
        entry: dict[str, Any] = self._make_entry(found)
        return entry

    def modified(self, path: str) -> Any:
        """Return when a file was written."""
        return self.info(path)["mtime"]

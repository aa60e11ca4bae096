"""Fleets in object stores: lists their files, and writes new ones, completely or not at all.

pyarrow reaches the stores and finds credentials where the tools of each store look for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from peakline.fleet.engines import FleetError

_OTHER_NAMES = {"s3a": "s3", "s3n": "s3"}  # Spark's names of a store
_OF_URL = "/%:@?=&+"  # characters that are part of a URL, not of a name
_OF_GOOGLE = ("gs", "gcs")
_PATIENCE = "retry_limit_seconds=15"  # Google's client otherwise retries for 15 minutes
# In these stores a file is invisible, under any name, until it is closed.
_WRITTEN_WHOLE = ("s3", "gcs")


@dataclass(frozen=True)
class Store:
    """A fleet in an object store."""

    url: str
    scheme: str  # s3, gs ...
    filesystem: Any
    root: str  # bucket and folder

    def files(self, table: str) -> Mapping[str, Any]:
        """Return the store's metadata of each file of a table, by path.

        Raises:
            FleetError: the store refuses.
        """
        try:
            found = self.filesystem.get_file_info(
                fs.FileSelector(f"{self.root}/{table}", allow_not_found=True, recursive=True)
            )
        except (OSError, pa.ArrowException) as error:
            raise FleetError(f"{self.url}: {_first_line(error)}") from error
        return {one.path: one for one in found if one.is_file and _is_table(one.base_name)}

    def need_bucket(self) -> None:
        """Raise an error if the bucket does not exist; the store shows its folders as merely empty.

        Raises:
            FleetError: there is none, or the store does not answer.
        """
        bucket = self.root.partition("/")[0]
        try:
            found = self.filesystem.get_file_info(bucket)
        except OSError as error:
            if "DENIED" in str(error):  # users who may read or write need not be allowed to list
                return
            raise FleetError(f"{self.url}: {_first_line(error)}") from error
        if found.type == fs.FileType.NotFound:
            raise FleetError(f"{self.url}: there is no bucket {bucket}")

    def write(self, name: str, content: Any) -> int:
        """Write a file, replacing one of the same name; returns its size.

        Raises:
            OSError: the store refuses.
        """
        with self.filesystem.open_output_stream(f"{self.root}/{name}") as out:
            out.write(content)
        return len(content)


def open_store(url: str) -> Store:
    """Return the store of a fleet.

    Raises:
        FleetError: pyarrow does not know the store, or cannot reach it.
    """
    scheme, _, rest = url.partition("://")
    scheme = _OTHER_NAMES.get(scheme, scheme)
    uri = f"{scheme}://{quote(rest.rstrip('/'), _OF_URL)}"
    if scheme in _OF_GOOGLE and _PATIENCE.partition("=")[0] not in uri:
        uri += ("&" if "?" in uri else "?") + _PATIENCE
    try:
        filesystem, root = fs.FileSystem.from_uri(uri)
    except (OSError, pa.ArrowException) as error:
        raise FleetError(f"{url}: {_first_line(error)}") from error
    return Store(url, scheme, filesystem, root)


def open_store_to_write(url: str) -> Store:
    """Return a store that hides unfinished files, after checking that the bucket exists.

    Raises:
        FleetError: it is no such store.
    """
    store = open_store(url)
    if store.filesystem.type_name not in _WRITTEN_WHOLE:
        raise FleetError(f"{url}: tables are written to folders, s3:// and gs://; copy a folder")
    store.need_bucket()
    return store


def _is_table(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith((".", "_"))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].partition(" error_info=")[0]

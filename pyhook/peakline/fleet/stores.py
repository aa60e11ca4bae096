"""Fleets in object stores: their files by name, and new ones, written whole or not at all.

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

_OTHER_NAMES = {"s3a": "s3", "s3n": "s3"}  # by which Spark knows a store
_OF_URL = "/%:@?=&+"  # what is typed as part of a URL, not of a name
_OF_GOOGLE = ("gs", "gcs")
_PATIENCE = "retry_limit_seconds=15"  # Google's client tries for 15 minutes where nobody answers
# Of these a file is not seen before it is closed, and by no name that pyarrow gives it meanwhile.
_WRITTEN_WHOLE = ("s3", "gcs")


@dataclass(frozen=True)
class Store:
    """A fleet in an object store."""

    url: str
    scheme: str  # s3, gs ...
    filesystem: Any
    root: str  # bucket and folder

    def files(self, table: str) -> Mapping[str, Any]:
        """Return what the store says of each file of a table, by its path.

        Raises:
            FleetError: the store refuses it.
        """
        try:
            found = self.filesystem.get_file_info(
                fs.FileSelector(f"{self.root}/{table}", allow_not_found=True, recursive=True)
            )
        except (OSError, pa.ArrowException) as error:
            raise FleetError(f"{self.url}: {_first_line(error)}") from error
        return {one.path: one for one in found if one.is_file and _is_table(one.base_name)}

    def need_bucket(self) -> None:
        """Refuse a bucket that does not exist; to the store its folders are merely empty.

        Raises:
            FleetError: there is none, or nobody answers.
        """
        bucket = self.root.partition("/")[0]
        try:
            found = self.filesystem.get_file_info(bucket)
        except OSError as error:
            if "DENIED" in str(error):  # who may read or write need not be allowed to look
                return
            raise FleetError(f"{self.url}: {_first_line(error)}") from error
        if found.type == fs.FileType.NotFound:
            raise FleetError(f"{self.url}: there is no bucket {bucket}")

    def write(self, name: str, content: Any) -> int:
        """Write a file in place of the one of this name; returns its size.

        Raises:
            OSError: the store refuses it.
        """
        with self.filesystem.open_output_stream(f"{self.root}/{name}") as out:
            out.write(content)
        return len(content)


def open_store(url: str) -> Store:
    """Return the store of a fleet.

    Raises:
        FleetError: it is of none that pyarrow knows, or cannot be reached.
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
    """Return a store whose files are not seen before they are whole, and that has the bucket.

    Raises:
        FleetError: it is none.
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

"""Reads the file of an offline run of W&B: records in the log format of LevelDB."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK_BYTES = 1 << 15
FILE_HEADER_BYTES = 7
HEADER = struct.Struct("<IHB")  # checksum, length, type
WHOLE, LAST = 1, 4


def records_of(path: Path) -> Iterator[Any]:
    from wandb.proto import wandb_internal_pb2

    for data in _datas_of(path.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        yield record


def _datas_of(content: bytes) -> Iterator[bytes]:
    at, data = FILE_HEADER_BYTES, b""
    while at + HEADER.size <= len(content):
        room = BLOCK_BYTES - at % BLOCK_BYTES
        if room < HEADER.size:
            at += room
            continue
        _, length, kind = HEADER.unpack_from(content, at)
        at += HEADER.size
        data += content[at : at + length]
        at += length
        if kind in (WHOLE, LAST):
            yield data
            data = b""


def history_of(path: Path) -> list[dict[str, Any]]:
    """The logged values of the run, a dict for each step."""
    found: dict[int, dict[str, Any]] = {}
    for record in records_of(path):
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            named = {one.key or "/".join(one.nested_key): one.value_json for one in items}
            values = {key: json.loads(value) for key, value in named.items()}
            found.setdefault(record.history.step.num, {}).update(values)
    return [found[step] for step in sorted(found)]


def artifacts_of(path: Path) -> dict[str, list[str]]:
    """The files of the run's artifacts of our type, by name."""
    artifacts = [one.artifact for one in records_of(path) if one.HasField("artifact")]
    return {
        one.name: [file.path for file in one.manifest.contents]
        for one in artifacts
        if one.type == "peakline"
    }

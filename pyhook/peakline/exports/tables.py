"""Every event as a row: Parquet, CSV, JSON lines. The columns are the fields of `Event`."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, BinaryIO

from peakline.base.output import json_text, printable
from peakline.recording import Event

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import Recording


# A spreadsheet runs a cell that begins with one of these; the wide forms come from East Asian
# input. A leading apostrophe makes the cell text. Source: OWASP, "CSV Injection".
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def write_parquet(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write Parquet, one batch of events at a time; the metadata describe the run."""
    import pyarrow.parquet as pq

    from peakline.recording.arrow import SCHEMA, arrow_batch

    info = recording.info()
    facts = {f"peakline.{name}": str(info[name]) for name in ("run_uuid", "start_realtime_ns")}
    facts |= {f"peakline.{name}": text for name, text in info["meta"].items()}
    with pq.ParquetWriter(out, SCHEMA.with_metadata(facts), compression="zstd") as writer:
        for batch in recording.events(**asked.of_part()).batches():
            writer.write_batch(arrow_batch(batch))


def write_csv(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write CSV with a header line; missing values are empty."""
    text = io.TextIOWrapper(out, "utf-8", errors="replace", newline="")
    writer = csv.writer(text)
    writer.writerow(Event._fields)
    for batch in recording.events(**asked.of_part()).batches():
        writer.writerows(map(_csv_row, batch))
    text.flush()
    text.detach()  # the file is not ours to close


def _csv_row(event: Event) -> list[object]:
    """Return the fields, with a shape in JSON form."""
    shape = None if event.shape is None else list(event.shape)
    return [*map(_cell, event[:-2]), shape, _cell(event.dtype)]


def _cell(value: object) -> object:
    """Return a text as a single-line cell that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    return f"'{printable(value)}" if value.startswith(_FORMULAS) else printable(value)


def write_ndjson(recording: Recording, asked: Asked, out: BinaryIO) -> None:
    """Write one object per line; missing values are null."""
    for batch in recording.events(**asked.of_part()).batches():
        lines = [json_text(event._asdict()) for event in batch]
        out.write(("\n".join(lines) + "\n").encode())

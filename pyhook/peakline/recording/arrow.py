"""Rows of reports and batches of events as Arrow tables. The only module that imports pyarrow."""

from __future__ import annotations

import dataclasses
import typing
from types import NoneType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from peakline import _report

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from peakline.recording.event_batches import EventBatch

_TYPES = {"Q": pa.uint64(), "I": pa.uint32(), "B": pa.uint8(), "d": pa.float64()}
_WORD = pa.dictionary(pa.int32(), pa.string())

# The fields of `Event`.
SCHEMA = pa.schema(
    [
        ("event", pa.uint64()),
        ("seconds", pa.float64()),
        ("time", pa.float64()),
        ("kind", _WORD),
        ("block", pa.uint64()),
        ("bytes", pa.uint64()),
        ("requested_bytes", pa.uint64()),
        ("address", pa.uint64()),
        ("device", pa.uint32()),
        ("stream", pa.uint64()),
        ("allocated_bytes", pa.uint64()),
        ("reserved_bytes", pa.uint64()),
        ("phase", _WORD),
        ("step", pa.uint32()),
        ("thread", pa.uint64()),
        ("module", _WORD),
        ("op", _WORD),
        ("category", _WORD),
        ("lifetime", _WORD),
        ("line", _WORD),
        ("stack_id", pa.uint32()),
        ("free_stack_id", pa.uint32()),
        ("text", pa.string()),
        ("shape", pa.list_(pa.uint64())),
        ("dtype", _WORD),
    ]
)


# Numbers of host memory in columns of devices, as in those of events.
_HOST_DEVICES = {"pinned": _report.PINNED_DEVICE, "cpu": _report.CPU_DEVICE}
_SCALARS = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def table_of_rows(kind: type, rows: Iterable[dict[str, Any]]) -> pa.Table:
    """Return rows of a class of rows.py as a table."""
    objects = list(rows)
    for one in objects:
        if one.get("device") in _HOST_DEVICES:
            one["device"] = _HOST_DEVICES[one["device"]]
    return pa.Table.from_pylist(objects, pa.schema(_fields_of(kind)))


def _fields_of(kind: Any) -> list[pa.Field]:
    hints = typing.get_type_hints(kind)
    return [_field(one.name, hints[one.name]) for one in dataclasses.fields(kind)]


def _field(name: str, hint: Any) -> pa.Field:
    alternatives = typing.get_args(hint) if typing.get_origin(hint) is not tuple else (hint,)
    [inner, *_] = [one for one in alternatives or (hint,) if one is not NoneType]
    return pa.field(name, _type_of(name, inner), nullable=NoneType in alternatives)


def _type_of(name: str, hint: Any) -> pa.DataType:
    if typing.get_origin(hint) is tuple:
        return pa.list_(_type_of(name, typing.get_args(hint)[0]))
    if dataclasses.is_dataclass(hint):
        return pa.struct(_fields_of(hint))
    return pa.uint64() if name == "address" else _SCALARS[hint]


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return a table for pandas; a column of integers that may lack has an extension type."""
    import pandas as pd

    types = {
        pa.string(): pd.StringDtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
    }
    return pd.DataFrame(
        {
            field.name: column.to_pandas(types_mapper=types.get if field.nullable else None)
            for field, column in zip(table.schema, table.columns, strict=True)
        }
    )


def arrow_batch(batch: EventBatch) -> pa.RecordBatch:
    """Return the events as a record batch of `SCHEMA`."""
    names = batch.names
    column = {name: _array(values) for name, values in batch.columns.items()}
    context = column["context"]

    def of_context(field: str) -> pa.Array:
        ids = pa.array([getattr(one, field) for one in names.contexts], pa.uint32())
        return ids.take(context)

    def words(ids: pa.Array, texts: Sequence[str]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(ids.cast(pa.int32()), pa.array(texts, pa.string()))

    def values(ids: pa.Array, numbers: Sequence[Any]) -> pa.Array:
        return pa.array(numbers, pa.uint64()).take(ids)

    # Types of several shapes share a dtype, and a dictionary has each word once.
    dtypes = list(dict.fromkeys(dtype for dtype, _ in names.tensor_types))
    dtype_of = pa.array([dtypes.index(dtype) for dtype, _ in names.tensor_types], pa.uint32())
    seconds = column["seconds"]
    arrays = {
        **column,
        "time": pc.add(seconds, names.start_realtime_ns * 1e-9),
        "kind": words(column["kind"], names.kinds),
        "stream": values(column["stream"], names.streams),
        "phase": words(column["phase"], names.phase_names),
        "thread": values(column["thread"], [number or None for number, _ in names.threads]),
        "module": words(of_context("module"), names.modules),
        "op": words(of_context("op"), names.operators),
        "category": words(of_context("category"), names.categories),
        "lifetime": words(of_context("lifetime"), names.lifetimes),
        "line": words(of_context("line"), names.lines),
        "stack_id": of_context("node"),
        "free_stack_id": column["free_node"],
        "text": pa.array(
            [None if one is None else names.texts[one] for one in column["text"].to_pylist()],
            pa.string(),
        ),
        "shape": pa.array([shape for _, shape in names.tensor_types], pa.list_(pa.uint64())).take(
            column["tensor_type"]
        ),
        "dtype": words(dtype_of.take(column["tensor_type"]), dtypes),
    }
    return pa.record_batch([arrays[one.name].cast(one.type) for one in SCHEMA], SCHEMA)


def _array(values: memoryview) -> pa.Array:
    """Return a column; the largest number of its type stands for no value."""
    kind = _TYPES[values.format]
    array = pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
    if values.format not in "QI":
        return array
    none = pa.scalar(2 ** (8 * values.itemsize) - 1, kind)
    return pc.if_else(pc.equal(array, none), pa.scalar(None, kind), array)

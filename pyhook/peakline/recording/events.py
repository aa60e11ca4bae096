"""Every event of a trace: one by one, in batches, or as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from peakline.recording.event_batches import Event, EventBatch, EventNames

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from peakline._report import Trace
    from peakline.recording.rows import Location


class Events:
    """The events of a trace, in order. Iterate over it, or over `batches`, as often as needed."""

    def __init__(self, trace: Callable[[], Trace], options: dict[str, Any]) -> None:
        """Read nothing yet; `trace` returns the trace, `options` are those of `Trace.events`."""
        self._trace = trace
        self._options = options
        self.names = EventNames()

    def __iter__(self) -> Iterator[Event]:
        """Yield every event."""
        for batch in self.batches():
            yield from batch

    def stack(self, stack_id: int) -> tuple[Location, ...]:
        """Return the frames of ``stack_id`` or ``free_stack_id``, the innermost first."""
        return self.names.stack(stack_id)

    def batches(self) -> Iterator[EventBatch]:
        """Yield the events as columns, some thousand at a time."""
        self.names = names = EventNames()
        for columns, new_names in self._trace().events(**self._options):
            names.add(json.loads(new_names))
            yield EventBatch(columns, names)

    def to_arrow(self) -> pa.Table:
        """Return all events as a pyarrow.Table with the columns of `Event`."""
        import pyarrow as pa

        from peakline.recording.arrow import SCHEMA, arrow_batch

        return pa.Table.from_batches(map(arrow_batch, self.batches()), SCHEMA)

    def to_pandas(self) -> pd.DataFrame:
        """Return all events as a pandas.DataFrame with the columns of `Event`.

        Integers that an event may lack are UInt64 or UInt32; ``time`` is datetime64, UTC.
        """
        import pandas as pd

        from peakline.recording.arrow import frame_of

        frame = frame_of(self.to_arrow())
        ns = (frame["seconds"] * 1e9).round().astype("int64") + self.names.start_realtime_ns
        frame["time"] = pd.to_datetime(ns, unit="ns", utc=True)
        return frame

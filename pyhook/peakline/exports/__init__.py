"""Recordings in the formats of other tools: ``peakline export FORMAT FILE``.

`FORMATS` is the table of them. A format is one function of a recording and a request; it reads
reports and events through the public API, and writes bytes.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from peakline.exports.asked import Asked
    from peakline.recording import Recording


@dataclass(frozen=True)
class Format:
    """A format: its description, file name suffix, and the module and function that write it.

    ``takes`` are the options that it supports: "at" (a moment), "during" (a part of the run),
    "min". ``needs`` is the package that it requires, which the extra of the same name installs.
    """

    name: str
    help: str
    suffix: str
    module: str
    takes: tuple[str, ...]
    needs: str = ""
    extra: str = ""

    def write(self, recording: Recording, asked: Asked, out: BinaryIO) -> None:
        """Write the recording in this format.

        Raises:
            ImportError: the required package is not installed.
            peakline._report.TraceError: the trace allows no answer.
        """
        module, function = self.module.split(":")
        loaded = importlib.import_module(f"peakline.exports.{module}")
        getattr(loaded, function)(recording, asked, out)


FORMATS = {
    one.name: one
    for one in (
        Format(
            "speedscope",
            "flame graph of the blocks live at a moment, for speedscope.app",
            ".speedscope.json",
            "speedscope:write",
            ("at",),
        ),
        Format(
            "folded",
            "stacks with their bytes, a line each, for flamegraph.pl, inferno ...",
            ".folded",
            "stacks:write_folded",
            ("at",),
        ),
        Format(
            "pprof",
            "blocks live at a moment, for pprof",
            ".pb.gz",
            "stacks:write_pprof",
            ("at",),
        ),
        Format(
            "perfetto",
            "memory over time, phases and large blocks, for ui.perfetto.dev",
            ".perfetto-trace",
            "perfetto:write",
            ("during", "min"),
        ),
        Format(
            "heaptrack",
            "every block, for heaptrack_gui and heaptrack_print",
            ".heaptrack.gz",
            "heaptrack:write",
            ("during",),
        ),
        Format(
            "torch-snapshot",
            "a snapshot as of torch.cuda.memory._dump_snapshot(), for pytorch.org/memory_viz",
            ".snapshot.pickle",
            "torch_snapshot:write",
            (),
        ),
        Format(
            "parquet",
            "every event as a row, for pandas, DuckDB, Spark ...",
            ".parquet",
            "tables:write_parquet",
            ("during",),
            needs="pyarrow",
            extra="data",
        ),
        Format("csv", "every event as a line", ".csv", "tables:write_csv", ("during",)),
        Format(
            "ndjson",
            "every event as a line of JSON",
            ".ndjson",
            "tables:write_ndjson",
            ("during",),
        ),
        Format(
            "openmetrics",
            "peaks and levels as metrics, for Prometheus",
            ".prom",
            "metrics:write_openmetrics",
            ("at",),
        ),
        Format(
            "tensorboard",
            "memory of every step as scalars, for TensorBoard",
            ".tfevents",
            "metrics:write_tensorboard",
            (),
            needs="tensorboard",
            extra="tensorboard",
        ),
        Format(
            "memory-snapshot",
            "tensors live at a moment, as pytorch-memory-tracing writes its peak snapshot",
            ".memory_snapshot.json",
            "references:write_memory_snapshot",
            ("at", "min"),
        ),
        Format(
            "memory-timeline",
            "events, layers and totals, as MemoryTracer.export_timeline() of gpu_optimizer",
            ".memory_timeline.json",
            "references:write_memory_timeline",
            ("during",),
        ),
        Format(
            "memory-tracker",
            "levels after every operator, as torch.distributed._tools.memory_tracker saves them",
            ".memory_tracker.pickle",
            "references:write_memory_tracker",
            ("during",),
        ),
        Format(
            "memory-trace",
            "levels around modules and steps, a line each, as MemTracer of tdynamics",
            ".mem_trace.log",
            "references:write_memory_trace",
            ("during",),
        ),
    )
}

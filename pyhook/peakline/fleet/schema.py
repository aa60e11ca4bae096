"""The tables of a fleet: columns, types, units. A test compares them with docs/fleet.md.

Integers are signed, because Spark has no unsigned ones. The meaning of a nullable column contains
"null".
"""

from __future__ import annotations

from dataclasses import dataclass

VERSION = 1

RANKS, SITES, PHASES, GROUPS = "ranks", "sites", "phases", "groups"


@dataclass(frozen=True)
class Column:
    """A column: its type is "int64", "int32", "float64", "bool", "text", "time" or "labels"."""

    name: str
    type: str
    meaning: str


_RANK_ID = Column("rank_id", "int64", "row of `ranks`")

TABLES: dict[str, tuple[Column, ...]] = {
    RANKS: (
        Column("rank_id", "int64", "this row; the other tables name it"),
        Column("run_id", "text", "run: the same for all processes of one job"),
        Column("trace_id", "text", "trace file of the row"),
        Column("exported", "time", "time of export; of two exports of a trace the later counts"),
        Column("job", "text", "the launcher's name of the job (SLURM, torchrun ...), or null"),
        Column("attempt", "int32", "number of restarts of the rank"),
        Column("rank", "int32", "rank of the process, or null"),
        Column("local_rank", "int32", "its rank on its host, or null"),
        Column("world_size", "int32", "ranks of the job, or null"),
        Column("rank_name", "text", "its name in answers: `rank 3`, `process 4711 on host`"),
        Column("host", "text", "machine"),
        Column("pid", "int32", "process"),
        Column("device_kind", "text", "`gpu`; for memory of the host `pinned` or `cpu`"),
        Column("device", "int32", "number of the GPU, null for memory of the host"),
        Column("device_name", "text", "product, or null"),
        Column("script", "text", "name of the program"),
        Column("command", "text", "its command line, without secrets"),
        Column("version", "text", "`--label version=`, else the commit of the program, or null"),
        Column("commit", "text", "git commit that was checked out at the start, or null"),
        Column("labels", "labels", "all `--label NAME=VALUE`"),
        Column("started", "time", "start of the trace, UTC"),
        Column("duration_ms", "int64", "from start to last event, in milliseconds"),
        Column(
            "end_reason",
            "text",
            "`end`, `out of memory`, `steps` (--steps), `value` (a simulated run waited for one),"
            " `killed`, `running`",
        ),
        Column("peak_bytes", "int64", "exact peak of allocated bytes"),
        Column("peak_ms", "int64", "when, since the start"),
        Column("peak_phase", "text", "phase with the highest peak, or null"),
        Column("peak_step", "int32", "its step, or null"),
        Column("reserved_peak_bytes", "int64", "peak of torch's segments, or null"),
        Column("used_peak_bytes", "int64", "peak use of the device by all processes, or null"),
        Column("device_total_bytes", "int64", "size of the device, or null"),
        Column("total_allocated_bytes", "int64", "sum of all allocations"),
        Column("refused_count", "int32", "requests that ran out of memory, on all devices"),
        Column("simulated", "text", "simulated device, null on a real one"),
        Column("complete", "bool", "whether nothing is missing from the trace"),
        Column("torch_version", "text", "torch, or null"),
        Column("peakline_version", "text", "peakline that recorded, or null"),
        Column("schema_version", "int32", f"{VERSION}"),
    ),
    SITES: (
        _RANK_ID,
        Column("line_hash", "int64", "of file, line and function"),
        Column("function_hash", "int64", "of file and function: lines move between versions"),
        Column("file", "text", "normalised path, empty if there is no line"),
        Column("line", "int32", "0 if unknown"),
        Column("function", "text", "qualified name; without a file the name of the row in `table`"),
        Column("bytes", "int64", "held at the peak; the rows of a rank sum to its peak_bytes"),
        Column("blocks", "int64", "number of blocks"),
        Column("median_bytes", "int64", "median of their sizes"),
        Column("backward_bytes", "int64", "the part that the backward pass allocated"),
        Column("total_allocated_bytes", "int64", "over the whole run, on all devices, or null"),
    ),
    PHASES: (
        _RANK_ID,
        Column("phase", "text", "forward, backward, optimizer ... or a name that the program gave"),
        Column("peak_bytes", "int64", "highest level within it"),
        Column("peak_ms", "int64", "when, since the start"),
        Column("peak_step", "int32", "in which step, or null"),
    ),
    GROUPS: (
        _RANK_ID,
        Column("kind", "text", "`module`, `category` or `op`"),
        Column("name", "text", "module, category or operator"),
        Column("bytes", "int64", "held at the peak; each kind of a rank sums to its peak_bytes"),
        Column("blocks", "int64", "number of blocks"),
        Column("median_bytes", "int64", "median of their sizes"),
        Column("backward_bytes", "int64", "the part that the backward pass allocated"),
    ),
}


def names_of(table: str) -> list[str]:
    """Return the names of the columns of a table."""
    return [column.name for column in TABLES[table]]

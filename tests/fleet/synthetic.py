"""Fleets that never ran, with known answers: runs, ranks and lines by a seed.

The last version holds more at one line; some runs are near the limit of their device or were
refused memory; some ranks hold more than the others. Rows are plain dictionaries, as
`peakline.fleet.rows` makes them of traces.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from peakline.fleet import schema
from peakline.fleet.identity import Identity
from peakline.fleet.places import stable_hash
from peakline.fleet.rows import TraceRows
from peakline.fleet.tables import write_rows
from peakline.runs.members import Member

GB = 1 << 30
DEVICE_BYTES = (40 * GB, 80 * GB, 141 * GB)
VERSIONS = ("1.4.1", "1.4.2", "1.5.0")
FIRST_DAY = datetime(2030, 1, 1)


@dataclass(frozen=True)
class Size:
    """How large a fleet is."""

    runs: int = 40
    most_ranks: int = 4
    lines: int = 30
    programs: int = 3


def make_fleet(seed: int, size: Size | None = None) -> list[TraceRows]:
    """Return the rows of every rank of a fleet."""
    size = size or Size()
    draw = random.Random(seed)
    return [rank for number in range(size.runs) for rank in _make_run(draw, number, size)]


def write_fleet(ranks: list[TraceRows], folder: Path) -> None:
    """Write a fleet as `peakline export parquet --tables` does."""
    for rank in ranks:
        write_rows(folder, rank)


def rename_version(ranks: list[TraceRows], name: str) -> None:
    """Give the first version another name."""
    for trace in ranks:
        [row] = trace.tables["ranks"]
        row["version"] = name if row["version"] == VERSIONS[1] else row["version"]


def _make_run(draw: random.Random, number: int, size: Size) -> list[TraceRows]:
    ranks = draw.randint(1, size.most_ranks)
    run = {
        "run_id": f"{draw.getrandbits(128):032x}",
        "script": f"train{draw.randrange(size.programs)}",
        "version": draw.choice((*VERSIONS, None)) if number % 7 else VERSIONS[number % 3],
        "started": FIRST_DAY + timedelta(hours=number),
        "duration_ms": draw.randint(1, 200_000_000),
        "device_total_bytes": draw.choice(DEVICE_BYTES),
    }
    uneven = draw.randrange(ranks) if draw.random() < 0.5 else None
    # The same lines in all ranks, else no line would be known to differ.
    base = [draw.randrange(0, run["device_total_bytes"] // size.lines) for _ in range(size.lines)]
    made = [_make_rank(draw, run, rank, ranks, base, rank == uneven) for rank in range(ranks)]
    if draw.random() < 0.3:  # the first rank was started anew
        made.append(_make_rank(draw, run, 0, ranks, base, uneven=True))
        made[0].tables["ranks"][0]["attempt"] = 1
    if draw.random() < 0.3:  # a child of a rank
        made.append(_make_rank(draw, run, 0, ranks, base, uneven=True))
        made[-1].tables["ranks"][0] |= {"rank": None, "rank_name": "process 77 on host1"}
    return made


def _make_rank(
    draw: random.Random, run: dict[str, Any], rank: int, ranks: int, base: list[int], uneven: bool
) -> TraceRows:
    trace = f"{draw.getrandbits(128):032x}"
    number = stable_hash(trace)
    kept = [i for i in range(len(base)) if draw.random() < 0.9]
    sizes = {i: base[i] for i in kept}
    if uneven:
        sizes[draw.randrange(len(base))] = draw.randrange(run["device_total_bytes"] // 4)
    if run["version"] == VERSIONS[-1]:
        sizes[3] = sizes.get(3, 0) + 30 * GB
    sites = [_site(number, run["script"], i, size) for i, size in sorted(sizes.items())]
    peak = sum(site["bytes"] for site in sites)
    member = Member(
        path=Path(),
        file_uuid=trace,
        run_uuid="",
        job="",
        script="",
        host="host1",
        pid=1000 + rank,
        parent_pid=0,
        rank=rank,
        local_rank=rank,
        world_size=ranks,
        attempt=0,
        started=0.0,
        is_being_written=False,
    )
    identity = Identity(run["run_id"], member)
    row = {
        **dict.fromkeys(schema.names_of(schema.RANKS)),
        **run,
        "rank_id": number,
        "trace_id": trace,
        "exported": FIRST_DAY + timedelta(days=99),
        "rank": rank,
        "world_size": ranks,
        "rank_name": identity.name,
        "host": member.host,
        "pid": member.pid,
        "device_kind": "gpu",
        "device": rank,
        "labels": {"team": draw.choice("ab")},
        "end_reason": draw.choice(("end", "end", "killed")),
        **_levels(draw, peak, run["device_total_bytes"]),
        "complete": True,
        "schema_version": schema.VERSION,
    }
    if row["refused_count"]:
        row["end_reason"] = draw.choice(("out of memory", "end"))
    phases = [
        {"rank_id": number, "phase": phase, "peak_bytes": peak // share, "peak_ms": 10 * share}
        for share, phase in enumerate(("forward", "backward"), 1)
    ]
    group = {"rank_id": number, "bytes": peak, "blocks": 1, "median_bytes": peak}
    groups = [
        {**group, "kind": kind, "name": f"{kind} 1", "backward_bytes": 0}
        for kind in ("module", "category", "op")
    ]
    tables = {"ranks": [row], "sites": sites, "phases": phases, "groups": groups}
    return TraceRows(identity, tables)


def _levels(draw: random.Random, peak: int, total: int) -> dict[str, Any]:
    """What torch reserved and the driver says; both may be unknown."""
    reserved = peak + draw.randrange(4 * GB)
    used = min(total, reserved + draw.randrange(GB))
    return {
        "peak_bytes": peak,
        "reserved_peak_bytes": reserved if draw.random() < 0.9 else None,
        "used_peak_bytes": used if draw.random() < 0.9 else None,
        "refused_count": draw.randrange(1, 4) if draw.random() < 0.1 else 0,
        "total_allocated_bytes": 3 * peak,
    }


def _site(number: int, script: str, i: int, size: int) -> dict[str, Any]:
    file, line, function = f"{script}/model{i % 3}.py", 10 + i, f"Layer{i // 2}.forward"
    return {
        "rank_id": number,
        "line_hash": stable_hash(file, line, function),
        "function_hash": stable_hash(file, function),
        "file": file,
        "line": line,
        "function": function,
        "bytes": size,
        "blocks": 1 + size % 5,
        "median_bytes": size // 2,
        "backward_bytes": 0,
        "total_allocated_bytes": 3 * size,
    }

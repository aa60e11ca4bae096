"""A trace as rows of the tables, from its reports, without events."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from peakline.base.device_names import is_gpu, is_worth_showing, name_of_device
from peakline.fleet import schema
from peakline.fleet.identity import Identity, identity_of
from peakline.fleet.places import normalised_file, script_folder, stable_hash
from peakline.fleet.repository import commit_at

Row = dict[str, Any]
Rows = dict[str, list[Row]]  # by table


@dataclass(frozen=True)
class TraceRows:
    """The rows of one trace, and its identity."""

    identity: Identity
    tables: Rows


def rows_of_trace(path: str, labels: Mapping[str, str], run_id: str | None = None) -> TraceRows:
    """Read a trace: one pass over its events per device, and one for its segments.

    If the trace keeps an outline, the device with the highest peak needs no pass.

    Raises:
        peakline._report.TraceError: the trace allows no answer.
    """
    from peakline import _report
    from peakline.runs.members import member_of
    from peakline.runs.outlines import outline_of

    trace = _report.Trace(path)
    info = trace.info()
    directory = info["meta"].get("working_directory")
    outline = outline_of(trace)
    identity = identity_of(member_of(Path(path), info), run_id)
    facts = _facts_of_trace(trace, info, outline, identity, labels)
    allocated = _allocated_by_line(trace, directory)
    tables: Rows = {name: [] for name in schema.TABLES}
    chosen = outline["chosen"]["device"]
    others = [one["device"] for one in outline["devices"] if is_worth_showing(one)]
    exported_ns = time.time_ns()
    for device in dict.fromkeys((chosen, *others)):
        found = outline if device == chosen else outline_of(trace, device)
        number = stable_hash(identity.member.file_uuid, device, exported_ns)
        rank = _rank_row(trace, info, found, identity, several=len(others) > 1)
        exported = datetime.fromtimestamp(exported_ns // 1000 / 1e6, timezone.utc)
        ids = {"rank_id": number, "exported": exported.replace(tzinfo=None)}
        tables[schema.RANKS].append({**ids, **facts, **rank})
        _add_rows(tables, number, found, info, allocated)
    return TraceRows(identity, tables)


def _facts_of_trace(
    trace: Any,
    info: dict[str, Any],
    outline: dict[str, Any],
    identity: Identity,
    labels: Mapping[str, str],
) -> Row:
    """Return the columns that are equal for all devices of a trace."""
    meta, member = info["meta"], identity.member
    began = info["start_realtime_ns"]
    command, directory = meta.get("argv", ""), meta.get("working_directory", "")
    commit = commit_at(script_folder(command, directory) or directory, began / 1e9)
    return {
        "run_id": identity.run_id,
        "trace_id": member.file_uuid,
        "job": member.job or None,
        **{name: getattr(member, name) for name in ("attempt", "rank", "local_rank")},
        **{name: getattr(member, name) for name in ("world_size", "host", "pid")},
        "script": meta.get("script", ""),
        "command": command,
        "version": labels.get("version") or (commit[:12] if commit else None),
        "commit": commit,
        "labels": dict(labels),
        "started": datetime.fromtimestamp(began // 1000 / 1e6, timezone.utc).replace(tzinfo=None),
        "duration_ms": round(outline["duration_seconds"] * 1000),
        "end_reason": _end_reason(trace, info, outline),
        "refused_count": outline["out_of_memory_count"],
        "simulated": outline["simulated"],
        "complete": outline["complete"],
        "torch_version": meta.get("torch_version"),
        "peakline_version": meta.get("peakline_version"),
        "schema_version": schema.VERSION,
    }


def _end_reason(trace: Any, info: dict[str, Any], outline: dict[str, Any]) -> str:
    meta = info["meta"]
    if info["is_being_written"]:
        return "running"
    if outline["out_of_memory_count"] and _ended_refused(trace):
        return "out of memory"
    if "stopped_waiting_at" in meta:
        return "value"
    if "ended_after_steps" in meta:
        return "steps"
    return "end" if outline["clean_end"] else "killed"


def _ended_refused(trace: Any) -> bool:
    """Return whether the program did not catch its last refused request."""
    refused = json.loads(trace.report("oom", json=True, top=1))["ooms"]
    return bool(refused) and not refused[-1]["is_caught"]


def _allocated_by_line(trace: Any, directory: str | None) -> dict[str, int]:
    """Return the bytes that each line allocated over the run; empty if they are not counted."""
    from peakline import _report

    try:
        stats = json.loads(trace.report("stats", json=True, top=0, cwd=directory))
    except _report.TraceError:
        return {}
    return {row["key"]: row["bytes"] for row in stats["by_bytes"]}


def _rank_row(
    trace: Any, info: dict[str, Any], outline: dict[str, Any], identity: Identity, several: bool
) -> Row:
    """Return the columns of one device."""
    chosen, meta = outline["chosen"], info["meta"]
    device = chosen["device"]
    is_number = is_gpu(device)
    highest = max(chosen["phases"], key=lambda one: one["peak_bytes"], default=None)
    name = identity.name + (f", {name_of_device(device)}" if several or not is_number else "")

    def of_device(fact: str) -> str | None:
        return meta.get(f"device.{device}.{fact}") if is_number else None

    total, most = of_device("total_bytes"), of_device("most_used_bytes")
    return {
        "rank_name": name,
        "device_kind": "gpu" if is_number else device,
        "device": device if is_number else None,
        "device_name": of_device("name"),
        "peak_bytes": chosen["peak_bytes"],
        "peak_ms": round(chosen["peak_seconds"] * 1000),
        "peak_phase": highest["name"] if highest else None,
        "peak_step": highest["peak_step"] if highest else None,
        "reserved_peak_bytes": _reserved_peak(trace, device) if is_number else None,
        "used_peak_bytes": int(most) if most else None,
        "device_total_bytes": int(total) if total and int(total) else None,
        "total_allocated_bytes": chosen["total_allocated_bytes"],
    }


def _reserved_peak(trace: Any, device: int) -> int | None:
    from peakline import _report

    try:
        table = trace.report("table", json=True, top=1, measure="reserved", device=device)
    except _report.TraceError:
        return None
    peak = json.loads(table)["peak_bytes"]
    return int(peak) or None


def _add_rows(
    tables: Rows,
    number: int,
    outline: dict[str, Any],
    info: dict[str, Any],
    allocated: Mapping[str, int],
) -> None:
    """Add the lines, phases and groups of one device."""
    tables[schema.SITES] += _site_rows(number, outline, info["meta"], allocated)
    for one in outline["chosen"]["phases"]:
        peak = {"peak_bytes": one["peak_bytes"], "peak_ms": round(one["peak_seconds"] * 1000)}
        step = {"peak_step": one["peak_step"]}
        tables[schema.PHASES].append({"rank_id": number, "phase": one["name"], **peak, **step})
    for kind in ("module", "category", "op"):
        tables[schema.GROUPS] += [
            {"rank_id": number, "kind": kind, "name": row["key"], **_held(row)}
            for row in outline["rows"][kind]
        ]


def _site_rows(
    number: int, outline: dict[str, Any], meta: Mapping[str, str], allocated: Mapping[str, int]
) -> list[Row]:
    """Return a row per line; two files with the same normalised path are one line.

    The median of such a line is that of its larger part, which comes first.
    """
    directory = meta.get("working_directory", "")
    script = script_folder(meta.get("argv", ""), directory)
    found: dict[tuple[str, int, str], Row] = {}
    for row in outline["rows"]["line"]:
        site = file, line, function = _site_of(row, directory, script)
        total = {"total_allocated_bytes": allocated.get(row["key"])}
        if site in found:
            parts = {**_held(row), **total, "median_bytes": 0}
            for name, part in parts.items():
                whole = found[site][name]
                found[site][name] = None if whole is None or part is None else whole + part
            continue
        hashes = {"line_hash": stable_hash(*site), "function_hash": stable_hash(file, function)}
        named = {"file": file, "line": line, "function": function}
        found[site] = {"rank_id": number, **hashes, **named, **_held(row), **total}
    return list(found.values())


def _held(row: dict[str, Any]) -> Row:
    held = {name: row[name] for name in ("bytes", "median_bytes", "backward_bytes")}
    return {**held, "blocks": row["count"]}


def _site_of(row: dict[str, Any], directory: str, script: str) -> tuple[str, int, str]:
    location = row["location"]
    if location is None:
        return "", 0, row["key"]
    function = location["qualified_name"] or location["function"] or ""
    return normalised_file(location["file"], directory, script), location["line"] or 0, function

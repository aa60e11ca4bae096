"""The answers to the named questions, worked out from the rows in plain Python, without SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from peakline.fleet.rows import TraceRows

Row = dict[str, Any]
GB_HOUR = (1 << 30) * 3_600_000


class Fleet:
    """The ranks that are asked about, each with its sites."""

    def __init__(
        self,
        traces: Iterable[TraceRows],
        since: datetime | None = None,
        versions: tuple[str, ...] = (),
    ) -> None:
        self.sites: dict[int, list[Row]] = defaultdict(list)
        self.ranks: list[Row] = []
        for trace in traces:
            self.ranks += [
                row
                for row in trace.tables["ranks"]
                if (since is None or row["started"] >= since)
                and (not versions or row["version"] in versions)
            ]
            for site in trace.tables["sites"]:
                self.sites[site["rank_id"]].append(site)
        self.runs: dict[str, list[Row]] = defaultdict(list)
        for row in self.ranks:
            self.runs[row["run_id"]].append(row)

    def waste(self) -> list[Row]:
        rows = []
        for run, ranks in self.runs.items():
            unused = [max(0, one["device_total_bytes"] - used(one)) for one in ranks]
            cached = [
                max(0, (one["reserved_peak_bytes"] or one["peak_bytes"]) - one["peak_bytes"])
                for one in ranks
            ]
            byte_ms = sum(
                (u + c) * one["duration_ms"]
                for u, c, one in zip(unused, cached, ranks, strict=True)
            )
            row = {
                "run_id": run,
                "script": ranks[0]["script"],
                "version": ranks[0]["version"],
                "ranks": len(ranks),
                "peak_bytes": max(one["peak_bytes"] for one in ranks),
                "device_bytes": sum(one["device_total_bytes"] for one in ranks),
                "unused_bytes": sum(unused),
                "cached_bytes": sum(cached),
                "waste_gb_hours": byte_ms / GB_HOUR,
            }
            rows.append((-byte_ms, run, row))
        return in_order(rows)

    def regressions(self, before: str, after: str, by: str = "function") -> list[Row]:
        totals: dict[Any, dict[str, int]] = defaultdict(lambda: {before: 0, after: 0})
        lines: dict[Any, dict[str, list[int]]] = defaultdict(lambda: {before: [], after: []})
        counts: dict[str, dict[str, int]] = defaultdict(lambda: {before: 0, after: 0})
        for rank in self.ranks:
            counts[rank["script"]][rank["version"]] += 1
            for site in self.sites[rank["rank_id"]]:
                place = rank["script"], site[f"{by}_hash"], site["file"], site["function"]
                totals[place][rank["version"]] += site["bytes"]
                lines[place][rank["version"]].append(site["line"])
        rows = []
        for place, total in totals.items():
            script, number, file, function = place
            ranks = counts[script]
            if not all(ranks.values()):
                continue
            means = {version: total[version] / ranks[version] for version in (before, after)}
            if means[after] <= means[before]:
                continue
            found = lines[place][after] or lines[place][before]
            row = {
                "script": script,
                "file": file,
                "line": min(found),
                "function": function,
                "mean_before_bytes": means[before],
                "mean_after_bytes": means[after],
                "more_bytes": means[after] - means[before],
                "ranks_before": ranks[before],
                "ranks_after": ranks[after],
            }
            rows.append((-row["more_bytes"], script, number, row))
        return in_order(rows)

    def gb_hours(self, by: str = "line") -> list[Row]:
        found: dict[int, list[tuple[Row, Row]]] = defaultdict(list)
        for rank in self.ranks:
            for site in self.sites[rank["rank_id"]]:
                found[site[f"{by}_hash"]].append((rank, site))
        whole = sum(rank["peak_bytes"] * rank["duration_ms"] for rank in self.ranks)
        rows = []
        for number, pairs in found.items():
            byte_ms = sum(site["bytes"] * rank["duration_ms"] for rank, site in pairs)
            row = {
                "file": pairs[0][1]["file"],
                "line": min(site["line"] for _, site in pairs),
                "function": pairs[0][1]["function"],
                "gb_hours": byte_ms / GB_HOUR,
                "share": byte_ms / whole,
                "ranks": len({rank["rank_id"] for rank, _ in pairs}),
                "largest_bytes": max(site["bytes"] for _, site in pairs),
            }
            rows.append((-byte_ms, number, row))
        return in_order(rows)

    def limits(self, near: float) -> list[Row]:
        rows = []
        for run, ranks in self.runs.items():
            fullest = min(
                ranks, key=lambda one: (-used(one) / one["device_total_bytes"], one["rank_name"])
            )
            share = used(fullest) / fullest["device_total_bytes"]
            refused = sum(one["refused_count"] for one in ranks)
            if share < near and not refused:
                continue
            kind = 0 if fullest["end_reason"] == "out of memory" else 1 if refused else 2
            row = {
                "run_id": run,
                "script": fullest["script"],
                "version": fullest["version"],
                "ranks": len(ranks),
                "refused": refused,
                "end_reason": fullest["end_reason"],
                "rank_name": fullest["rank_name"],
                "used_bytes": used(fullest),
                "device_total_bytes": fullest["device_total_bytes"],
                "left_bytes": fullest["device_total_bytes"] - used(fullest),
                "share": share,
            }
            rows.append((kind, -share, run, row))
        return in_order(rows)

    def ranks_differ(self, by: str = "line") -> list[Row]:
        rows = []
        for run, processes in self.runs.items():
            ranks = compared(processes)
            high = min(ranks, key=lambda one: (-one["peak_bytes"], one["rank_name"]))
            low = min(ranks, key=lambda one: (one["peak_bytes"], one["rank_name"]))
            spread = high["peak_bytes"] - low["peak_bytes"]
            if not spread:
                continue
            more: dict[int, int] = defaultdict(int)
            named: dict[int, Row] = {}
            for rank, sign in ((high, 1), (low, -1)):
                for site in self.sites[rank["rank_id"]]:
                    number = site[f"{by}_hash"]
                    more[number] += sign * site["bytes"]
                    if number not in named or site["line"] < named[number]["line"]:
                        named[number] = site
            place = min(more, key=lambda number: (-abs(more[number]), number))
            row = {
                "run_id": run,
                "script": high["script"],
                "version": high["version"],
                "ranks": len(ranks),
                "highest_rank": high["rank_name"],
                "highest_bytes": high["peak_bytes"],
                "lowest_rank": low["rank_name"],
                "lowest_bytes": low["peak_bytes"],
                "spread_bytes": spread,
                "line_bytes": more[place],
                **{name: named[place][name] for name in ("file", "line", "function")},
            }
            rows.append((-spread, run, row))
        return in_order(rows)


def compared(processes: list[Row]) -> list[Row]:
    """The last attempt of every rank; of a run without ranks all processes."""
    last: dict[Any, Row] = {}
    for one in sorted(processes, key=lambda one: one["attempt"] or 0):
        last[one["rank"], one["device"]] = one
    known = [one for (rank, _), one in last.items() if rank is not None]
    return known or processes


def used(rank: Row) -> int:
    levels = (rank["used_peak_bytes"], rank["reserved_peak_bytes"], rank["peak_bytes"])
    return max(level or 0 for level in levels)


def in_order(rows: list[tuple[Any, ...]]) -> list[Row]:
    """Sort by all but the row itself."""
    return [one[-1] for one in sorted(rows, key=lambda one: one[:-1])]

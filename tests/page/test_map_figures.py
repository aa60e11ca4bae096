"""The map of the page at any event, against the reports of the engine at the same moments."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import Lab, Run
from peakline._report import Trace
from test_modules import said_under_node

SCRIPT = """
import { readFileSync } from "node:fs";
import { readColumns } from "./data/columns.js";
import { AllocatorHistory } from "./data/allocator_history.js";
import { findCauses, findPins, freePieces } from "./data/reserved.js";
const page = JSON.parse(readFileSync("FOLDER/names.json", "utf8"));
const columns = readColumns(page.columns, new Uint8Array(readFileSync("FOLDER/columns.bin")));
const history = new AllocatorHistory(page, columns);
const key = (block) => page.lines[columns.context_line[columns.block_context[block]]].key;
let seed = 5;
const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
const changes = history.moments.map((one) => one.change);
for (let i = 0; i < COUNT; i++) {
  // Behind the last change of its time.
  const change = history.changeAt(history.tick[random(history.changeCount)]);
  if (change < history.changeCount) changes.push(change);
}
const said = changes.map((change, i) => {
  const state = history.at(change);
  const { bytes, ...rest } = findCauses(state, columns);
  const pins = findPins(state, columns);
  const named = history.moments[i];
  const lines = pins.lines.map((pin) => [page.lines[pin.line].key, pin.own, pin.blocks.length,
    pin.sole, pin.soleFree, pin.shared]);
  const sets = pins.sets.map((set) => [set.bytes, set.lines.map((line) => page.lines[line].key)]);
  const segments = state.segments.map((segment) => ({
    address: segment.address, bytes: segment.bytes, stream: page.streams[segment.stream],
    pool: segment.pool, is_expandable: segment.isExpandable,
    blocks: [...state.blocks.subarray(segment.from, segment.to)].map((block, j) => ({
      address: columns.block_address[block], bytes: columns.block_bytes[block],
      requested_bytes: columns.block_bytes[block] - columns.block_rounding[block],
      is_waiting: state.waiting[segment.from + j] === 1, location: key(block) })),
    holes: freePieces(state, segment, columns) }));
  const seconds = named ? named.seconds : history.tick[change - 1] * page.tick_seconds;
  return { seconds, kind: named ? named.kind : "", number: named ? named.number : 0,
    bytes, rest, segments, lines, sets };
});
// What is live at the highest moment of every point, which the bar shows.
const wrong = history.hasEveryEvent ? Array.from(columns.point_peak).filter((peak, i) => {
  const state = history.at(history.changeAt(columns.point_begin[i] + columns.point_peak_offset[i]));
  return findCauses(state, columns).bytes.live !== peak * page.byte_unit;
}).length : 0;
console.log(JSON.stringify({ said, wrong, every: history.hasEveryEvent }));
"""
SETTINGS = "expandable_segments:True,roundup_power2_divisions:4"
EXPANDABLE = {"PYTORCH_CUDA_ALLOC_CONF": SETTINGS}


def states_of(folder: Path, names: str, columns: bytes, count: int) -> Any:
    """What the modules of the page find at its named moments and at `count` events."""
    (folder / "names.json").write_text(names)
    (folder / "columns.bin").write_bytes(columns)
    return said_under_node(
        SCRIPT.replace("FOLDER", str(folder)).replace("COUNT", str(count)), folder
    )


def moment_of(one: dict[str, Any], is_part: bool) -> Any:
    """As --at takes it. A time of a report is rounded: half a tick later is meant."""
    if one["kind"] == "end" or (one["kind"] == "peak" and not is_part):
        return one["kind"]
    if one["kind"] == "refused":
        return f"oom@{one['number'] + 1}"
    return one["seconds"] + 6e-8


def stream_text(handle: int) -> str:
    return f"stream {handle:#x}" if handle else "default stream"


def check(trace: Trace, one: dict[str, Any], is_part: bool = False) -> None:
    """Compare a state of the page with `fragmentation` and `map` at its moment."""
    at = moment_of(one, is_part)
    engine = json.loads(trace.report("fragmentation", json=True, at=at, top=0))
    assert one["bytes"] == engine["causes"], at
    rest = one["rest"]
    assert rest["reserved"] == engine["reserved_bytes"]
    assert rest["largestHole"] == engine["largest_hole_bytes"]
    parts = {name: rest[name] for name in ("rounding", "divisions", "unsplit")}
    assert parts == engine["live_parts"]
    keys = ("location", "own_bytes", "count", "sole_bytes", "sole_free_bytes", "shared_bytes")
    assert sorted(one["lines"]) == sorted([line[key] for key in keys] for line in engine["lines"])
    sets = [[found["bytes"], sorted(found["locations"])] for found in engine["sets"]]
    assert [found[0] for found in one["sets"]] == [found[0] for found in sets]
    engine = json.loads(trace.report("map", json=True, at=at, top=0))
    for segment in engine["segments"]:
        segment["stream"] = stream_text(segment["stream"])
    assert one["segments"] == engine["segments"]


@pytest.fixture(scope="module")
def moving(lab: Lab) -> Run:
    return lab.once("moves_segments.py")


@pytest.mark.parametrize("environment", [None, EXPANDABLE], ids=["plain", "expandable"])
def test_states_at_any_event_are_those_of_the_reports(
    lab: Lab, tmp_path: Path, environment: dict[str, str] | None
) -> None:
    how = {"environment": environment} if environment else {}
    trace = Trace(str(lab.once("moves_segments.py", **how).trace))
    said = states_of(tmp_path, *trace.page(), 40)
    assert said["every"] and said["wrong"] == 0
    for one in said["said"]:
        check(trace, one)
    seen = {cause for one in said["said"] for cause, size in one["bytes"].items() if size}
    assert seen >= {"live", "waiting", "private"}
    assert seen >= ({"unit", "partial"} if environment == EXPANDABLE else {"whole", "pinned"})


def test_a_part_of_a_run_begins_with_what_was_there(moving: Run, tmp_path: Path) -> None:
    trace = Trace(str(moving.trace))
    peak, end = (
        json.loads(trace.report("map", json=True, at=at))["seconds"] for at in ("peak", "end")
    )
    times = [one.seconds for one in peakline.open(moving.trace).events()]
    pairs = itertools.pairwise(time for time in times if peak < time < end)
    # Not at the time of an event: its report is that behind it, and the part begins before it.
    before, behind = max(list(pairs)[:-3], key=lambda pair: pair[1] - pair[0])
    begin = (before + behind) / 2
    said = states_of(tmp_path, *trace.page(from_seconds=begin, to_seconds=end), 20)
    assert len(said["said"]) > 2
    for one in said["said"]:
        check(trace, one, is_part=True)


def test_a_small_budget_keeps_moments_that_are_exact(moving: Run, tmp_path: Path) -> None:
    trace = Trace(str(moving.trace))
    said = states_of(tmp_path, *trace.page(budget=3500), 0)
    assert not said["every"]
    assert {"peak", "reserved", "end"} <= {one["kind"] for one in said["said"]}
    for one in said["said"]:
        check(trace, one)


def test_refused_requests_are_moments_of_the_map(lab: Lab, tmp_path: Path) -> None:
    run = lab.once("runs_out_of_memory.py", device="h200:6GiB")
    trace = Trace(str(run.trace))
    said = states_of(tmp_path, *trace.page(), 0)["said"]
    assert len([one for one in said if one["kind"] == "refused"]) == len(run.said["refused"]) == 3
    for one in said:
        check(trace, one)
    page = json.loads(trace.page()[0])
    for moment in page["map"]["moments"]:
        if moment["kind"] in ("peak", "refused", "end"):
            ledger = json.loads(trace.report("ledger", json=True, at=moment_of(moment, False)))
            assert {**moment["ledger"], "at": ledger["at"]} == ledger

"""Every format is read back by a reader that is not ours, and its figures are the recording's."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
import pickle
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

import peakline  # noqa: E402
from peakline.base.output import printable  # noqa: E402
from peakline.exports import FORMATS  # noqa: E402
from peakline.exports.asked import Asked  # noqa: E402

PROGRAMS = {
    "training": ("dumps_snapshot.py",),
    "hostile": ("hostile_names.py",),
}


class Exported:
    """A recording, and its exports as files."""

    def __init__(self, run: Any, folder: Path) -> None:
        self.run = run
        self.recording = peakline.open(run.trace)
        self.folder = folder

    def file(self, name: str, **asked: Any) -> Path:
        path = self.folder / f"{run_name(asked)}{FORMATS[name].suffix}"
        with path.open("wb") as out:
            FORMATS[name].write(self.recording, Asked(**asked), out)
        return path


def run_name(asked: dict[str, Any]) -> str:
    return "_".join(f"{key}{value}" for key, value in asked.items()) or "all"


@pytest.fixture(scope="module", params=PROGRAMS)
def exported(request: Any, lab: Any, tmp_path_factory: Any) -> Exported:
    run = lab.once(*PROGRAMS[request.param])
    return Exported(run, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def training(lab: Any, tmp_path_factory: Any) -> Exported:
    return Exported(lab.once(*PROGRAMS["training"]), tmp_path_factory.mktemp("training"))


def needs(module: str) -> Any:
    return pytest.mark.skipif(
        importlib.util.find_spec(module) is None, reason=f"the reader needs {module}"
    )


def test_speedscope_is_what_its_schema_says(exported: Exported) -> None:
    document = json.loads(exported.file("speedscope").read_text())
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    assert all(
        isinstance(one["name"], str) and set(one) <= {"name", "file", "line"} for one in frames
    )
    [profile] = document["profiles"]
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
    assert len(profile["samples"]) == len(profile["weights"])
    assert sum(profile["weights"]) == profile["endValue"] == exported.recording.peak_bytes()
    assert {i for sample in profile["samples"] for i in sample} == set(range(len(frames)))
    blocks = sorted(exported.recording.tensors(), key=lambda one: one.allocated_seconds)
    for block, sample in zip(blocks, profile["samples"], strict=True):
        root_first = [one.qualified_name for one in reversed(block.create_stack)]
        assert [frames[i]["name"] for i in sample] == (root_first or ["no stack"])


def test_folded_lines_sum_to_the_peak(exported: Exported) -> None:
    total = 0
    for line in exported.file("folded").read_bytes().split(b"\n")[:-1]:
        stack, count = line.rsplit(b" ", 1)
        assert all(stack.split(b";"))
        total += int(count)
    assert total == exported.recording.peak_bytes()


READS_PPROF = """
import gzip, json, sys
from pypprof.profile_pb2 import Profile
profile = Profile()
profile.ParseFromString(gzip.decompress(open(sys.argv[1], "rb").read()))
text = profile.string_table
functions = {one.id: text[one.name] for one in profile.function}
lines = {one.id: [functions[line.function_id] for line in one.line] for one in profile.location}
print(json.dumps({
    "types": [[text[one.type], text[one.unit]] for one in profile.sample_type],
    "default": text[profile.default_sample_type], "time": profile.time_nanos,
    "samples": [
        [sum((lines[i] for i in one.location_id), []), list(one.value)] for one in profile.sample
    ],
}))
"""


@needs("pypprof")
def test_pprof_reads_the_profile(exported: Exported) -> None:
    done = subprocess.run(
        [sys.executable, "-c", READS_PPROF, str(exported.file("pprof"))],
        capture_output=True,
        text=True,
        check=True,
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"},
    )
    read = json.loads(done.stdout)
    assert read["types"] == [["inuse_objects", "count"], ["inuse_space", "bytes"]]
    assert read["default"] == "inuse_space"
    assert read["time"] == exported.recording.info()["start_realtime_ns"]
    rows = exported.recording.table(by="stack", full_paths=True)
    wanted = [
        [[one.qualified_name for one in row.stack] or [row.key], [row.count, row.bytes]]
        for row in rows
    ]
    assert read["samples"] == wanted


@needs("perfetto")
def test_perfetto_reads_levels_phases_and_blocks(exported: Exported) -> None:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

    trace = Trace()
    least = 512
    trace.ParseFromString(exported.file("perfetto", min_bytes=least).read_bytes())
    names = {
        one.track_descriptor.uuid: one.track_descriptor.name
        for one in trace.packet
        if one.HasField("track_descriptor")
    }
    counters: dict[str, list[int]] = defaultdict(list)
    open_slices: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    flows: Counter[int] = Counter()
    for packet in trace.packet:
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        flows.update(event.flow_ids)
        is_block = names[event.track_uuid].startswith("blocks")
        if event.type == TrackEvent.TYPE_COUNTER:
            counters[names[event.track_uuid]].append(event.counter_value)
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid] += 1
            assert not is_block or open_slices[event.track_uuid] == 1
            notes = {one.name: one.uint_value for one in event.debug_annotations}
            sizes.update([notes["bytes"]] if is_block else [])
        elif event.type == TrackEvent.TYPE_SLICE_END:
            open_slices[event.track_uuid] -= 1
            assert open_slices[event.track_uuid] >= 0
    assert not any(open_slices.values())
    assert max(counters["allocated, device 0"]) == exported.recording.peak_bytes()
    made = [one for one in exported.recording.events() if one.kind == "alloc"]
    assert sizes == Counter(one.bytes for one in made)
    assert set(flows.values()) == {2}
    assert len(flows) == len(made)


@pytest.mark.skipif(not shutil.which("heaptrack_print"), reason="the reader needs heaptrack")
def test_heaptrack_prints_the_same(exported: Exported, tmp_path: Path) -> None:
    file = exported.file("heaptrack")
    stacks = tmp_path / "stacks"
    command = ["heaptrack_print", "-f", str(file), "-F", str(stacks)]
    done = subprocess.run(
        [*command, "--flamegraph-cost-type", "peak"], capture_output=True, check=True
    )
    [calls] = re.findall(rb"calls to allocation functions: (\d+)", done.stdout)
    made = [one for one in exported.recording.events() if one.kind == "alloc"]
    assert int(calls) == len(made)
    costs = [int(line.rsplit(b" ", 1)[1]) for line in stacks.read_bytes().splitlines()]
    assert sum(costs) == exported.recording.peak_bytes()
    subprocess.run([*command, "--flamegraph-cost-type", "leaked"], check=True, capture_output=True)
    left = [int(line.rsplit(b" ", 1)[1]) for line in stacks.read_bytes().splitlines()]
    ended = {one.block for one in exported.recording.events() if one.kind.startswith("free")}
    assert sum(left) == sum(one.bytes or 0 for one in made if one.block not in ended)


def test_the_snapshot_is_torchs_own(training: Exported) -> None:
    said = training.run.said
    snapshot = pickle.loads(training.file("torch-snapshot").read_bytes())
    actions = [
        [one["action"], one.get("addr"), one["size"]] for one in snapshot["device_traces"][0]
    ]
    assert actions == said["actions"]
    segments = [
        {
            **{name: one[name] for name in said["segments"][0] if name != "blocks"},
            "blocks": [
                [block["address"], block["size"], block["state"]] for block in one["blocks"]
            ],
        }
        for one in snapshot["segments"]
    ]
    assert segments == sorted(said["segments"], key=lambda one: one["address"])


def test_torch_shows_the_snapshot(exported: Exported) -> None:
    from torch.cuda import _memory_viz

    snapshot = pickle.loads(exported.file("torch-snapshot").read_bytes())
    assert "Summary of segments" in _memory_viz.segsum(snapshot)
    assert "alloc" in _memory_viz.trace(snapshot)
    assert "html" in _memory_viz.trace_plot(snapshot)
    assert "html" in _memory_viz.segment_plot(snapshot)


def test_rows_of_events_are_the_events(exported: Exported) -> None:
    events = list(exported.recording.events(full_paths=True))
    lines = exported.file("ndjson").read_text().splitlines()
    assert [json.loads(line) for line in lines] == json.loads(
        json.dumps([one._asdict() for one in events])
    )
    with exported.file("csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["bytes"] for row in rows] == [str(one.bytes or "") for one in events]
    assert [row["line"] for row in rows] == [printable(one.line or "") for one in events]
    parquet = pytest.importorskip("pyarrow.parquet").read_table(exported.file("parquet"))
    assert parquet.column("block").to_pylist() == [one.block for one in events]
    assert parquet.column("line").to_pylist() == [one.line for one in events]
    run_uuid = exported.recording.info()["run_uuid"]
    assert parquet.schema.metadata[b"peakline.run_uuid"].decode() == run_uuid


@needs("prometheus_client")
def test_prometheus_reads_the_metrics(exported: Exported) -> None:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    families = {
        one.name: one
        for one in text_string_to_metric_families(exported.file("openmetrics").read_text())
    }
    [peak] = families["peakline_peak_bytes"].samples
    assert peak.value == exported.recording.peak_bytes()
    rows = exported.recording.table(top=20)
    lines = families["peakline_line_bytes"].samples
    wanted = [(printable(row.key), row.bytes) for row in rows]
    assert [(one.labels["line"], one.value) for one in lines] == wanted


@needs("tensorboard")
def test_tensorboard_reads_the_scalars(training: Exported) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    file = training.file("tensorboard")
    accumulator = EventAccumulator(str(file))
    accumulator.Reload()
    peaks = accumulator.Scalars("memory/peak_bytes")
    steps = training.recording.steps()
    assert [(one.step, one.value) for one in peaks] == [(one.step, one.peak_bytes) for one in steps]
    assert "memory/backward/peak_bytes" in accumulator.Tags()["scalars"]


def test_the_tracker_of_torch_loads_its_file(training: Exported, capsys: Any) -> None:
    from torch.distributed._tools.memory_tracker import MemoryTracker

    tracker = MemoryTracker()
    tracker.load(str(training.file("memory-tracker")))
    ops = training.recording.ops()
    wanted = {one.op_index: (one.name, one.allocated_bytes / 2**20) for one in ops}
    assert tracker.memories_allocated == wanted
    assert {"fw_start", "fw_bw_boundary", "fw_start@1"} <= set(tracker._markers)
    tracker.summary(top=3)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "-" * 48
    largest = sorted(ops[1:], key=lambda one: -one.delta_bytes)[0]
    # What stands above the rows differs between versions of torch.
    rows = [line for line in said if line.endswith("MB")]
    assert rows[-3:][0] == f"{largest.name}: {largest.delta_bytes / 2**20}MB"


def test_files_of_the_other_tools_have_their_names(training: Exported) -> None:
    [(device, snapshot)] = json.loads(training.file("memory-snapshot").read_text()).items()
    assert device == "cuda:0"
    assert snapshot["peak_memory_mb"] * 2**20 == training.recording.peak_bytes()
    assert [2048, 512] in [one["shape"] for one in snapshot["tensors"]]  # of the first weight
    assert sum(one["size_bytes"] for one in snapshot["tensors"]) == training.recording.peak_bytes()
    timeline = json.loads(training.file("memory-timeline").read_text())
    assert set(timeline) == {"events", "layer_stats", "summary"}
    kinds = Counter(one["event_type"] for one in timeline["events"])
    made = [one for one in training.recording.events() if one.kind == "alloc"]
    assert kinds["alloc"] == len(made)
    assert kinds["layer_enter"] == kinds["layer_exit"] > 0
    assert timeline["summary"]["peak_allocated_mb"] * 2**20 == training.recording.peak_bytes()
    lines = [json.loads(one) for one in training.file("memory-trace").read_text().splitlines()]
    stages = training.recording.stages()
    assert [list(one) for one in lines[:1]] == [["step", "module", "stage", "mem", "time"]]
    assert [one["mem"]["allocated"] * 2**20 for one in lines] == [
        one.levels.allocated_bytes for one in stages
    ]


def test_a_moment_and_a_part_are_what_is_written(training: Exported) -> None:
    folded = training.file("folded", at="forward@1").read_text().splitlines()
    total = training.recording.document("table", at="forward@1")["total_bytes"]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == total
    lines = training.file("ndjson", during="step@1").read_text().splitlines()
    assert len(lines) == sum(1 for _ in training.recording.events(during="step@1"))


def test_the_command_writes_files(lab: Any, training: Exported, tmp_path: Path) -> None:
    trace = str(training.run.trace)
    out = tmp_path / "a.json"
    done = lab.peakline("export", "speedscope", trace, "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"Wrote {out}\n"
    assert json.loads(out.read_text())["exporter"] == "peakline"
    again = lab.peakline("export", "speedscope", trace, "-o", str(out))
    assert again.returncode == 2
    assert "add --force" in again.stderr
    piped = lab.peakline("export", "folded", trace, "-o", "-")
    assert piped.stdout.splitlines()
    for words, message in {
        ("speedscop",): "did you mean speedscope",
        ("nothing",): "there are: speedscope, folded",
        ("folded", "--during", "step@1"): "folded does not take --during; it takes --at",
        ("ndjson", "--during", "nope"): "phase 'nope' is not in this trace",
    }.items():
        name, *options = words
        wrong = lab.peakline("export", name, trace, "-o", str(tmp_path / "b"), *options)
        assert wrong.returncode == 2
        assert message in wrong.stderr
        assert not (tmp_path / "b").exists()


def test_the_gzipped_files_are_the_same_each_time(training: Exported) -> None:
    for name in ("pprof", "heaptrack"):
        first = training.file(name).read_bytes()
        assert gzip.decompress(first)
        assert training.file(name).read_bytes() == first

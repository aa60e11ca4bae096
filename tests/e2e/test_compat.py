"""The five facades: programs with the calls of their documents, compared with torch's counters."""

from __future__ import annotations

import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

MB = 1024 * 1024


def test_memory_profiler_reports_what_torch_counts(lab: Any) -> None:
    run = lab.once("as_memory_profiler.py")
    said = run.last_said
    assert said["said"]["current"] == said["own"]["current"]
    assert said["said"]["peak"] == said["own"]["peak"]
    assert said["said"]["after"]["optimizer"] == said["own"]["current"]
    peak = f"{said['own']['peak'] / MB:.2f} MB"
    lines = run.stdout.splitlines()
    assert lines[-2] == f"Peak estimated memory across all phases: {peak}"
    assert lines[-6].startswith("Estimated memory after forward: ")
    report = run.stderr
    for heading in (
        "===== MEMORY USAGE ESTIMATION =====",
        f"Peak Memory Usage:\n  device_cuda:0: {peak}\n",
        "Memory Usage by Phase:\n",
        "Memory Usage by Module:\n",
        "===== TENSOR CREATION BY PHASE =====\n",
        "Phase: forward\n",
    ):
        assert heading in report
    made = r"  Module: head\n    Tensor count: \d+\n    Total size: \d+\.\d\d MB\n"
    assert re.search(made + r"    Tensor shapes: \[torch\.Size\(\[\d+, \d+", report)
    assert "done" in report.splitlines()
    assert set(said["stats"]["phases"]) >= {"forward", "backward", "optimizer"}
    assert {"embed", "head"} <= set(said["stats"]["modules"])


def test_memory_profiler_logs_where_and_what_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from peakline.compat.memory_profiler import MemoryTracer, configure_logging, get_logger

    monkeypatch.setenv("MEMORY_PROFILER_LOG_LEVEL", "30")
    monkeypatch.setattr(
        MemoryTracer,
        "get_memory_stats",
        lambda _: {"peak": {0: MB}, "current": {0: 0}, "phases": {}, "modules": {}},
    )
    file = tmp_path / "memory_profile.log"
    configure_logging(log_to_file=True, log_file=str(file), rich_format=False)
    get_logger("mine").info("below the level of the environment")
    get_logger("mine").warning("at it")
    MemoryTracer().print_memory_stats()
    assert "device_cuda" not in file.read_text()
    MemoryTracer(log_level=20).print_memory_stats()
    MemoryTracer().print_memory_stats()
    assert capsys.readouterr().err == file.read_text()
    first, report = file.read_text().split("\n", 1)
    assert re.fullmatch(r"\[WARNING \| peakline\.memory_profiler\.mine \| .+\] at it", first)
    assert report.startswith("[INFO | peakline.memory_profiler | ")
    assert report.count("Peak Memory Usage:\n  device_cuda:0: 1.00 MB\n") == 1
    configure_logging(rich_format=False)
    assert get_logger("mine").getEffectiveLevel() == 30


# Under `peakline run` the tracer is about a phase of its trace; alone it begins late, with a trace
# of its own.
@pytest.mark.parametrize("is_recorded", [True, False])
def test_gpu_optimizer_reports_layers(lab: Any, tmp_path: Path, is_recorded: bool) -> None:
    run = lab.run("as_gpu_optimizer.py", str(tmp_path), recorded=is_recorded)
    assert run.status == 0, run.stderr
    said = run.last_said
    assert set(said["stats"]) == {"0", "1", "2", "Sequential"}
    assert max(said["peaks"].values()) == said["own"]
    assert said["started twice"] == "Tracing already in progress"
    assert said["refused"] == "No events recorded. Run tracing first."
    summary = run.stdout[run.stdout.index("=" * 60) :].splitlines()
    assert summary[:3] == ["=" * 60, "Memory Tracer Summary", "=" * 60]
    assert summary[3] == f"Total Events: {said['events']}"
    assert summary[4] == "Total Layers: 4"
    assert summary[5] == f"Peak Allocated: {said['own'] / 1024**3:.2f} GB"
    assert summary[8:11] == ["", "Top 5 Layers by Peak Memory:", "-" * 60]
    assert re.fullmatch(r"  \S.{49} {1,8}\d+\.\d\d MB  \(frag: \d+\.\d%\)", summary[11])
    assert f"Timeline exported to: {tmp_path / 'memory_timeline.json'}" in run.stdout
    timeline = json.loads((tmp_path / "memory_timeline.json").read_text())
    assert len(timeline["events"]) == said["events"]
    assert timeline["layer_stats"].keys() >= said["stats"].keys()
    # The plot of its document reads these.
    highest = max(one["allocated_bytes"] for one in timeline["events"])
    assert highest == said["own"]
    assert timeline["events"][0]["timestamp"] <= timeline["events"][-1]["timestamp"]
    # Segments from before a trace that begins late stand after the blocks in them.
    known = [one for one in timeline["events"] if one["reserved_bytes"]]
    assert len(known) > 0.9 * len(timeline["events"])
    for one in known:
        unused = one["reserved_bytes"] - one["allocated_bytes"]
        assert one["fragmentation_ratio"] * one["reserved_bytes"] == pytest.approx(unused)
    flames = json.loads((tmp_path / "new" / "profile.json").read_text())
    assert flames["profiles"][0]["endValue"] == said["own"]


def test_memory_tracker_saves_what_torchs_own_class_sees(lab: Any, tmp_path: Path) -> None:
    ours = lab.run("as_memory_tracker.py", str(tmp_path / "ours"))
    lab.run("as_memory_tracker.py", str(tmp_path / "torchs"), "torch")
    lines = ours.stdout.splitlines()
    assert lines[0] == "-" * 48
    assert lines[1] == "The number of alloc retries are: 0"
    assert lines[2] == "Top 20 ops that generates memory are:"
    assert re.fullmatch(r"\S+_\d+: \d+\.\d+MB", lines[3])
    saved = pickle.loads((tmp_path / "ours").read_bytes())
    theirs = pickle.loads((tmp_path / "torchs").read_bytes())
    assert saved.keys() == theirs.keys()
    # torch samples every operator, ours those that allocate: each level of ours is one of torch's.
    levels = {level for _, level in theirs["memories_allocated"].values()}
    assert {level for _, level in saved["memories_allocated"].values()} <= levels
    peak = max(level for _, level in saved["memories_allocated"].values())
    assert peak == max(levels)
    assert {"fw_start", "fw_bw_boundary"} <= saved["markers"].keys()


def test_memory_tracker_keeps_its_curves_when_started_twice(tmp_path: Path) -> None:
    from peakline.compat.memory_tracker import MemoryTracker

    series = {0: ("a", 1.0)}
    curves = {f"memories_{name}": series for name in ("allocated", "active", "reserved")}
    (tmp_path / "saved").write_bytes(pickle.dumps(curves | {"markers": {}, "num_alloc_retries": 0}))
    tracker = MemoryTracker()
    tracker.load(str(tmp_path / "saved"))
    tracker._window.is_running = True
    with pytest.raises(AssertionError, match="was called already"):
        tracker.start_monitor(None)
    assert tracker.memories_allocated == series


def test_memory_tracker_reads_only_plain_pickles(tmp_path: Path, capsys: Any) -> None:
    from peakline.compat.memory_tracker import MemoryTracker

    series = {0: ("a", 1.0), 1: ("b.forward.mm.default_0", 3.5)}
    old = {f"memories_{name}": series for name in ("allocated", "active", "reserved")}
    old |= {"markers": {"fw_start": 0}, "num_alloc_retries": 2}
    (tmp_path / "old").write_bytes(pickle.dumps(old))
    tracker = MemoryTracker()
    tracker.load(str(tmp_path / "old"))
    assert tracker.memories_active == series
    tracker.summary()
    assert capsys.readouterr().out.splitlines()[1:4] == [
        "The number of alloc retries are: 2",
        "Top 20 ops that generates memory are:",
        "b.forward.mm.default_0: 2.5MB",
    ]
    marker = tmp_path / "ran"
    evil = b"cos\nsystem\n(S'touch " + str(marker).encode() + b"'\ntR."
    (tmp_path / "evil").write_bytes(evil)
    with pytest.raises(pickle.UnpicklingError, match=r"refers to os\.system"):
        tracker.load(str(tmp_path / "evil"))
    assert not marker.exists()
    for size in range(1, 40, 3):
        (tmp_path / "cut").write_bytes(pickle.dumps(old)[:size])
        with pytest.raises(pickle.UnpicklingError):
            tracker.load(str(tmp_path / "cut"))


def test_memory_tracker_draws_four_figures(lab: Any, tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    lab.run("as_memory_tracker.py", str(tmp_path / "ours"))
    from matplotlib.colors import to_rgb
    from peakline.compat.memory_tracker import MemoryTracker

    pyplot.switch_backend("Agg")
    pyplot.close("all")
    MemoryTracker().show_traces(str(tmp_path / "ours"))
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    assert len(figures) == 4
    [axes] = figures[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("# Operator Calls", "Memory (MB)")
    labels = [one.get_text() for one in axes.get_legend().get_texts()]
    assert labels[:3] == ["allocated_memory", "active_memory", "reserved_memory"]
    colors = {one.get_label(): to_rgb(one.get_color()) for one in axes.lines}
    assert (colors["fw_bw_boundary"], colors["fw_start"]) == (to_rgb("r"), to_rgb("k"))
    pyplot.close("all")


def test_pytorch_mem_tracer_prints_its_table(lab: Any) -> None:
    run = lab.run("as_pytorch_mem_tracer.py", recorded=False)
    whole, by_file, said = run.stdout.split("--\n")
    peak = json.loads(said)["peak"]
    for table in (whole, by_file):
        lines = table.splitlines()
        lines = [line for line in lines if "Simulated device" not in line and line]
        assert lines[0] == f"Max mem: {peak // MB}.000 MB"
        assert lines[1].startswith("Total mem allocated: ")
        assert lines[2] == "Mem, Cumulative Mem, Median, Count, Location"
    assert peak % MB == 0
    assert "4.000 MB  4.000 MB  4.000 MB  1  untraced" in whole
    assert re.search(r"functional\.py:\d+ \(softmax\)", by_file)


def test_tdynamics_writes_a_line_for_every_stage(lab: Any, tmp_path: Path) -> None:
    run = lab.run("as_tdynamics.py", str(tmp_path), "cuda")
    lines = (tmp_path / "trace.log").read_text().splitlines()
    assert "Exception: RuntimeError, Value: " in lines[-1]
    stages = [json.loads(line) for line in lines[:-1]]
    order = [
        "pre forward",
        "post forward",
        "pre backward",
        "post backward",
        "pre step",
        "post step",
    ]
    assert [one["stage"] for one in stages[:60]] == order * 10
    assert [one["stage"] for one in stages[60:]] == ["pre forward", "post forward", "pre forward"]
    assert [one["step"] for one in stages[:60]] == [step for step in range(10) for _ in order]
    assert list(stages[0]) == ["step", "module", "stage", "mem", "time"]
    assert list(stages[0]["mem"]) == ["allocated", "cached", "max_allocated", "max_cached"]
    assert {one["module"] for one in stages} == {"Linear", "optimizer"}
    assert stages[-1]["mem"]["allocated"] > 0
    assert run.stdout.startswith("wrong shape")


def test_tdynamics_runs_without_a_gpu(lab: Any, tmp_path: Path) -> None:
    run = lab.run("as_tdynamics.py", str(tmp_path), "cpu", recorded=False)
    assert run.status == 0
    stages = (run.folder / "mem_trace_rank_0.log").read_text().splitlines()
    assert len(stages) == 64
    assert json.loads(stages[0])["mem"]["allocated"] == 0
    [second] = (tmp_path / "second.log").read_text().splitlines()
    assert list(json.loads(second)) == ["step", "module", "stage", "mem"]

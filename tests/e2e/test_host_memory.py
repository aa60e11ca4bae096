"""Memory of the host as devices: pinned, and with `run --cpu` the tensors of the CPU.

The oracles are torch's: its profiler's memory events, torch.cuda.host_memory_stats() and
max_memory_allocated(), and the program itself, run without peakline.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run, together

TRAINING = str(PROGRAMS / "cpu_training.py")


def on_cpu(lab: Lab, folder: Path, *words: str, options: tuple[str, ...] = ()) -> Run:
    """Run under `peakline run --cpu` without any GPU."""
    run = [sys.executable, "-m", "peakline", "run", "--cpu", "--python", lab.python]
    return lab.plain(folder, *run, "-q", "-o", "run.peak", *options, *words)


@pytest.fixture(scope="module")
def runs(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The training as it is, and recorded; the loader that pins."""
    folder = tmp_path_factory.mktemp("host")
    return together(
        {
            "plain": lambda: lab.plain(folder / "plain", lab.python, TRAINING, "2"),
            "cpu": lambda: on_cpu(lab, folder / "cpu", TRAINING, "2"),
            "pinned": lambda: lab.run("pinned_loader.py", options=["--cpu"]),
        }
    )


def test_a_program_is_the_same_with_its_cpu_tensors_recorded(runs: dict[str, Run]) -> None:
    # What is live at one time depends on how far ahead the workers are.
    plain, recorded = ({**runs[way].said, "profiler_peak_bytes": 0} for way in ("plain", "cpu"))
    assert recorded == plain  # bit by bit
    assert runs["cpu"].said["refused"].startswith("[enforce fail")
    assert runs["cpu"].notes == []


def test_the_peak_is_that_of_torchs_profiler(lab: Lab, runs: dict[str, Run]) -> None:
    table = lab.table(runs["cpu"].trace)
    assert table["device"] == "cpu"
    assert table["peak_bytes"] == runs["cpu"].said["profiler_peak_bytes"]
    assert sum(row["bytes"] for row in table["rows"]) == table["peak_bytes"]
    assert table["complete"]
    assert not runs["cpu"].traces[1:]  # workers that were forked have none


def test_cpu_tensors_have_lines_modules_phases_and_names(lab: Lab, runs: dict[str, Run]) -> None:
    trace = runs["cpu"].trace
    source = Path(TRAINING).read_text().splitlines()
    lines = [row["location"]["line"] for row in lab.table(trace)["rows"] if row["location"]]
    assert {
        "optimizer.step()",
        "loss = torch.nn.functional.cross_entropy(model(inputs), targets)",
    } <= {source[line - 1].strip() for line in lines if line <= len(source)}
    phases = json.loads(lab.report("phases", trace, "--json"))
    assert len(phases["steps"]) == 3 * 4
    assert {"forward", "backward", "optimizer"} <= {one["name"] for one in phases["totals"]}
    by_category = {row["key"]: row["bytes"] for row in lab.table(trace, "--by", "category")["rows"]}
    weights = 4 * (300 * 400 + 400 + 400 * 10 + 10)
    assert by_category["parameter"] == by_category["gradient"] == weights
    assert by_category["optimizer state"] == 2 * weights + 4 * 4  # the counts of steps
    layers = json.loads(lab.report("layers", trace, "--json"))["layers"]
    assert {"0", "2"} <= {layer["layer_name"] for layer in layers}
    made = lab.table(trace, "--by", "module", "--where", "category=gradient")["rows"]
    assert {row["key"] for row in made} == {"0", "2"}  # charged to the forward pass


def test_pinned_memory_is_what_torchs_host_allocator_counts(lab: Lab, runs: dict[str, Run]) -> None:
    run = runs["pinned"]
    table = lab.table(run.trace, "--device", "pinned")
    assert table["device"] == "pinned"
    counted = sum(row["count"] for row in table["rows"])
    if ON_GPU:  # where the driver's other users pin, too
        assert table["peak_bytes"] >= run.said["pinned_peak_bytes"]
    else:
        assert table["peak_bytes"] == run.said["pinned_peak_bytes"]
        assert counted == run.said["pinned_count"]
    rows = {row["location"]["line"]: row["bytes"] for row in table["rows"]}
    assert rows[run.said["kept_line"]] == 4 << 20  # torch asks for powers of two
    tensors = json.loads(lab.report("tensors", run.trace, "--json", "--device", "pinned"))
    assert {one["device"] for one in tensors["tensors"]} == {"pinned"}


def test_the_host_counts_in_no_sum_of_devices(lab: Lab, runs: dict[str, Run]) -> None:
    run = runs["pinned"]
    assert lab.table(run.trace)["device"] == 0
    assert {one["device"] for one in lab.table(run.trace)["devices"]} == {0, "pinned", "cpu"}
    for command in ("table", "phases"):
        document = json.loads(lab.report(command, run.trace, "--json", "--device", "all"))
        assert document["peak_bytes"] == run.said["gpu_peak_bytes"]
    timeline = json.loads(lab.report("timeline", run.trace, "--json"))
    assert timeline["peak_bytes"] == run.said["gpu_peak_bytes"]
    cpu = lab.table(run.trace, "--device", "cpu", "--by", "op")
    assert cpu["peak_bytes"] > 256 * 1000 * 4
    for options, devices in (((), {0, None}), (("--device", "cpu"), {"cpu", None})):
        events = json.loads(lab.report("events", run.trace, "--json", *options))["events"]
        assert {one["device"] for one in events} == devices
    ledger = json.loads(lab.report("ledger", run.trace, "--json", "--at", "end"))
    beside = sum(one["bytes"] for one in ledger["beside"] if one["kind"] == "pinned")
    assert beside == lab.table(run.trace, "--device", "pinned", "--at", "end")["total_bytes"]
    assert [one["bytes"] for one in ledger["parts"] if one["name"] == "torch live"] != []


def test_the_page_shows_memory_of_the_host_beside_the_gpu(lab: Lab, runs: dict[str, Run]) -> None:
    page = runs["pinned"].folder / "run.html"
    lab.report("html", runs["pinned"].trace, "-o", str(page))
    text = page.read_text()
    assert [name in text for name in ('data-device="0"', 'data-device="pinned"')] == [True, True]
    assert 'data-device="cpu"' in text


def test_statuses_and_children_are_the_programs_own(lab: Lab, tmp_path: Path) -> None:
    script = (
        "import multiprocessing as m, sys, torch\n"
        "def child(queue):\n"
        "    queue.put(torch.ones(50_000).sum().item())\n"
        "if __name__ == '__main__':\n"
        "    held = torch.ones(10_000)\n"
        "    context = m.get_context(sys.argv[1])\n"
        "    queue = context.Queue()\n"
        "    process = context.Process(target=child, args=(queue,))\n"
        "    process.start(); print(queue.get()); process.join()\n"
        "    sys.exit(process.exitcode + 7)\n"
    )
    (tmp_path / "children.py").write_text(script)
    program = str(tmp_path / "children.py")
    found: dict[str, Any] = together(
        {
            way: lambda way=way: on_cpu(lab, tmp_path / way, program, way)
            for way in ("fork", "spawn")
        }
    )
    for way, traces in (("fork", 1), ("spawn", 2)):  # a spawned process records its own
        assert (found[way].status, found[way].stdout) == (7, "50000.0\n"), found[way].stderr
        assert len(found[way].traces) == traces
    peaks = sorted(lab.table(trace)["peak_bytes"] for trace in found["spawn"].traces)
    assert peaks[0] >= 40_000
    assert peaks[1] >= 200_000

"""The ledger closes: at every moment its parts sum to what the driver said to the program then."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import ON_GPU, PROGRAMS, ROOT, Lab
from peakline import _report

SETTINGS = {
    "native": "",
    "expandable": "expandable_segments:True",
    "async": "backend:cudaMallocAsync",
}


_MEASURED = ROOT / "preload" / "simulate" / "gpu" / "calibration.json"
_H200 = json.loads(_MEASURED.read_text())["devices"]["h200"]
CONTEXT_BYTES = _H200["context_bytes"]["value"]
CODE_BYTES = _H200["first_launch_bytes"]["value"]


def bytes_of(ledger: dict[str, Any], **wanted: str) -> int:
    return sum(
        part["bytes"]
        for part in ledger["parts"]
        if all(part[key].startswith(value) for key, value in wanted.items())
    )


def check_closes(
    trace: Path, said: dict[str, Any], *, is_async: bool = False
) -> list[dict[str, Any]]:
    start_ns = _report.Trace(str(trace)).info()["start_monotonic_ns"]
    ledgers = []
    for moment in said["moments"]:
        ledger = peakline.open(trace).ledger(at=(moment["monotonic_ns"] - start_ns) / 1e9).document
        # Code is loaded by launches, which are no samples: the next one shows it, and with it how
        # the requests in between were rounded.
        unseen = moment["used_bytes"] - ledger["device_used_bytes"]
        assert unseen == 0 or abs(unseen - ledger["grown_by_next_sample_bytes"]) < 2 << 20
        parts = sum(part["bytes"] for part in ledger["parts"])
        assert parts + ledger["unexplained_bytes"] == ledger["device_used_bytes"]
        # What cudaMallocAsync rounds is recorded as it was asked for.
        rounding = moment["allocated_bytes"] - bytes_of(ledger, name="torch live")
        assert rounding == 0 or (is_async and 0 <= rounding < 1 << 16)
        limit = moment["used_bytes"] / 100 if ON_GPU else 0
        assert abs(ledger["unexplained_bytes"]) <= limit, ledger
        ledgers.append(ledger)
    return ledgers


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_parts_sum_to_what_the_driver_says(lab: Lab, setting: str) -> None:
    environment = {"PYTORCH_CUDA_ALLOC_CONF": SETTINGS[setting]}
    run = lab.run("holds_the_device.py", "train", environment=environment)
    ledgers = check_closes(run.trace, run.said, is_async=setting == "async")
    for ledger, moment in zip(ledgers, run.said["moments"], strict=True):
        held = bytes_of(ledger, kind="torch") + bytes_of(ledger, kind="pool")
        assert held == moment["reserved_bytes"]
    check_measures(lab, run.trace, run.said, ledgers)
    assert bytes_of(ledgers[-1], name="libcublas") > 0
    contexts = {bytes_of(ledger, kind="context") for ledger in ledgers}
    assert ON_GPU or contexts <= {CONTEXT_BYTES, CONTEXT_BYTES + CODE_BYTES}


def check_measures(
    lab: Lab, trace: Path, said: dict[str, Any], ledgers: list[dict[str, Any]]
) -> None:
    reserved = lab.table(trace, "--measure", "reserved")
    assert reserved["measure"] == "reserved"
    assert reserved["peak_bytes"] == said["max_reserved_bytes"]
    assert sum(row["bytes"] for row in reserved["rows"]) == reserved["peak_bytes"]
    lines = {row["location"]["file"] for row in reserved["rows"] if row["location"]}
    assert lines == {str(PROGRAMS / "holds_the_device.py")}
    timeline = json.loads(lab.report("timeline", trace, "--measure", "reserved", "--json"))
    assert timeline["peak_bytes"] == said["max_reserved_bytes"]
    # All but what nobody asked for.
    ledger = ledgers[-1]
    seconds = str(ledger["seconds"])
    device = lab.table(trace, "--measure", "device", "--by", "library", "--at", seconds)
    unasked = bytes_of(ledger, kind="context") + bytes_of(ledger, kind="rounding")
    assert device["total_bytes"] == ledger["device_used_bytes"] - unasked
    rows = {row["key"]: row["bytes"] for row in device["rows"]}
    assert sum(rows.values()) == device["total_bytes"]
    [cublas] = [bytes for key, bytes in rows.items() if key.startswith("libcublas")]
    assert cublas == bytes_of(ledger, name="libcublas")


@pytest.mark.skipif(ON_GPU, reason="nobody else may use the device")
def test_what_other_processes_hold_is_no_part_of_the_context(lab: Lab) -> None:
    others = 3_000_000_000
    environment = {"PEAKLINE_SIM_CONSTANTS": f"other_processes_bytes={others}"}
    run = lab.run("holds_the_device.py", "pinned", environment=environment)
    (ledger,) = check_closes(run.trace, run.said)
    assert ledger["other_processes_known"]
    assert bytes_of(ledger, kind="others") == others
    assert bytes_of(ledger, kind="context") == CONTEXT_BYTES
    # As much as that is said below the table.
    outside = lab.table(run.trace)["outside"]
    assert outside["parts"][0] == {"name": "other processes", "bytes": others}
    assert "other processes 2.794 GB" in lab.report("table", run.trace)
    quiet = lab.run("holds_the_device.py", "pinned")
    assert lab.table(quiet.trace)["outside"] is None


# As CuPy does it: the driver's functions are looked up once and kept.
KEEPS_FUNCTIONS = """
#include <dlfcn.h>
#include <stddef.h>
typedef int (*Alloc)(unsigned long long*, size_t);
static Alloc alloc;
static Alloc look_up(void) {
    return (Alloc)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAlloc_v2");
}
int hold(size_t bytes) {
    unsigned long long address;
    alloc = alloc ? alloc : look_up();
    return alloc(&address, bytes);
}
int hold_by_new_lookup(size_t bytes) {
    unsigned long long address;
    return look_up()(&address, bytes);
}
"""


def test_a_library_that_was_there_before_the_recorder(lab: Lab, tmp_path: Path) -> None:
    source, library = tmp_path / "keeps.c", tmp_path / "libkeeps.so"
    source.write_text(KEEPS_FUNCTIONS)
    words = ["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(words, check=True)
    program = [lab.python, str(PROGRAMS / "late_ledger.py"), str(library), "late.peak"]
    run = lab.unrecorded(tmp_path / "late", *program)
    assert run.status == 0, run.stderr
    ledger = peakline.open(tmp_path / "late" / "late.peak").ledger(at="end").document
    assert ledger["device_used_bytes"] == run.said["used_bytes"]
    parts = sum(part["bytes"] for part in ledger["parts"])
    assert parts + ledger["unexplained_bytes"] == run.said["used_bytes"]
    assert bytes_of(ledger, kind="torch") == run.said["reserved_bytes"]
    # What was looked up before is not seen, and stands where nobody asked for it.
    assert bytes_of(ledger, name="libkeeps.so", kind="library") == 12 << 20
    assert ON_GPU or bytes_of(ledger, kind="context") == CONTEXT_BYTES + (50 << 20)


def test_pinned_memory_stands_beside_the_device(lab: Lab) -> None:
    run = lab.run("holds_the_device.py", "pinned")
    (ledger,) = check_closes(run.trace, run.said)
    assert {part["kind"] for part in ledger["beside"]} == {"pinned"}
    # A batch is 16 rows of 4096 floats; more than one may be under way.
    assert sum(part["bytes"] for part in ledger["beside"]) >= 16 * 4096 * 4


def test_the_buffers_of_nccl_are_its_own(lab: Lab, tmp_path: Path) -> None:
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    finished = lab.recorded(
        tmp_path,
        *words,
        str(PROGRAMS / "holds_the_device.py"),
        "nccl",
        options=["-q", "-o", "rank%r.peak"],
        device="h200x2",
        environment={"PEAKLINE_SIM_CONSTANTS": "nccl_communicator_bytes=100000000"},
    )
    assert finished.status == 0, finished.stderr
    said = {int(one["rank"]): one for one in finished.documents}
    for rank in (0, 1):
        (ledger,) = check_closes(tmp_path / f"rank{rank}.peak", said[rank])
        buffers = bytes_of(ledger, name="libnccl", kind="library")
        assert buffers > 0 if ON_GPU else buffers == 100_000_000
        named = bytes_of(ledger, name="libnccl.so.2, communicator 1", kind="library")
        assert named > 0 if ON_GPU else named == buffers
        assert any(f"rank {rank} of 2" in part["name"] for part in ledger["parts"])


def test_at_the_peak_torch_holds_its_peak(lab: Lab) -> None:
    run = lab.once("holds_the_device.py", "train")
    ledger = peakline.open(run.trace).ledger().document
    assert bytes_of(ledger, name="torch live") == lab.table(run.trace)["peak_bytes"]
    text = lab.report("ledger", run.trace)
    assert "torch live" in text
    assert "unexplained" in text
    as_command = json.loads(lab.report("ledger", run.trace, "--json"))
    assert as_command["unexplained_bytes"] == ledger["unexplained_bytes"]
    assert [(part["name"], part["bytes"]) for part in as_command["parts"]] == [
        (part["name"], part["bytes"]) for part in ledger["parts"]
    ]


@pytest.mark.skipif(ON_GPU, reason="what a real device takes for code is not known")
def test_what_nobody_asked_for_is_no_rest(lab: Lab) -> None:
    constants = "first_launch_bytes=50000000,context_bytes=300000000"
    environment = {"PEAKLINE_SIM_CONSTANTS": constants}
    run = lab.run("holds_the_device.py", "train", environment=environment)
    # Code that is loaded without a call shows at the next sample: those around the last frees.
    (ledger,) = check_closes(run.trace, {"moments": run.said["moments"][-1:]})
    assert bytes_of(ledger, kind="context") == 350_000_000

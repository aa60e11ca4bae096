"""`peakline oom`: why a request was refused.

The oracle is torch: its own observer takes a snapshot at the same refusal.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import ON_GPU, PROGRAMS

PROGRAM = "refused_requests.py"
SMALL_BYTES = 1 << 20
SCREEN_LINES = 40
ENDED = {"uncaught": 1, "backward": 1, "raised_again": 1, "fraction": 1, "fragmented": 1}
WENT_ON = ("in_a_thread",)


def line_of(text: str) -> int:
    source = (PROGRAMS / PROGRAM).read_text().splitlines()
    return next(number for number, line in enumerate(source, 1) if text in line)


def autopsy(lab: Any, run: Any, *options: str) -> dict[str, Any]:
    return json.loads(lab.report("oom", run.trace, "--json", *options))


def torch_said(run: Any) -> list[dict[str, Any]]:
    return json.loads(run.stdout.strip().splitlines()[-1])


def largest(refusal: dict[str, Any], asked: int, *, of_default: bool) -> int:
    pool = "small" if asked <= SMALL_BYTES else "large"
    return max(
        (
            hole["bytes"]
            for hole in refusal["holes"]
            if hole["pool"] == pool and hole["is_default_stream"] == of_default
        ),
        default=0,
    )


@pytest.mark.parametrize("way", [*ENDED, *WENT_ON, "of_another_stream", "captured"])
def test_figures_are_those_of_torch_at_the_same_moment(lab: Any, way: str) -> None:
    run = lab.once(PROGRAM, way)
    refusals = torch_said(run)
    assert refusals
    for number, refusal in enumerate(refusals, 1):
        [one] = autopsy(lab, run, "--nth", str(number))["ooms"]
        assert one["number"] == number
        assert one["free_bytes"] == refusal["free"]
        assert one["limit_bytes"] == refusal["total"]
        assert one["device_request_bytes"] == refusal["asked"]
        assert one["live_bytes"] == refusal["allocated"]
        assert one["reserved_bytes"] == refusal["reserved"]
        assert one["free_in_segments_bytes"] == sum(hole["bytes"] for hole in refusal["holes"])
        asked = one["requested_bytes"]
        assert one["largest_free_block_bytes"] == largest(refusal, asked, of_default=True)
        assert one["largest_of_other_streams_bytes"] == largest(refusal, asked, of_default=False)
        for rows in ("rows", "categories"):
            assert sum(row["bytes"] for row in one[rows]) == one["live_bytes"]
        used = one["total_bytes"] - one["free_bytes"]
        assert one["reserved_bytes"] + one["outside_bytes"] == used


@pytest.mark.parametrize(
    ("way", "reason", "line"),
    [
        ("uncaught", "full", "torch.empty(free + 64 * MB"),
        ("backward", "full", "torch.empty(free + 64 * MB"),
        ("fraction", "fraction", "torch.empty(1100 * MB"),
        ("fragmented", "fragmented", "torch.empty(1000 * MB"),
        ("of_another_stream", "other_stream", "torch.empty(100 * MB"),
        ("of_another_pool", "other_pool", "torch.empty(90 * MB"),
    ],
)
def test_the_reason_and_the_line_are_named(lab: Any, way: str, reason: str, line: str) -> None:
    run = lab.once(PROGRAM, way)
    [one] = autopsy(lab, run)["ooms"]
    assert one["reason"] == reason
    assert f"{PROGRAM}:{line_of(line)} " in one["location"]
    if way == "uncaught":
        assert (one["phase"], one["module"]) == ("forward", "Wide")
    if way == "backward":
        assert one["phase"] == "backward"


def test_what_keeps_free_pieces_apart_is_named(lab: Any) -> None:
    [one] = autopsy(lab, lab.once(PROGRAM, "fragmented"))["ooms"]
    held = line_of("held = [torch.empty(3 * MB")
    [pin] = [pin for pin in one["pins"] if f"{PROGRAM}:{held} " in pin["key"]]
    assert pin["count"] == 700
    assert pin["bytes"] == 700 * 3 << 20
    assert one["usable_bytes"] >= one["requested_bytes"] > one["largest_free_block_bytes"]


def test_who_ended_the_program_and_who_was_caught(lab: Any) -> None:
    for way, status in ENDED.items():
        run = lab.once(PROGRAM, way)
        found = autopsy(lab, run)
        assert run.status == status
        assert (found["refused"], found["caught"]) == (1, 0)
        assert found["ooms"][0]["is_caught"] is False
    run = lab.once(PROGRAM, "in_a_thread")
    found = autopsy(lab, run)
    assert (run.status, found["refused"], found["caught"]) == (0, 2, 2)


@pytest.mark.parametrize(("way", "status"), [("killed", -9), ("left_at_once", 3)])
def test_a_program_that_ends_in_the_handler_keeps_its_last_request(
    lab: Any, way: str, status: int
) -> None:
    run = lab.once(PROGRAM, way)
    found = autopsy(lab, run)
    assert run.status == status
    assert (found["refused"], found["caught"]) == (1, 0)
    assert found["ooms"][0]["reserved_bytes"] is not None


def test_ten_thousand_caught_requests_are_counted_in_few_bytes(lab: Any) -> None:
    few, many = (lab.once(PROGRAM, "caught", str(count)) for count in (1000, 10_000))
    found = autopsy(lab, many)
    assert (many.status, found["refused"], found["caught"]) == (0, 10_000, 10_000)
    [other] = found["others"]
    assert (other["count"], other["last_number"]) == (9_999, 9_999)
    assert many.trace.stat().st_size - few.trace.stat().st_size < 40 * 9_000
    text = lab.report("oom", many.trace)
    assert "Request 10000 of 10,000 that were refused, caught by the program" in text


@pytest.mark.skipif(ON_GPU, reason="the driver of this machine may serve more than it has")
def test_the_allocator_without_observers_is_seen_too(lab: Any) -> None:
    run = lab.once(
        PROGRAM, "uncaught", environment={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}
    )
    found = autopsy(lab, run)
    assert (run.status, found["refused"], found["caught"]) == (1, 1, 0)
    [one] = found["ooms"]
    assert f"{PROGRAM}:{line_of('torch.empty(free + 64 * MB')} " in one["location"]
    assert one["reserved_bytes"] is None


def test_the_run_ends_with_the_answer_on_one_screen(lab: Any, tmp_path: Path) -> None:
    words = [str(PROGRAMS / PROGRAM), "fragmented"]
    run = lab.recorded(tmp_path, *words, options=["-o", "run.peak"])
    below = run.stderr[run.stderr.index("OutOfMemoryError: ") :]
    lines = below.splitlines()
    first = next(line for line in lines if line.startswith("Out of memory: "))
    assert first.startswith("Out of memory: 1000 MB asked for at ")
    assert f"{PROGRAM}:{line_of('torch.empty(1000 * MB')} (fragmented)" in first
    assert len(lines) - lines.index(first) < SCREEN_LINES
    assert "expandable_segments:True" in below
    assert "peakline table --at oom run.peak" in below
    assert "1000 MB asked for" in lab.peakline("oom", str(tmp_path / "run.peak")).stdout


def test_a_program_that_catches_it_ends_with_its_table(lab: Any, tmp_path: Path) -> None:
    words = [str(PROGRAMS / PROGRAM), "caught", "2"]
    run = lab.recorded(tmp_path, *words, options=["-o", "run.peak"])
    assert "Max mem: " in run.stderr
    assert "Out of memory 2 times, the last time at " in run.stderr


def test_a_rank_that_runs_out_is_named(lab: Any, tmp_path: Path) -> None:
    program = str(PROGRAMS / "runs_out_in_a_rank.py")
    words = [
        "--",
        str(Path(sys.executable).with_name("torchrun")),
        "--nproc-per-node",
        "2",
        program,
    ]
    run = lab.recorded(tmp_path, *words, options=["-o", "rank.%r.peak"], device="h200x2")
    assert run.status == 1
    assert "2 processes recorded; the one of rank.1.peak ran out of memory:" in run.stderr
    line = next(line for line in run.stderr.splitlines() if line.startswith("Out of memory: "))
    assert "4.000 TB asked for at " in line
    assert "runs_out_in_a_rank.py:14 (main)" in line


def test_a_worker_of_a_loader_is_listed(lab: Any, tmp_path: Path) -> None:
    program = str(PROGRAMS / "runs_out_in_workers.py")
    run = lab.recorded(tmp_path, program, options=["-o", "run.%p.peak"])
    assert run.status == 1
    [said] = [line for line in run.stderr.splitlines() if "memory ran out once" in line]
    trace = re.search(r"peakline oom (.+)$", said)
    assert trace is not None
    [one] = json.loads(lab.peakline("oom", "--json", str(tmp_path / trace[1])).stdout)["ooms"]
    assert "runs_out_in_workers.py:12 (" in one["location"]


def test_a_moment_of_a_refusal_is_a_moment_like_others(lab: Any) -> None:
    run = lab.once(PROGRAM, "caught", "1000")
    [one] = autopsy(lab, run, "--nth", "1")["ooms"]
    table = lab.table(run.trace, "--at", "oom@1")
    assert table["at"] == "oom@1"
    assert table["total_bytes"] == one["live_bytes"]


def test_bad_numbers_say_what_there_is(lab: Any) -> None:
    run = lab.once(PROGRAM, "in_a_thread")
    wrong = lab.peakline("oom", str(run.trace), "--nth", "3")
    assert wrong.returncode != 0
    assert "there is no request 3: 2 were refused" in wrong.stderr
    assert re.search("takes a number from 1", lab.peakline("oom", "x", "--nth", "0").stderr)


def test_python_gets_the_same_document(lab: Any) -> None:
    run = lab.once(PROGRAM, "caught", "1000")
    [printed] = autopsy(lab, run, "--nth", "7")["ooms"]
    [returned] = peakline.open(run.trace).oom(nth=7).document["ooms"]
    for shown in (printed, returned):  # paths are as seen from the working folder
        del shown["location"], shown["rows"], shown["pins"]
    assert returned == printed
    assert peakline.open(run.trace).oom().document["ooms"][0]["number"] == 1000
    assert peakline.open(run.trace).leaks().document["growth"] == []
    with pytest.raises(ValueError, match="counted from 1"):
        peakline.open(run.trace).oom(nth=0)

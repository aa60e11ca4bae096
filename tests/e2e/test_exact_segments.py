"""Segments are recorded as torch counts them, however it obtains them."""

from __future__ import annotations

import json

from checks import check_peak
from lab import Lab, Run


def recorded_segments(lab: Lab, run: Run) -> int:
    return json.loads(lab.report("stats", run.trace, "--json"))["records"]["segment"]


def test_segments_from_cuda_malloc_are_those_that_torch_counts(each_lab: Lab) -> None:
    run = each_lab.once("segments.py", "plain")
    check_peak(each_lab.table(run.trace), run.said["peak"])
    assert recorded_segments(each_lab, run) == run.said["segments"] > 4


def test_expandable_segments_are_seen_growing_and_shrinking(lab: Lab) -> None:
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    run = lab.once("segments.py", "plain", environment=settings)
    check_peak(lab.table(run.trace), run.said["peak"])
    assert recorded_segments(lab, run) >= run.said["segments"]


def test_a_program_that_turns_to_expandable_segments_is_followed(lab: Lab) -> None:
    run = lab.once("segments.py", "switch to expandable")
    check_peak(lab.table(run.trace), run.said["peak"])
    # One of its own, from before; and maps and unmaps of what it did after.
    assert recorded_segments(lab, run) > 4

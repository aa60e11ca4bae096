"""A program sees the same of torch with and without peakline."""

from __future__ import annotations

import pytest
from lab import Lab

SEEN = (
    "stats",
    "summary",
    "snapshot",
    "out_of_memory",
    "backend",
    "accelerator",
    "history",
    "mem_get_info",
    "changed_too_late",
    "bad_device",
    "fraction",
    "after",
)


@pytest.mark.parametrize("what", SEEN)
def test_torch_shows_the_same(each_lab: Lab, what: str) -> None:
    plain = each_lab.once("observables.py", recorded=False).said
    assert sorted(plain) == sorted(SEEN)
    assert each_lab.once("observables.py").said[what] == plain[what]


def test_a_refused_allocation_reads_the_same(each_lab: Lab) -> None:
    said = each_lab.once("observables.py").said
    assert said["out_of_memory"]["type"] == "OutOfMemoryError"
    assert "Tried to allocate 1024.00 GiB" in said["out_of_memory"]["text"]
    assert said["fraction"][1].startswith("OutOfMemoryError")


def test_features_peak_the_same_without_peakline(lab: Lab) -> None:
    plain = lab.once("memory_features.py", recorded=False)
    assert lab.once("memory_features.py").said == plain.said


def test_nothing_is_told_when_all_goes_well(each_lab: Lab) -> None:
    assert each_lab.once("observables.py").notes == []


def test_tensors_that_a_thread_drops_are_freed_at_once(lab: Lab) -> None:
    assert lab.once("frees_during_looks.py").said == {"kept": 0}

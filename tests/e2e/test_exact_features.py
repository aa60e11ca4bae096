"""Every feature of torch's allocator, under every setting of it, keeps the peak exact."""

from __future__ import annotations

import pytest
from checks import check_peak, median_of
from lab import Lab, Run

SETTINGS = (
    "",
    "expandable_segments:True",
    "roundup_power2_divisions:4",
    "max_split_size_mb:21",
    "garbage_collection_threshold:0.6",
)


def check_phases(lab: Lab, run: Run) -> None:
    phases = run.said["phases"]
    for measure in ("allocated", "requested"):
        whole = lab.table(run.trace, "--top", "0", "--measure", measure)
        check_peak(whole, max(peaks[measure] for peaks in phases.values()))
    for name, peaks in phases.items():
        table = lab.table(run.trace, "--top", "0", "--at", name)
        assert (name, table["total_bytes"]) == (name, peaks["allocated"])


def test_each_feature_peaks_where_torch_says(each_lab: Lab) -> None:
    check_phases(each_lab, each_lab.once("memory_features.py"))


@pytest.mark.parametrize("setting", SETTINGS[1:])
def test_each_allocator_setting_keeps_the_peaks_exact(lab: Lab, setting: str) -> None:
    settings = {"PYTORCH_CUDA_ALLOC_CONF": setting}
    check_phases(lab, lab.once("memory_features.py", environment=settings))


# Torch keeps few or no counters here, so the program counts for itself.
UNCOUNTED = {
    "no caching": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    "cudaMallocAsync": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
}


@pytest.mark.parametrize("name", UNCOUNTED)
def test_without_torchs_caching_the_peak_is_the_programs_own_sum(lab: Lab, name: str) -> None:
    run = lab.once("own_sums.py", environment=UNCOUNTED[name])
    said = run.said
    check_peak(lab.table(run.trace, "--measure", "requested"), said["peak"])
    end = lab.table(run.trace, "--measure", "requested", "--at", "end")
    assert end["total_bytes"] == said["live"]
    assert sum(row["count"] for row in end["rows"]) == said["live_count"]


@pytest.mark.parametrize("at", ["peak", "end"])
def test_counts_and_medians_are_those_of_the_program(each_lab: Lab, at: str) -> None:
    run = each_lab.once("known_sizes.py")
    table = each_lab.table(run.trace, "--measure", "requested", "--at", at, "--by", "line")
    rows = {
        f"{row['location']['line']}": (row["bytes"], row["median_bytes"], row["count"])
        for row in table["rows"]
    }
    expected = {
        key.split()[0]: (sum(sizes), median_of(sizes), len(sizes))
        for key, sizes in run.said[f"at_{at}"].items()
    }
    assert rows == expected

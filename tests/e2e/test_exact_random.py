"""Random programs: thousands of blocks over threads, streams and two devices."""

from __future__ import annotations

import pytest
from checks import check_peak
from lab import Lab

COUNT = "1500"


@pytest.mark.parametrize("seed", ["1", "2", "3", "4"])
def test_the_peak_of_random_traced_ranges_is_torchs_own(lab: Lab, seed: str) -> None:
    run = lab.once("random_allocations.py", seed, COUNT, device="h200x2")
    ranges = run.said["ranges"]
    for device in ranges[0]:
        for measure in ("allocated", "requested"):
            table = lab.table(run.trace, "--device", device, "--measure", measure)
            check_peak(table, max(one[device][measure] for one in ranges))


def test_the_order_of_threads_is_kept_on_every_torch(each_lab: Lab) -> None:
    run = each_lab.once("random_allocations.py", "5", COUNT, device="h200x2")
    ranges = run.said["ranges"]
    for device in ranges[0]:
        table = each_lab.table(run.trace, "--device", device)
        check_peak(table, max(one[device]["allocated"] for one in ranges))

"""What is live at the end agrees with torch's own snapshot, block for block."""

from __future__ import annotations

import pytest
from checks import check_whole, median_of
from lab import Lab


@pytest.mark.parametrize("device", ["0", "1"])
def test_live_blocks_at_the_end_are_those_of_torchs_snapshot(each_lab: Lab, device: str) -> None:
    run = each_lab.once("live_blocks.py", device="h200x2")
    expected = run.said["blocks"][device]
    table = each_lab.table(run.trace, "--at", "end", "--device", device)
    check_whole(table)
    assert table["total_bytes"] == sum(expected)
    assert sum(row["count"] for row in table["rows"]) == len(expected)
    assert [row["median_bytes"] for row in table["rows"]] == [median_of(expected)]


@pytest.mark.parametrize("device", ["0", "1"])
def test_requested_bytes_at_the_end_are_torchs_own(each_lab: Lab, device: str) -> None:
    run = each_lab.once("live_blocks.py", device="h200x2")
    table = each_lab.table(run.trace, "--at", "end", "--device", device, "--measure", "requested")
    assert table["total_bytes"] == run.said["requested"][device]

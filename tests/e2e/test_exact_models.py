"""The peak of real models equals torch's own counters to the byte, in both measures."""

from __future__ import annotations

import pytest
from checks import check_peak
from lab import ROOT, Lab, Run

MEASURES = ("allocated", "requested")


def check_all_peaks(lab: Lab, run: Run) -> None:
    for device, peaks in run.said["peaks"].items():
        for measure in MEASURES:
            table = lab.table(run.trace, "--top", "0", "--device", device, "--measure", measure)
            check_peak(table, peaks[measure])


@pytest.mark.parametrize("model", ["transformer", "resnet50"])
def test_the_peak_of_a_model_in_training_is_torchs_own(each_lab: Lab, model: str) -> None:
    check_all_peaks(each_lab, each_lab.once("train_model.py", model))


def test_the_peak_of_gpt2_in_training_is_torchs_own(each_lab: Lab) -> None:
    script = str(ROOT / "examples" / "train_gpt2.py")
    run = each_lab.once("run_script.py", script, "--batch", "2", "--length", "256", "--steps", "2")
    check_all_peaks(each_lab, run)


def test_the_peak_of_a_compiled_model_is_torchs_own(lab: Lab) -> None:
    # The first run fills inductor's cache; it is a valid run of its own.
    cold = lab.once("train_model.py", "compiled")
    check_all_peaks(lab, cold)
    check_all_peaks(lab, lab.run("train_model.py", "compiled"))


def test_the_peaks_of_two_devices_are_torchs_own(lab: Lab) -> None:
    check_all_peaks(lab, lab.once("train_model.py", "two_devices", device="h200x2"))


def test_all_devices_together_never_exceed_the_sum_of_their_peaks(lab: Lab) -> None:
    run = lab.once("train_model.py", "two_devices", device="h200x2")
    peaks = [device["allocated"] for device in run.said["peaks"].values()]
    table = lab.table(run.trace, "--top", "0", "--device", "all")
    check_peak(table, table["peak_bytes"])
    assert max(peaks) <= table["peak_bytes"] <= sum(peaks)

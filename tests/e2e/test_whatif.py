"""What-if against torch itself: the recorded run, and second runs under what was predicted."""

from __future__ import annotations

import json
from typing import Any

import peakline
import pytest
from lab import ON_GPU, Lab

PROGRAM = "asks_allocator.py"
COUNTS = ("reserved_peak_bytes", "device_allocs", "device_frees", "retries")
EXPANDABLE = "expandable_segments:True"
SETTINGS = (
    EXPANDABLE,
    "max_split_size_mb:40",
    "roundup_power2_divisions:[1:8,16:4,256:2,>:1]",
    "large_segment_size_mb:64",
    "expandable_segments:True,max_split_size_mb:32,roundup_power2_divisions:4",
)


def run(lab: Lab, *words: str, settings: str = "", device: str = "h200") -> Any:
    environment = {"PYTORCH_CUDA_ALLOC_CONF": settings} if settings else None
    return lab.once(PROGRAM, *words, environment=environment, device=device)


def whatif(lab: Lab, trace: Any, *options: str) -> Any:
    return json.loads(lab.report("whatif", trace, "--json", *options))


def counts(one: dict[str, Any]) -> dict[str, int]:
    return {name: one[name] for name in COUNTS}


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (("pools",), ""),
        (("pools",), EXPANDABLE),
        (("graphs",), ""),
        (("trees",), ""),
        (("fraction",), "garbage_collection_threshold:0.6"),
        (("new_settings",), ""),
        (("random_blocks", "7"), SETTINGS[-1]),
    ],
)
def test_the_model_makes_a_recorded_run_again(
    lab: Lab, words: tuple[str, ...], settings: str
) -> None:
    recorded = run(lab, *words, settings=settings)
    found = whatif(lab, recorded.trace)
    assert (found["verified"], found["first_difference"]) == (True, None)
    assert counts(found["recorded"]) == counts(recorded.said)
    assert found["recorded_reserved_peak_bytes"] == recorded.said["reserved_peak_bytes"]


def test_what_the_program_asked_of_the_allocator_is_in_the_trace(lab: Lab) -> None:
    calls = {
        name: whatif(lab, run(lab, name).trace)["calls"]
        for name in ("pools", "graphs", "new_settings")
    }
    assert (calls["pools"]["pools_created"], calls["pools"]["routings"]) == (2, 3)
    assert (calls["graphs"]["captures"], calls["new_settings"]["settings_given"]) == (2, 1)
    gc = run(lab, "fraction", settings="garbage_collection_threshold:0.6")
    assert whatif(lab, gc.trace)["calls"]["fractions_set"] == 1
    assert whatif(lab, run(lab, "trees").trace)["calls"]["restores"] > 0


def test_a_second_run_under_other_settings_is_as_predicted(lab: Lab) -> None:
    base = run(lab, "random_blocks")
    options = [word for one in SETTINGS for word in ("--set", one)]
    found = whatif(lab, base.trace, *options)
    for settings, predicted in zip(SETTINGS, found["runs"], strict=True):
        second = run(lab, "random_blocks", settings=settings)
        assert (predicted["settings"], predicted["oom"]) == (settings, None)
        assert counts(predicted) == counts(second.said), settings
    # Torch's own: max_split_size_mb and divisions make this program worse.
    worse = {one["settings"] for one in found["runs"] if one["is_worse"]}
    peak = base.said["reserved_peak_bytes"]
    assert worse == {
        one
        for one in SETTINGS
        if run(lab, "random_blocks", settings=one).said["reserved_peak_bytes"] > peak
    }


def test_a_trace_with_its_own_settings_predicts_those_of_torch(lab: Lab) -> None:
    trace = run(lab, "random_blocks", settings=EXPANDABLE).trace
    [predicted] = peakline.whatif(trace, ["expandable_segments:False"])["runs"]
    assert counts(predicted) == counts(run(lab, "random_blocks").said)


@pytest.mark.skipif(ON_GPU, reason="other devices are simulated")
@pytest.mark.parametrize("device", ["h100", "a100-40"])
def test_a_second_run_on_a_smaller_device_is_as_predicted(lab: Lab, device: str) -> None:
    base = run(lab, "fills")
    second = run(lab, "fills", device=device)
    info = json.loads(lab.report("summary", second.trace, "--json"))
    size = info["meta"]["device.0.total_bytes"]
    [predicted] = whatif(lab, base.trace, "--device-memory", size)["runs"]
    assert counts(predicted) == counts(second.said)
    assert (predicted["oom"] is not None) == (second.said["refused"] == 1)
    if predicted["oom"] is not None:
        [refused] = json.loads(lab.report("oom", second.trace, "--json"))["ooms"]
        assert predicted["oom"]["requested_bytes"] == refused["requested_bytes"]
        assert predicted["oom"]["location"] == refused["location"]


@pytest.mark.skipif(ON_GPU, reason="other devices are simulated")
def test_the_smallest_device_is_one_that_fits_and_one_step_less_does_not(lab: Lab) -> None:
    trace = run(lab, "fills").trace
    [found] = whatif(lab, trace, "--smallest-device")["runs"]
    smallest = found["smallest_device_bytes"]
    for size, fits in ((smallest, True), (smallest - (2 << 20), False)):
        [one] = whatif(lab, trace, "--device-memory", str(size))["runs"]
        assert (one["oom"] is None) == fits


def test_a_recorded_refusal_is_made_again_and_a_larger_device_serves_it(lab: Lab) -> None:
    recorded = run(lab, "near_the_end")
    found = whatif(lab, recorded.trace)
    assert (found["verified"], recorded.said["refused"]) == (True, 1)
    assert found["recorded"]["oom"]["location"].endswith("(make)")
    assert found["calls"]["failed_device_allocs"] >= 2
    [larger] = whatif(lab, recorded.trace, "--device-memory", "400GiB")["runs"]
    assert (larger["oom"], larger["served_refusals"]) == (None, 1)


def test_emptying_the_cache_is_predicted_at_every_phase_of_a_name(lab: Lab) -> None:
    trace = run(lab, "train").trace
    [without] = whatif(lab, trace)["runs"]
    [emptied] = whatif(lab, trace, "--empty-cache-at", "forward")["runs"]
    assert without["device_frees"] == 0 < emptied["device_frees"]
    assert emptied["reserved_peak_bytes"] <= without["reserved_peak_bytes"]
    assert 0 < without["first_step"]["device_allocs"] < without["device_allocs"]


def test_wrong_options_say_what_to_do(lab: Lab) -> None:
    trace = str(run(lab, "train").trace)
    for words, said in (
        (("--set", "max_split_size_mb:4"), "must be at least that of a large segment, 20"),
        (("--set", "nonsense:1"), "'nonsense' is not a setting of torch's CUDA allocator"),
        (("--empty-cache-at", "nowhere"), "peakline phases lists them"),
        (("--set", "backend:cudaMallocAsync"), "another backend is another allocator"),
        (("--device", "all"), "--device N names one"),
    ):
        result = lab.peakline("whatif", trace, *words)
        assert result.returncode != 0
        assert said in result.stderr

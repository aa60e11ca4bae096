"""What-if against torch itself: the recorded run, and second runs under what was predicted.

A few programs and settings; tests/allocator/proof.py has all of them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import ON_GPU, ROOT, Lab, Run, together

PROGRAM = str(ROOT / "tests" / "allocator" / "programs.py")
COUNTS = ("reserved_peak_bytes", "device_allocs", "device_frees", "retries")
EXPANDABLE = "expandable_segments:True"
QUARTERS = "roundup_power2_divisions:4"
ALL_AT_ONCE = f"{EXPANDABLE},max_split_size_mb:32,{QUARTERS}"
# Programs, and the settings of their second runs.
SECOND_RUNS = {
    "small_gpt2": (EXPANDABLE,),
    "resnet18": (QUARTERS,),
    "random_blocks": (EXPANDABLE, "max_split_size_mb:40", ALL_AT_ONCE),
    "graphs": (),
    "new_settings": (),
}
MIB = 1 << 20


def run(lab: Lab, program: str, settings: str = "", device: str = "h200") -> Run:
    environment = {"PYTORCH_CUDA_ALLOC_CONF": settings} if settings else None
    return lab.once(PROGRAM, *program.split(), environment=environment, device=device)


@pytest.fixture(scope="module", autouse=True)
def every_run(lab: Lab) -> None:
    """All recordings at the beginning, two at a time."""
    jobs = {
        f"{program} {settings}": lambda one=program, under=settings: run(lab, one, under)
        for program, all_settings in SECOND_RUNS.items()
        for settings in ("", *all_settings)
    }
    together({**jobs, "emptied": lambda: run(lab, "small_gpt2 emptied")})


def whatif(lab: Lab, trace: Path, *options: str) -> Any:
    return json.loads(lab.report("whatif", trace, "--json", *options))


def counts(one: dict[str, Any]) -> dict[str, int]:
    return {name: one[name] for name in COUNTS}


@pytest.mark.parametrize("program", SECOND_RUNS)
def test_the_model_makes_a_recorded_run_again(lab: Lab, program: str) -> None:
    for settings in ("", *SECOND_RUNS[program]):
        recorded = run(lab, program, settings)
        found = whatif(lab, recorded.trace)
        assert (found["verified"], found["first_difference"], found["runs"]) == (True, None, [])
        assert counts(found["recorded"]) == counts(recorded.said)
        assert found["recorded_reserved_peak_bytes"] == recorded.said["reserved_peak_bytes"]


def test_what_the_program_asked_of_the_allocator_is_in_the_trace(lab: Lab) -> None:
    calls = {
        name: whatif(lab, run(lab, name).trace)["calls"] for name in ("graphs", "new_settings")
    }
    assert (calls["graphs"]["captures"], calls["graphs"]["routings"]) == (2, 3)
    assert calls["graphs"]["emptied_caches"] >= 3
    given = calls["new_settings"]
    assert (given["settings_given"], given["fractions_set"], given["pools_created"]) == (1, 1, 4)


@pytest.mark.parametrize("program", [name for name in SECOND_RUNS if SECOND_RUNS[name]])
def test_a_second_run_under_other_settings_is_as_predicted(lab: Lab, program: str) -> None:
    base = run(lab, program)
    settings = SECOND_RUNS[program]
    found = whatif(lab, base.trace, *[word for one in settings for word in ("--set", one)])
    assert [one["settings"] for one in found["runs"]] == list(settings)
    for predicted in found["runs"]:
        second = run(lab, program, predicted["settings"]).said
        assert (counts(predicted), predicted["oom"]) == (counts(second), None)
        assert predicted["first_step"] is None or predicted["first_step"] == second["first_step"]
        larger = second["reserved_peak_bytes"] > base.said["reserved_peak_bytes"]
        assert predicted["is_worse"] == larger


def test_a_trace_with_its_own_settings_predicts_those_of_torch(lab: Lab) -> None:
    trace = run(lab, "random_blocks", EXPANDABLE).trace
    [predicted] = peakline.open(trace).whatif(["expandable_segments:False"]).document["runs"]
    assert counts(predicted) == counts(run(lab, "random_blocks").said)


@pytest.mark.skipif(ON_GPU, reason="other devices are simulated")
def test_the_smallest_device_fits_and_a_step_less_does_not(lab: Lab) -> None:
    trace = run(lab, "small_gpt2").trace
    smallest = whatif(lab, trace, "--smallest-device")["recorded"]["smallest_device_bytes"]
    least_mib = -(-smallest // MIB)  # what others have need not be whole MiB
    seconds = together(
        {
            str(mib): lambda mib=mib: run(lab, "small_gpt2", device=f"h200:{mib}MiB")
            for mib in (least_mib, least_mib - 2)
        }
    )
    for (mib, second), fits in zip(seconds.items(), (True, False), strict=True):
        found = whatif(lab, trace, "--device-memory", f"{mib}MiB")["recorded"]
        assert (found["oom"] is None, not second.said["refused"]) == (fits, fits)
        assert counts(found) == counts(second.said)
        if not fits:
            [refused] = json.loads(lab.report("oom", second.trace, "--json"))["ooms"]
            assert found["oom"]["requested_bytes"] == refused["requested_bytes"]
            assert found["oom"]["location"] == refused["location"]
            # That one recorded, a larger device would have served it.
            again = whatif(lab, second.trace, "--device-memory", f"{int(mib) + 2}MiB")
            assert again["verified"]
            assert again["calls"]["failed_device_allocs"] >= 1
            assert (again["recorded"]["oom"], again["recorded"]["served_refusals"]) == (None, 1)


def test_emptying_the_cache_is_predicted_at_every_phase_of_a_name(lab: Lab) -> None:
    trace = run(lab, "small_gpt2").trace
    without = whatif(lab, trace)["recorded"]
    found = whatif(lab, trace, "--empty-cache-at", "forward")
    assert counts(found["recorded"]) == counts(without)
    [emptied] = found["runs"]
    assert without["device_frees"] == 0 < emptied["device_frees"]
    assert counts(emptied) == counts(run(lab, "small_gpt2 emptied").said)


def test_wrong_options_say_what_to_do(lab: Lab) -> None:
    trace = str(run(lab, "small_gpt2").trace)
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

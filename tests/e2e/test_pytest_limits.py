"""limit_gpu_memory held against torch's own counters, and how both markers are taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import ON_GPU, Lab
from peakline.base.sizes import size_of
from pytest_runs import ORACLE, PytestRuns, outcomes
from test_pytest_leaks import LEAK_OUTCOMES, LEAKS

MEMORY = """
import asyncio
import random
import unittest

import pytest
import torch

MB = 1 << 20

def take(count, device="cuda"):
    return torch.empty(count * MB, dtype=torch.uint8, device=device)

@pytest.fixture(scope="module")
def shared():
    return take(30)

@pytest.fixture
def own():
    big = take(100)
    del big
    return take(10)

@pytest.mark.parametrize("seed", range(5))
def test_random(seed):
    numbers = random.Random(seed)
    held = []
    for _ in range(50):
        held.append(take(numbers.randrange(1, 20)))
        if numbers.random() < 0.5:
            held.pop(numbers.randrange(len(held)))

@pytest.mark.limit_gpu_memory("45 MB")
def test_fixtures_count_as_they_are_at_the_call(shared, own):
    take(5)

@pytest.mark.limit_gpu_memory("45 MB")
def test_what_is_in_use_before_counts(shared, own):
    take(6)

@pytest.mark.limit_gpu_memory("20 MB")
class TestClass:
    def test_has_the_limit_of_its_class(self):
        take(21)

    @pytest.mark.limit_gpu_memory("1 GB")
    def test_has_its_own(self):
        take(21)

class TestOfUnittest(unittest.TestCase):
    @pytest.mark.limit_gpu_memory("40 MB")
    def test_above(self):
        take(41)

    @pytest.mark.limit_gpu_memory("40 MB")
    def test_fails_by_itself(self):
        take(41)
        self.fail("its own")

@pytest.mark.limit_gpu_memory("40 MB")
def test_coroutine():
    async def use():
        held = take(11)
        await asyncio.sleep(0)
        return held
    asyncio.run(use())

@pytest.mark.xfail
@pytest.mark.limit_gpu_memory("1 MB")
def test_expected_to_fail():
    take(2)

@pytest.mark.skip
@pytest.mark.limit_gpu_memory("1 MB")
def test_skipped():
    take(2)

@pytest.fixture
def broken():
    take(2)
    raise KeyError("broken")

@pytest.mark.limit_gpu_memory("1 MB")
def test_error_in_setup(broken):
    take(2)

@pytest.mark.parametrize("text", ["a@b", "1..3", "x*", "y" * 5000, "ä ü", "a/../b"])
@pytest.mark.limit_gpu_memory("32 MB")
def test_text(text):
    take(3)
"""

WRONG = """
import pytest

@pytest.mark.limit_gpu_memory("much")
def test_no_size(): pass

@pytest.mark.limit_gpu_memory()
def test_nothing(): pass

@pytest.mark.limit_gpu_memory("1 GB", current_thread_only=True)
def test_option(): pass

@pytest.mark.limit_gpu_leaks("1 GB", device="cpu")
def test_device(): pass

@pytest.mark.limit_gpu_leaks("1 GB", filter_fn=3)
def test_filter(): pass

def test_other(): pass
"""

OUTCOMES = {
    "test_fixtures_count_as_they_are_at_the_call": "passed",
    "test_what_is_in_use_before_counts": "failure",
    "test_has_the_limit_of_its_class": "failure",
    "test_has_its_own": "passed",
    "test_above": "failure",
    "test_fails_by_itself": "failure",
    "test_coroutine": "failure",
    "test_expected_to_fail": "skipped",
    "test_skipped": "skipped",
    "test_error_in_setup": "error",
}


@pytest.fixture(scope="module")
def memory(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> PytestRuns:
    """A run of MEMORY with --peakline."""
    run = PytestRuns(lab, tmp_path_factory.mktemp("memory"))
    run.write(conftest=ORACLE, test_memory=MEMORY)
    run("--peakline", "--junitxml", "junit.xml")
    return run


def test_a_test_fails_above_its_limit_and_only_then(memory: PytestRuns) -> None:
    cases = memory.cases()
    assert outcomes(cases, OUTCOMES) == OUTCOMES
    assert cases["test_has_the_limit_of_its_class"].properties["peakline_failed"] == (
        "limit_gpu_memory"
    )


def test_the_peak_of_each_test_is_torchs_own(memory: PytestRuns) -> None:
    cases = memory.cases()
    peaks = {name: max(peaks) for name, peaks in memory.oracle().items()}
    ours = {
        name: int(case.properties["peakline_peak_bytes"])
        for name, case in cases.items()
        if "peakline_peak_bytes" in case.properties
    }
    assert len(ours) >= 15
    assert ours == {name: peaks[name] for name in ours}
    for name in ("test_what_is_in_use_before_counts", "test_above", "test_coroutine"):
        assert cases[name].text.startswith(f"{size_of(peaks[name])} of GPU memory were in use, ")


def test_a_failure_says_what_was_there_before_and_which_lines_hold_it(memory: PytestRuns) -> None:
    lines = memory.cases()["test_what_is_in_use_before_counts"].text.splitlines()
    assert lines == [
        "46.00 MB of GPU memory were in use, 45.00 MB are allowed"
        " (40.00 MB were in use before the test):",
        "    46.00 MB  test_memory.py:12 (take)",
    ]


def test_what_a_test_raises_itself_is_what_it_failed_of(memory: PytestRuns) -> None:
    case = memory.cases()["test_fails_by_itself"]
    assert "its own" in case.text
    assert "peakline_failed" not in case.properties


def test_ids_of_any_text_are_measured(memory: PytestRuns) -> None:
    cases = {name: case for name, case in memory.cases().items() if name.startswith("test_text")}
    assert len(cases) == 6
    assert {case.outcome for case in cases.values()} == {"failure"}


def test_markers_hold_without_the_option_where_there_is_a_gpu(run_pytest: PytestRuns) -> None:
    run_pytest.write(test_memory=MEMORY, test_leaks=LEAKS)
    done = run_pytest.on_a_gpu("--junitxml", "junit.xml", "test_memory.py")
    assert "GPU memory (peakline) ===" not in done.stdout  # the summary is the option's
    assert outcomes(run_pytest.cases(), OUTCOMES) == OUTCOMES
    run_pytest.on_a_gpu("--junitxml", "leaks.xml", "test_leaks.py")
    assert outcomes(run_pytest.cases("leaks.xml"), LEAK_OUTCOMES) == LEAK_OUTCOMES


def test_markers_hold_in_workers(run_pytest: PytestRuns) -> None:
    pytest.importorskip("xdist")
    run_pytest.write(test_memory=MEMORY, test_leaks=LEAKS)
    words = ("-n", "2", "--dist", "loadfile", "--junitxml", "junit.xml")
    expected = {**OUTCOMES, **LEAK_OUTCOMES}
    run_pytest("--peakline", *words)
    assert outcomes(run_pytest.cases(), expected) == expected
    run_pytest.on_a_gpu(*words)
    assert outcomes(run_pytest.cases(), expected) == expected


@pytest.mark.skipif(ON_GPU, reason="needs a machine without a GPU")
def test_without_a_gpu_one_line_says_that_nothing_was_checked(run_pytest: PytestRuns) -> None:
    text = MEMORY.replace("    take(21)", "    pass")
    run_pytest.write(test_memory=text)
    done = run_pytest("-k", "TestClass")
    assert done.returncode == 0, done.stdout
    assert (
        "The limits of 2 tests were not checked: this machine has no NVIDIA driver;"
        " pytest --peakline simulates one" in done.stdout
    )


def test_a_wrong_marker_is_an_error_of_its_test(run_pytest: PytestRuns) -> None:
    run_pytest.write(test_wrong=WRONG)
    run_pytest("--junitxml", "junit.xml")
    cases = run_pytest.cases()
    takes = '@pytest.mark.limit_gpu_{} takes a size, "24 GB", and {}: '.format
    memory = takes("memory", "device=")
    leaks = takes("leaks", "device= and filter_fn=")
    expected = {
        "test_no_size": f"{memory}'much' is not a size",
        "test_nothing": f"{memory}limit_gpu_memory missing 1 required positional argument: 'size'",
        "test_option": f"{memory}limit_gpu_memory got an unexpected keyword argument",
        "test_device": f"{leaks}device='cpu' is no GPU: 0, 'cuda:1' or 'all'",
        "test_filter": f"{leaks}filter_fn=3 cannot be called",
    }
    for name, text in expected.items():
        assert cases[name].outcome == "error"
        assert cases[name].text.startswith(f"test_wrong.py::{name}: {text}")
        assert len(cases[name].text.splitlines()) == 1
    assert cases["test_other"].outcome == "passed"


def test_a_limit_is_of_each_device_or_of_one_or_of_their_sum(run_pytest: PytestRuns) -> None:
    run_pytest.write(
        conftest=ORACLE,
        test_devices=MEMORY.partition("@pytest.fixture")[0]
        + """
def use():
    take(10, "cuda:0")
    take(30, "cuda:1")
    held = [take(20, "cuda:0"), take(20, "cuda:1")]

@pytest.mark.limit_gpu_memory("25 MB")
def test_each(): use()

@pytest.mark.limit_gpu_memory("35 MB")
def test_each_is_enough(): use()

@pytest.mark.limit_gpu_memory("25 MB", device=0)
def test_first(): use()

@pytest.mark.limit_gpu_memory("25 MB", device=1)
@pytest.mark.limit_gpu_memory("1 MB")
@pytest.mark.limit_gpu_memory("1 GB")
def test_closest_of_each_device(): use()

@pytest.mark.limit_gpu_memory("35 MB", device="all")
def test_sum(): use()

@pytest.mark.limit_gpu_memory("45 MB", device="all")
def test_sum_is_enough(): use()

@pytest.mark.limit_gpu_leaks("0 B", device=torch.device("cuda", 1))
def test_left_on_the_other():
    globals()["left"] = take(3, "cuda:0")

@pytest.mark.limit_gpu_leaks("0 B")
def test_left():
    globals()["more"] = take(3, "cuda:1")
""",
    )
    run_pytest("--peakline", "--peakline-simulate", "h200x2", "--junitxml", "junit.xml")
    cases = run_pytest.cases()
    said = {name: case.text.partition(",")[0] for name, case in cases.items()}
    above = "30.00 MB of GPU memory of device 1 were in use"
    assert said == {
        "test_each": above,
        "test_each_is_enough": "",
        "test_first": "",
        "test_closest_of_each_device": above,
        "test_sum": "40.00 MB of GPU memory of all devices were in use",
        "test_sum_is_enough": "",
        "test_left_on_the_other": "",
        "test_left": "3.000 MB of GPU memory of device 1 were left allocated",
    }


def test_a_limit_fails_when_a_test_needs_more_than_before(run_pytest: PytestRuns) -> None:
    text = """
import pytest
import torch
from sizes import SIZE

@pytest.mark.limit_gpu_memory("1 GB")
def test_grows():
    torch.empty(SIZE, dtype=torch.uint8, device="cuda")
"""
    words = ("--peakline", "--peakline-fail-on-increase")
    run_pytest.write(test_grows=text, sizes="SIZE = 2 << 20")
    assert run_pytest(*words).returncode == 0
    assert run_pytest(*words).returncode == 0
    run_pytest.write(sizes="SIZE = (2 << 20) + 1")
    for _ in range(2):  # a run that failed is not what counts
        done = run_pytest(*words)
        assert done.returncode == 1
        assert (
            "2.000 MB of GPU memory were needed, 2.000 MB in the last successful run"
            " (512 bytes more)" in done.stdout
        )
    assert run_pytest("--peakline").returncode == 0  # only with the option
    run_pytest.write(sizes="SIZE = 1 << 20")
    assert run_pytest(*words).returncode == 0
    assert Path(run_pytest.folder, ".pytest_cache").exists()

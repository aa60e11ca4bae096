"""limit_gpu_leaks, held against torch's own counters."""

from __future__ import annotations

import pytest
from lab import Lab
from peakline.base.sizes import size_of
from pytest_runs import PytestRuns, outcomes

LEAKS = """
import unittest

import pytest
import torch

MB = 1 << 20
cache = []

def take(count):
    return torch.empty(count * MB, dtype=torch.uint8, device="cuda")

@pytest.fixture
def model():
    take(50)
    return torch.nn.Linear(512, 512, device="cuda")

@pytest.fixture(scope="module")
def shared_model():
    return torch.nn.Linear(512, 512, device="cuda")

@pytest.fixture
def left_by_a_fixture():
    cache.append(take(4))

def train(model):
    (model.weight.exp().sum() + model.bias.exp().sum()).backward()

@pytest.mark.limit_gpu_leaks("0 B")
def test_first_use_of_a_wider_fixture(shared_model, model):
    train(model)

@pytest.mark.limit_gpu_leaks("0 B")
def test_gradients_of_a_wider_fixture(shared_model, model):
    train(shared_model)

@pytest.mark.limit_gpu_leaks("0 B")
def test_gradients_that_are_there(shared_model):
    train(shared_model)

@pytest.fixture(scope="module")
def inner():
    return take(8)

@pytest.fixture(scope="module")
def outer(request):
    return [request.getfixturevalue("inner"), take(8)]

@pytest.mark.limit_gpu_leaks("3 MB")
def test_wider_fixture_asked_for_in_the_call(request):
    request.getfixturevalue("outer")
    cache.append(take(4))

@pytest.mark.limit_gpu_leaks("3 MB")
def test_up_to_its_limit():
    cache.append(take(3))

@pytest.mark.limit_gpu_leaks("3 MB")
def test_in_two_lines():
    cache.append(take(2))
    cache.append(take(2))

@pytest.mark.limit_gpu_leaks("3 MB")
def test_of_a_fixture(left_by_a_fixture):
    pass

@pytest.mark.limit_gpu_leaks("0 B")
def test_in_place_of_another():
    cache.pop(0)
    cache.append(take(3))

@pytest.mark.limit_gpu_leaks("0 B")
def test_cycle():
    cycle = [take(5)]
    cycle.append(cycle)

@pytest.mark.limit_gpu_leaks("0 B")
def test_workspace_of_a_product():  # some versions of torch keep it
    matrix = torch.ones(64, 64, device="cuda")
    matrix @ matrix

def is_ours(stack):
    return stack.frames[0].function == "take" and stack.frames[0].filename.endswith("leaks.py")

@pytest.mark.limit_gpu_leaks("0 B", filter_fn=lambda stack: not is_ours(stack))
def test_filtered():
    cache.append(take(5))

@pytest.mark.limit_gpu_leaks("0 B", filter_fn=is_ours)
def test_not_filtered():
    cache.append(take(5))

@pytest.mark.limit_gpu_memory("1 GB")
@pytest.mark.limit_gpu_leaks("0 B")
def test_both_markers():
    cache.append(take(6))

@pytest.mark.limit_gpu_leaks("0 B")
def test_fails_by_itself():
    cache.append(take(6))
    raise KeyError("its own")

class TestOfUnittest(unittest.TestCase):
    def setUp(self):
        self.held = take(7)

    @pytest.mark.limit_gpu_leaks("0 B")
    def test_attribute(self):
        self.more = take(7)

    @pytest.mark.limit_gpu_leaks("0 B")
    def test_left(self):
        cache.append(self.held)

def test_after_which_the_module_is_torn_down():
    pass
"""

# What torch itself has allocated when a test begins and when its teardown is over.
LEAK_ORACLE = """
import json
import os
import pytest
import torch

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    before = torch.cuda.memory_allocated()
    yield
    with open(os.environ["ORACLE"], "a") as file:
        print(json.dumps([item.nodeid, [torch.cuda.memory_allocated() - before]]), file=file)
    return True
"""

LEAK_OUTCOMES = {
    "test_first_use_of_a_wider_fixture": "passed",
    "test_gradients_of_a_wider_fixture": "error",
    "test_gradients_that_are_there": "passed",
    "test_up_to_its_limit": "passed",
    "test_wider_fixture_asked_for_in_the_call": "error",
    "test_in_two_lines": "error",
    "test_of_a_fixture": "error",
    "test_in_place_of_another": "passed",
    "test_cycle": "passed",
    "test_workspace_of_a_product": "passed",
    "test_filtered": "passed",
    "test_not_filtered": "error",
    "test_both_markers": "error",
    "test_fails_by_itself": "failure",
    "test_attribute": "passed",
    "test_left": "error",
}


@pytest.fixture(scope="module")
def leaks(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> PytestRuns:
    """A run of LEAKS with --peakline."""
    run = PytestRuns(lab, tmp_path_factory.mktemp("leaks"))
    run.write(conftest=LEAK_ORACLE, test_leaks=LEAKS)
    run("--peakline", "--junitxml", "junit.xml")
    return run


def test_what_a_test_leaves_is_torchs_own_figure(leaks: PytestRuns) -> None:
    cases = leaks.cases()
    assert outcomes(cases, LEAK_OUTCOMES) == LEAK_OUTCOMES
    left = {name: growth for name, [growth] in leaks.oracle().items()}
    left["test_wider_fixture_asked_for_in_the_call"] -= 16 << 20  # what the fixtures hold
    failed = [name for name, outcome in LEAK_OUTCOMES.items() if outcome == "error"]
    for name in failed:
        assert cases[name].text.startswith(
            f"{size_of(left[name])} of GPU memory were left allocated, "
        )
        assert cases[name].properties["peakline_failed"] == "limit_gpu_leaks"
    assert left["test_cycle"] == left["test_attribute"] == 0


def test_a_leak_has_the_stacks_that_left_it(leaks: PytestRuns) -> None:
    assert leaks.cases()["test_in_two_lines"].text.splitlines() == [
        "4.000 MB of GPU memory were left allocated, 3.000 MB are allowed:",
        "    2.000 MB  test_leaks.py:11 (take)",
        "              test_leaks.py:60 (test_in_two_lines)",
        "    2.000 MB  test_leaks.py:11 (take)",
        "              test_leaks.py:61 (test_in_two_lines)",
    ]

"""What the simulated GPU must carry: features in groups, under several settings of torch.

The programs' own assertions are the oracle, and that nothing had to be refused: a call that is not
modelled would have said its name.
"""

from __future__ import annotations

from typing import Any

import pytest
from lab import ON_GPU, Lab

pytestmark = pytest.mark.skipif(ON_GPU, reason="asks the simulated GPU")

GROUPS = (
    "recurrent",
    "attention",
    "layers",
    "convolutions",
    "blas",
    "solvers",
    "sparse",
    "fourier",
    "streams_and_pools",
    "graphs",
    "compiled",
    "profiled",
    "shared_between_processes",
    "amp_and_checkpointing",
    "llama",
    "accelerated",
    "vision",
    "lightning",
)
# What depends on torch's allocator, run again with its other settings.
SETTINGS = {
    "expandable_segments:True": (
        "layers",
        "graphs",
        "streams_and_pools",
        "shared_between_processes",
    ),
    # Torch itself shares no memory of this one between processes.
    "backend:cudaMallocAsync": ("layers", "graphs", "amp_and_checkpointing"),
}


def run(lab: Lab, *groups: str, setting: str = "") -> tuple[dict[str, Any], str]:
    environment = {"PYTORCH_CUDA_ALLOC_CONF": setting, "PYTORCH_ALLOC_CONF": setting}
    done = lab.once(
        "coverage_features.py",
        *groups,
        recorded=False,
        environment=environment if setting else {},
    )
    return done.said, done.stderr


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_features_runs(each_lab: Lab, group: str) -> None:
    said, stderr = run(each_lab, *GROUPS)
    if "skipped" in said[group]:
        pytest.skip(said[group]["skipped"])
    assert "failed" not in said[group], said[group]["failed"]
    assert said[group]["peak"] > 0
    assert "is not modelled" not in stderr, stderr[-2000:]


@pytest.mark.parametrize(
    ("setting", "group"), [(setting, group) for setting in SETTINGS for group in SETTINGS[setting]]
)
def test_a_group_runs_with_another_allocator(lab: Lab, setting: str, group: str) -> None:
    said, stderr = run(lab, *SETTINGS[setting], setting=setting)
    assert "failed" not in said[group], said[group]["failed"]
    assert "is not modelled" not in stderr, stderr[-2000:]

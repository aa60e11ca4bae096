"""Operators of allocations against torch's own profiler, and phases of a training step."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="torch is not installed: make setup"
    ),
    pytest.mark.skipif(
        not (ROOT / "pyhook" / "peakline" / "_report.abi3.so").exists(),
        reason="the report engine is not built: make build",
    ),
]

# Keeps everything that operators allocate: what the profiler counts as used is what was allocated.
PROFILED = """
import json
import torch
from torch.profiler import ProfilerActivity, profile

weights = [torch.randn(256, 256, device="cuda", requires_grad=True) for _ in range(3)]
# The first product makes the workspace of cuBLAS.
count = "allocated_bytes.all.allocated"
before = {"aten::empty": torch.cuda.memory_stats()[count]}
kept = [weights[0] @ weights[1]]
before["aten::mm"] = torch.cuda.memory_stats()[count] - before["aten::empty"]
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
    x = torch.randn(64, 256, device="cuda")
    kept.append(x)
    for weight in weights:
        kept.append(kept[-1] @ weight)
        kept.append(torch.relu(kept[-1]))
        kept.append(kept[-1].mul(2))
        kept.append(kept[-1].add_(1))
    kept.append(torch.cat(kept))
    kept.append(kept[-1].sum(dim=1))
    kept += [torch.zeros_like(x), x.t().contiguous(), x.half(), torch.ones(3, device="cuda")]
    kept.append(torch.nn.functional.layer_norm(x, (256,), weights[0][0]))
mere = {"aten::empty", "aten::empty_strided", "aten::empty_like"}
used = {}
asked = {}
for event in run.events():
    if event.self_device_memory_usage > 0:
        used[event.name] = used.get(event.name, 0) + event.self_device_memory_usage
        asking = event
        while asking.name in mere and asking.cpu_parent is not None:
            asking = asking.cpu_parent
        asked[asking.name] = asked.get(asking.name, 0) + event.self_device_memory_usage
print(json.dumps([before, used, asked]))
"""

TRAINED = """
import torch
from torch.utils.checkpoint import checkpoint


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(256, 1024, device="cuda")
        self.second = torch.nn.Linear(1024, 256, device="cuda")

    def forward(self, x):
        hidden = checkpoint(self.run_first, x, use_reentrant=False)
        return self.second(hidden)

    def run_first(self, x):
        return torch.relu(self.first(x))


model = Model()
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(64, 256, device="cuda", requires_grad=True)
loss = model(batch).square().mean()
loss.backward()
optimizer.step()
"""


def run(arguments):
    """Run the command line as a user does."""
    result = subprocess.run(
        [sys.executable, "-m", "peakline", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "pyhook")},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def record(program, folder):
    """Run a program on the simulated GPU; its trace and what it printed."""
    script = folder / "program.py"
    script.write_text(program)
    trace = folder / "program.peak"
    output = run(["run", "-q", "--simulate", "h200", "-o", trace, script])
    return trace, output


def bytes_by(key, trace):
    """Bytes of all allocations of the trace, by the key of their rows."""
    stats = json.loads(run(["stats", "--json", "--by", key, trace]))
    return {row["key"]: row["bytes"] for row in stats["by_bytes"]}


@pytest.fixture(scope="module")
def profiled(tmp_path_factory):
    """The trace of PROFILED, and what the profiler and the counters said."""
    trace, output = record(PROFILED, tmp_path_factory.mktemp("profiled"))
    return trace, json.loads(output.splitlines()[-1])


@pytest.mark.parametrize("key", ["raw-op", "op"])
def test_operators_allocate_the_bytes_of_the_profiler(profiled, key):
    trace, (before, used, asked) = profiled
    expected = dict(used if key == "raw-op" else asked)
    assert expected, "the profiler saw no memory"
    allocated = {}
    for name, size in bytes_by(key, trace).items():
        assert name.startswith("aten::"), name
        name = name.split(".")[0]  # the profiler drops overloads
        allocated[name] = allocated.get(name, 0) + size
    # Before the profiler began `randn` asked for what `empty` gave.
    made = {"aten::empty": "aten::randn"} if key == "op" else {}
    for name, size in before.items():
        allocated[made.get(name, name)] -= size
    # Scratch of cuBLAS is freed within its operator: the profiler, which counts what remains,
    # does not see it.
    assert allocated.pop("aten::mm") >= expected.pop("aten::mm")
    assert allocated == expected


def test_names_are_those_of_the_installed_torch(profiled):
    trace, _ = profiled
    import torch

    known = set(torch._C._dispatch_get_all_op_names())
    assert set(bytes_by("raw-op", trace)) | set(bytes_by("op", trace)) <= known


def test_phases_of_a_training_step(tmp_path):
    trace, _ = record(TRAINED, tmp_path)
    phases = bytes_by("phase", trace)
    assert set(phases) == {
        "initialisation",
        "forward",
        "recomputation",
        "backward",
        "optimizer",
        "other",
    }
    parameters = (256 * 1024 + 1024 + 1024 * 256 + 256) * 4
    assert phases["initialisation"] == parameters
    # Both moments of every parameter, and temporary memory of the step.
    assert phases["optimizer"] >= 2 * parameters
    # The first layer and its relu run twice; the scratch of cuBLAS comes on top.
    assert phases["recomputation"] >= 2 * 64 * 1024 * 4

"""--blank-weights: what is large and random holds no memory, all else is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, Run

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")

PROGRAM = """
import json, numpy, resource, torch
from torch import nn

def held():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

torch.manual_seed(3)
said, before = {}, held()
large = {
    "linear": nn.Linear(4096, 4096).weight,
    "truncated": nn.init.trunc_normal_(torch.empty(2100, 2100), 1.0, 0.1, 0.5, 1.5),
    "normal": torch.randn(1500, 1500, dtype=torch.float64),
    "orthogonal start": torch.empty(64, 1 << 17).normal_(2.0),
}
with torch.no_grad():
    large["half"] = large["linear"].to(torch.bfloat16)
    large["copy"] = large["linear"].clone()
    large["copied into"] = torch.empty(4096, 4096).copy_(large["linear"])
said["held"] = held() - before
said["bytes"] = sum(one.nbytes for one in large.values())
said["large"] = {name: [one.abs().sum().item(), list(one.shape)] for name, one in large.items()}
# What is no fill of a whole large tensor of torch's own does what it always does.
kept = numpy.zeros(1 << 23)
torch.from_numpy(kept).normal_()
base = torch.ones(4096, 4096)
base[:2048].normal_()
odd = torch.ones(4096, 4096).t()[:, ::2].uniform_(3.0, 4.0)
filled = torch.full((4096, 4096), 7.0)
source = torch.arange(1 << 22, dtype=torch.float32)
again = torch.empty(1 << 22).copy_(source)
written = large["linear"].data
written[5] = 9.0
mapped = torch.from_file("mapped.bin", shared=True, size=1 << 22).normal_()
said["real"] = {
    "numpy": bool(numpy.std(kept) > 0.9),
    "view": bool(base[:2048].std() > 0.9) and bool((base[2048:] == 1).all()),
    "strided": bool((odd >= 3).all()),
    "full": bool((filled == 7).all()),
    "copied": bool((again == source).all()),
    "written": written.sum().item() == 9 * 4096,
    "mapped": bool(mapped.std() > 0.9),
    "whole numbers": int(torch.randint(1, 9, (1 << 22,)).min()) == 1,
}
again = torch.Generator().manual_seed(5)
said["small"] = [
    torch.randn(4, generator=again).tolist(),
    nn.init.trunc_normal_(torch.empty(4), generator=again).tolist(),
    torch.rand(1000, 1000, generator=again).sum().item(),
]
said["peak"] = large["half"].cuda().nbytes
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("blank")
    program = folder / "fills.py"
    program.write_text(PROGRAM)
    options = {"blank": ["--blank-weights"], "plain": []}
    return {
        name: lab.recorded(
            folder / name, str(program), options=["-q", "-o", "run.peak", *options[name]]
        )
        for name in options
    }


def test_large_random_tensors_hold_no_memory(runs: dict[str, Run]) -> None:
    said = runs["blank"].said
    assert said["bytes"] > 256 << 20
    assert said["held"] < 32 << 20
    assert runs["plain"].said["held"] > 200 << 20
    assert {name: total for name, (total, _) in said["large"].items()} == dict.fromkeys(
        said["large"], 0.0
    )
    shapes = [
        {name: shape for name, (_, shape) in run.said["large"].items()} for run in runs.values()
    ]
    assert shapes[0] == shapes[1]


def test_all_else_is_as_it_was(runs: dict[str, Run]) -> None:
    said = runs["blank"].said
    assert said["real"] == dict.fromkeys(said["real"], True)
    assert said["small"] == runs["plain"].said["small"]
    for run in runs.values():
        assert (run.status, run.notes) == (0, [])
        assert "verriding" not in run.stderr


def test_the_table_is_the_same(lab: Any, runs: dict[str, Run]) -> None:
    tables = [lab.table(run.trace) for run in runs.values()]
    assert tables[0]["peak_bytes"] == tables[1]["peak_bytes"] > runs["blank"].said["peak"] - 1
    rows = [[(row["key"], row["bytes"]) for row in table["rows"]] for table in tables]
    assert rows[0] == rows[1]


def test_it_needs_a_simulated_device(lab: Any, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("pass")
    done = lab.peakline("run", "--blank-weights", str(tmp_path / "x.py"))
    assert done.returncode == 2
    assert "--blank-weights needs --simulate" in done.stderr

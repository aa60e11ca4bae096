"""What `run --cpu` costs: a loop of the smallest tensors, and a small training step.

    python tests/bench/bench_cpu_tensors.py [--turns N]

Processes with and without the option take turns; printed is the least processor time of each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

WORK = """
import time, torch
def tensors(count):
    for _ in range(count):
        kept = torch.empty(16)
def deeper(depth, count):
    deeper(depth - 1, count) if depth else tensors(count)
def least(work, times):
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
inputs, targets = torch.randn(64, 512), torch.randint(0, 10, (64,))
def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    optimizer.step()
print(least(lambda: deeper(5, 10000), 25) / 10000, least(step, 60))
"""


def measured(environment: dict[str, str]) -> tuple[float, float]:
    """Return seconds for each tensor and for each step."""
    result = subprocess.run(
        [sys.executable, "-c", WORK],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    tensor, step = result.stdout.split()
    return float(tensor), float(step)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    command = [sys.executable, "-m", "peakline", "preload"]
    library = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        recorded = {
            "LD_PRELOAD": library,
            "PEAKLINE_CPU": "1",
            "PEAKLINE_OUTPUT": str(Path(folder, "%p.peak")),
        }
        runs = [(measured({}), measured(recorded)) for _ in range(turns)]
    for index, (name, unit, scale) in enumerate((("tensor", "ns", 1e9), ("step", "us", 1e6))):
        plain, ours = (min(run[way][index] for run in runs) * scale for way in (0, 1))
        print(
            f"a {name}: {plain:.0f} {unit}, recorded +{ours - plain:.0f} {unit}"
            f" ({(ours / plain - 1) * 100:.1f} %)"
        )


if __name__ == "__main__":
    main()

"""Trains on the CPU for three epochs, with a DataLoader, and has torch's profiler count.

argv: the number of workers of the loader. Prints the loss, the weights' checksum, what became of a
request that cannot be served, and the highest level by the profiler's own memory events.
"""

from __future__ import annotations

import json
import sys

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset


def train(workers: int) -> tuple[float, str]:
    """Three epochs of a small classifier; the loss and the checksum of the weights."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(300, 400), torch.nn.ReLU(), torch.nn.Linear(400, 10)
    )
    optimizer = torch.optim.Adam(model.parameters())
    data = TensorDataset(torch.randn(256, 300), torch.randint(0, 10, (256,)))
    loader = DataLoader(data, batch_size=64, num_workers=workers)
    for _ in range(3):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    return loss.item(), weights.numpy().tobytes().hex()[:64] + str(weights.sum().item())


def refused() -> str:
    """What torch says of a request that no machine serves."""
    try:
        torch.empty(1 << 60)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return "served"


def highest_level(events: list[object]) -> int:
    """Return the highest sum of the memory events of the CPU."""
    level = highest = 0
    memory = [one for one in events if one.name() == "[memory]" and one.device_type().name == "CPU"]
    for one in sorted(memory, key=lambda event: event.start_ns()):
        level += one.nbytes()
        highest = max(highest, level)
    return highest


def main() -> None:
    """Run and print."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, acc_events=True) as prof:
        loss, weights = train(int(sys.argv[1]))
    peak = highest_level(prof.profiler.kineto_results.events())
    said = {"loss": loss, "weights": weights, "refused": refused(), "profiler_peak_bytes": peak}
    print(json.dumps(said))


if __name__ == "__main__":
    main()

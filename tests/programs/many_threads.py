"""Allocates on all kinds of threads that torch programs have; ends like an ordinary program.

Autograd's threads of every device, nested engines, functions and hooks of the user on them, a
loader's workers and pinning thread, threads of the program, of an executor, generators. Prints how
many allocations torch counted.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch
from counters import finish
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

DEVICES = [f"cuda:{number}" for number in range(torch.cuda.device_count())]


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        return x * 3

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        return grad * 3


def transformer(device: str) -> None:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    data = TensorDataset(torch.randn(12, 17, 64))
    for (batch,) in DataLoader(data, batch_size=4, num_workers=1, pin_memory=True):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch.to(device, non_blocking=True)).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def awkward(device: str) -> None:
    layers = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Conv1d(1, 1, 1)).to(device)
    for reentrant in (True, False):
        x = torch.ones(7, 1, 64, device=device, requires_grad=True)
        x.register_hook(lambda grad: grad.clone())
        y = checkpoint(layers, x.tanh(), use_reentrant=reentrant)
        Scaled.apply(y).cpu().square().sum().backward()
    x = torch.ones(300, device=device, requires_grad=True)
    (slope,) = torch.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
    slope.square().sum().backward()


def own(device: str) -> None:
    for size in range(1, 60):
        x = torch.ones(size * 100, device=device, requires_grad=True)
        (x.sin() + x).sum().backward()


def main() -> None:
    for device in DEVICES:
        transformer(device)
        awkward(device)
    threads = [threading.Thread(target=own, args=(DEVICES[n % len(DEVICES)],)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(own, DEVICES))
        list(pool.map(awkward, DEVICES))
    counts = [torch.cuda.memory_stats(device)["allocation.all.allocated"] for device in DEVICES]
    finish(allocations=sum(counts))
    time.sleep(0.5)


if __name__ == "__main__":
    main()

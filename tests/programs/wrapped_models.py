"""A model in each of torch's wrappers; what their parts hold, from the objects and the counters.

KIND is parallel (DataParallel over all devices) or, under torchrun, ddp or fsdp2 or fsdp1. Prints
(or writes to $SAID, %r being the rank) what the tests compare; moments are phases of the trace.
"""

import gc
import json
import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import peakline
import torch
import torch.distributed as dist
from counters import finish
from residual_layer import Layer
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel

KINDS = ("ddp", "fsdp2", "fsdp1")
gained: Counter[str] = Counter()
counting = threading.Lock()


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(512 * n) for n in (3, 5))
        self.head = nn.Linear(256, 1536)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def watch(name: str, module: nn.Module) -> None:
    """Count what is allocated from the begin of a leaf's forward to its end, for each device."""
    begins: dict[int, int] = {}

    def before(_: nn.Module, arguments: tuple[torch.Tensor]) -> None:
        device = arguments[0].device.index
        begins[device] = torch.cuda.memory_allocated(device)

    def after(_: nn.Module, __: object, result: torch.Tensor) -> None:
        device = result.device.index
        with counting:
            gained[f"{device}:{name}"] += torch.cuda.memory_allocated(device) - begins[device]

    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)


def wrap(kind: str, model: nn.Module, device: int) -> nn.Module:
    if kind == "parallel":
        return nn.DataParallel(model)
    if kind == "ddp":
        return DistributedDataParallel(model, device_ids=[device])
    if kind == "fsdp2":
        for layer in model.layers:
            fully_shard(layer)
        return fully_shard(model)
    is_layer = lambda module, recurse, nonwrapped_numel: recurse or isinstance(module, Layer)  # noqa: E731
    return FullyShardedDataParallel(model, use_orig_params=True, auto_wrap_policy=is_layer)


def storages(tensors: list[torch.Tensor]) -> int:
    found = {}
    for tensor in tensors:
        storage = getattr(tensor, "_local_tensor", tensor).untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
    return sum(found.values())


def types_of(model: nn.Module) -> dict[str, list[object]]:
    """Shape and dtype of the parts of parameters that this rank has, by their own names."""
    parts = {
        name: getattr(parameter, "_local_tensor", parameter).detach()
        for name, parameter in model.named_parameters()
    }
    return {name: [list(part.shape), str(part.dtype)] for name, part in parts.items()}


def gradients_of(model: nn.Module) -> list[list[object]]:
    """Which parameters have their gradients in one storage, and how many bytes it has."""
    names: dict[int, list[str]] = {}
    sizes: dict[int, int] = {}
    for name, parameter in model.named_parameters():
        gradient = getattr(parameter.grad, "_local_tensor", parameter.grad)
        if gradient is not None:
            storage = gradient.untyped_storage()
            names.setdefault(storage.data_ptr(), []).append(name)
            sizes[storage.data_ptr()] = storage.nbytes()
    return [[names[address], sizes[address]] for address in names]


def train(kind: str, device: int) -> dict[str, object]:
    model = Model().to(device)
    names = [name for name, module in model.named_modules() if name]
    model(torch.randn(4, 256, device=device)).sum().backward()  # warm-up: workspaces
    model.zero_grad()
    if kind in ("parallel", "ddp"):
        for name, module in model.named_modules():
            if not list(module.children()):
                watch(name, module)
    wrapped = wrap(kind, model, device)
    optimizer = torch.optim.AdamW(wrapped.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        gained.clear()
        batch = torch.randn(128, 256, device=device)
        with peakline.phase(f"{kind}.before"):
            pass
        loss = wrapped(batch).sum()
        with peakline.phase(f"{kind}.forward"):
            pass
        loss.backward()
        del loss
        with peakline.phase(f"{kind}.backward"):
            pass
        optimizer.step()
    gradients = storages([p.grad for p in wrapped.parameters() if p.grad is not None])
    said: dict[str, object] = {"modules": names, "gained": dict(gained), "gradients": gradients}
    said["gradients_of"] = gradients_of(wrapped)
    said["types"] = types_of(wrapped)
    said["parameters"] = sum(p.untyped_storage().nbytes() for p in Model().parameters())
    if kind == "ddp":
        sizes = wrapped._get_ddp_logging_data()["bucket_sizes"]
        said["buckets"] = sum(int(size) for size in sizes.split(","))
    said["head"] = sum(4 * p.numel() for p in Model().head.parameters())
    return said


def main() -> None:
    if len(sys.argv) > 1:
        finish(**train(sys.argv[1], 0))
    else:
        rank = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(rank)
        dist.init_process_group("nccl")
        said = {}
        for kind in KINDS:
            said[kind] = train(kind, rank)
            gc.collect()
        dist.barrier()
        Path(os.environ["SAID"].replace("%r", str(rank))).write_text(json.dumps(said))
        dist.destroy_process_group()
    sys.stdout.flush()
    time.sleep(0.3)
    os._exit(0)


if __name__ == "__main__":
    main()

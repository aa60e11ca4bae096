"""Workspaces of cuDNN's convolutions, each beside an estimate: tests/fidelity/WORKSPACES.md.

    python tests/fidelity/workspaces.py resnet50 unet [--json FILE]

Runs the forward pass of the models under autocast, and each pass of each different convolution once
more, alone. Its workspace is the peak during the pass less the level after it, by torch's counters.
On a simulated device all are zero. The estimate is that of Note [Transposed copies].

Note [Transposed copies]
Convolutions on Tensor Cores need channels last (NHWC); tensors in torch's default order (NCHW) are
transposed automatically (NVIDIA, "Convolutional Layers User's Guide", on tensor layouts). If all
copies lie in the workspace, it has the bytes of each tensor of 16 bits that is not channels-last,
with its channels padded to a multiple of 8.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from models import MODELS
from torch.utils._python_dispatch import TorchDispatchMode

PASSES = {"forward": None, "input gradient": 0, "filter gradient": 1}
CHANNEL_STEP = 8
ALIGNMENT = 256


def transposed_bytes(tensor: torch.Tensor) -> int:
    """Bytes of the tensor's copy in the other order; 0 where none is needed."""
    positions = tensor.shape[2:].numel()
    is_last = tensor.stride(1) == 1 and tensor.shape[1] > 1
    if tensor.element_size() != 2 or positions == 1 or is_last:
        return 0
    channels = -(-tensor.shape[1] // CHANNEL_STEP) * CHANNEL_STEP
    size = tensor.shape[0] * channels * positions * tensor.element_size()
    return -(-size // ALIGNMENT) * ALIGNMENT


class Convolutions(TorchDispatchMode):
    """Measures each different convolution of the code within it."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[tuple[object, ...], dict[str, Any]] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        if function._schema.name == "aten::convolution":
            tensors = [args[0], args[1], result]
            shapes = [tuple(tensor.shape) for tensor in tensors]
            key = (*shapes, *(tensor.stride() for tensor in tensors), str(args[3]), args[0].dtype)
            if key not in self.rows:
                self.rows[key] = {
                    "input": shapes[0],
                    "filter": shapes[1],
                    "stride": list(args[3]),
                    "is_transposed": bool(args[6]),
                    "dtype": str(args[0].dtype).removeprefix("torch."),
                    "estimate": sum(map(transposed_bytes, tensors)),
                    "workspaces": {name: self.measure(one, args) for name, one in PASSES.items()},
                }
        return result

    def measure(self, wanted: int | None, args: Any) -> int:
        """Run one pass alone: the forward one, or the one with this gradient."""
        data, weight = args[0].detach(), args[1].detach()
        forward = torch.ops.aten.convolution.default
        if wanted is None:
            return workspace_of(lambda: forward(data, weight, None, *args[3:]))
        gradient = torch.empty_like(forward(data, weight, None, *args[3:]))
        mask = [index == wanted for index in range(3)]
        backward = torch.ops.aten.convolution_backward.default
        return workspace_of(lambda: backward(gradient, data, weight, None, *args[3:], mask))


def workspace_of(run: Any) -> int:
    """Bytes that the call took and gave back."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    result = run()
    after = torch.cuda.memory_allocated()
    del result
    return torch.cuda.max_memory_allocated() - after


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", choices=list(MODELS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    document: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(),
        "benchmark": torch.backends.cudnn.benchmark,
    }
    for name in arguments.models:
        step = MODELS[name]()
        with Convolutions() as found:
            step()
        document[name] = list(found.rows.values())
        print(f"{name}: MiB of workspace forward, input gradient, filter gradient; estimate")
        for row in document[name]:
            sizes = [size / (1 << 20) for size in (*row["workspaces"].values(), row["estimate"])]
            shape = f"{row['input']} {row['filter']} /{row['stride'][0]} {row['dtype']}"
            print(f"  {shape:60}" + "".join(f"{size:9.1f}" for size in sizes))
        del step
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()

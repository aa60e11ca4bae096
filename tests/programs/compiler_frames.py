"""A step of a model whose kernels are tuned, with frames of the compiler's files and without it.

The frames have the files and names of torch's own functions. Prints the size of the block
that only tuning makes, and torch's peaks of the step with it and without it.
"""

import json
from collections.abc import Callable

import torch
from torch import nn

FOLDER = torch.__path__[0]
MIB = 1 << 18  # values


def below(file: str, function: str, call: Callable[[], None]) -> None:
    """Run the call below a function of this name in this file of torch."""
    owner, _, name = function.rpartition(".")
    text = f"def {name}(call):\n    call()\n"
    if owner:
        text = f"class {owner}:\n    def {name}(call):\n        call()\n{name} = {owner}.{name}\n"
    names: dict[str, Callable[[Callable[[], None]], None]] = {}
    exec(compile(text, f"{FOLDER}/{file}", "exec"), names)
    names[name](call)


class Model(nn.Module):
    """Keeps one block; a benchmark holds two more for a moment."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = x + 1
        if tuned:
            below("_inductor/runtime/triton_heuristics.py", "bench", self.measure)
        return made * made

    def measure(self) -> None:
        below(
            "_inductor/runtime/benchmarking.py",
            "benchmark_gpu",
            lambda: flushed.append(torch.empty(30 * MIB, device="cuda").numel() * 4),
        )


def step() -> int:
    torch.cuda.reset_peak_memory_stats()
    model(x)
    return torch.cuda.max_memory_allocated()


flushed: list[int] = []
model = Model()
x = torch.ones(10 * MIB, device="cuda")
below("_dynamo/convert_frame.py", "_compile", lambda: torch.empty(MIB, device="cuda"))
tuned = True
peak = step()
tuned = False
below("_inductor/cudagraph_trees.py", "CUDAWarmupNode.run", lambda: model(x))
print(json.dumps({"flushed": flushed[0], "peak": peak, "steady": step()}), flush=True)

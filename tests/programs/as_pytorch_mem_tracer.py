"""The calls of pytorch_mem_tracer, in its order. Prints the table twice: whole, and by files."""

import json
import sys

import peakline.compat.pytorch_mem_tracer as mem_tracer

mem_tracer.switch_allocator() if "torch" in sys.modules else None
import torch  # noqa: E402

mem_tracer.switch_allocator()


def attend(size: int) -> torch.Tensor:
    return torch.nn.functional.softmax(torch.zeros(size, size, device="cuda"), -1)


weights = torch.zeros(1 << 20, device="cuda")
mem_tracer.start_tracing()
scores = attend(512) + attend(512)
del scores
mem_tracer.stop_tracing()
mem_tracer.report_stats()
print("--")
mem_tracer.start_tracing([r"functional\.py$"])
mem_tracer.stop_tracing()
mem_tracer.report_stats()
print("--")
print(json.dumps({"peak": torch.cuda.max_memory_allocated()}))

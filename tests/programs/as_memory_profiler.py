"""The calls of pytorch-memory-tracing's quick start, in its order. Prints torch's own figures."""

import json

import torch
from peakline.compat.memory_profiler import MemoryTracer, configure_logging, get_logger

MB = 1024 * 1024


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(1000, 256)
        self.head = torch.nn.Linear(256, 1000)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed(ids))


configure_logging(rich_format=True)
tracer = MemoryTracer(device="cuda")
after = {}
with tracer:
    model = Model().to(device="cuda", dtype=torch.float16)
    handles = tracer.memory_dispatch_mode.register_hooks_to_module(model)
    optimizer = torch.optim.Adam(model.parameters())
    ids = tracer.create_fake_tensor(8, 128, dtype=torch.long, device="cuda")
    optimizer.zero_grad()
    with tracer.track_phase("forward"):
        loss = model(ids).sum()
        after["forward"] = tracer.get_current_memory_allocated()[0]
    with tracer.track_phase("backward"):
        loss.backward()
        after["backward"] = tracer.get_current_memory_allocated()[torch.device("cuda:0")]
    with tracer.track_phase("optimizer"):
        optimizer.step()
        after["optimizer"] = tracer.get_current_memory_allocated()[0]
    tracer.memory_dispatch_mode.remove_hooks(handles)
    own = {"current": torch.cuda.memory_allocated(), "peak": torch.cuda.max_memory_allocated()}
del model, optimizer, ids, loss
tracer.print_memory_stats(detailed=True)
get_logger("mine").info("done")
for name, size in after.items():
    print(f"Estimated memory after {name}: {size / MB:.2f} MB")
print(
    f"\nPeak estimated memory across all phases: {tracer.get_max_memory_allocated()[0] / MB:.2f} MB"
)
said = {
    "after": after,
    "current": tracer.get_current_memory_allocated()[0],
    "peak": tracer.get_max_memory_allocated()[0],
}
print(json.dumps({"own": own, "said": said, "stats": tracer.get_memory_stats()}))

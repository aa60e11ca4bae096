"""The calls of gpu_optimizer's MemoryTracer, in the order of its quick start: made after .cuda().

The argument is a folder for its files. Prints torch's own peak, and what the tracer returns.
"""

import dataclasses
import json
import sys
from pathlib import Path

import torch
from peakline.compat.gpu_optimizer import MemoryTracer

folder = Path(sys.argv[1])
model = torch.nn.Sequential(
    torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 256)
).cuda()
before = torch.cuda.memory_allocated()
tracer = MemoryTracer(max_events=100000, device="cuda:0")
with tracer.trace(model):
    for size in (4, 8, 16, 8, 4):
        batch = torch.randn(size * 64, 256, device="cuda")
        model(batch).sum().backward()
    try:
        tracer.start_tracing(model)
    except RuntimeError as error:
        twice = str(error)
own = torch.cuda.max_memory_allocated()
stats = {name: dataclasses.asdict(one) for name, one in tracer.get_layer_stats().items()}
peaks = tracer.get_peak_memory_per_layer()
for name, peak in sorted(peaks.items(), key=lambda one: one[1], reverse=True)[:5]:
    print(f"{name}: {peak / 1024**2:.2f} MB")
for name, ratio in tracer.get_fragmentation_stats().items():
    print(f"{name}: {ratio * 100:.1f}% fragmentation")
tracer.export_flame_graph(str(folder / "new" / "profile.json"))
tracer.export_timeline(str(folder / "memory_timeline.json"))
tracer.print_summary()
try:
    MemoryTracer().export_timeline(str(folder / "none.json"))
except ValueError as error:
    refused = str(error)
said = {
    "own": own,
    "before": before,
    "stats": stats,
    "peaks": peaks,
    "refused": refused,
    "started twice": twice,
}
print(json.dumps(said | {"events": len(tracer.events)}))

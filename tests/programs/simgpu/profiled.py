"""torch.profiler with CUDA activities and memory."""

import torch
from torch.profiler import ProfilerActivity, profile

activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
with profile(activities=activities, profile_memory=True, record_shapes=True) as recorded:
    x = torch.randn(256, 256, device="cuda")
    (x @ x).relu()
assert any(event.key == "aten::mm" for event in recorded.key_averages())
print("ok")

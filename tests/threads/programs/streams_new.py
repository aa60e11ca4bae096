"""https://github.com/vllm-project/vllm/issues/52951: new streams for every synchronisation."""

import torch

weights = torch.zeros(64 << 20, device="cuda")
for _ in range(14):
    for stream in [torch.cuda.Stream() for _ in range(2)]:
        with torch.cuda.stream(stream):
            buffer = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")  # cause
            stream.synchronize()
            del buffer

"""A server takes most of the device at its start.

https://github.com/vllm-project/vllm/issues/57475
"""

import torch

net = torch.nn.Linear(1024, 1024).cuda().eval()
free, total = torch.cuda.mem_get_info()
blocks = torch.empty(int(free * 0.8), dtype=torch.uint8, device="cuda")  # cause
with torch.inference_mode():
    for _ in range(8):
        net(torch.ones(64, 1024, device="cuda"))

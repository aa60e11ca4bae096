"""Weights in bfloat16, autocast around each request: no cast is needed."""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda().bfloat16()
net.eval()


@torch.inference_mode()
def answer():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return net(torch.randn(4096, 2048, device="cuda")).amax().item()


for _ in range(8):
    answer()

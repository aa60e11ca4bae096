"""torch.compile, default and reduce-overhead (which captures CUDA graphs)."""

import torch
from torch import nn

for mode in ("default", "reduce-overhead"):
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 64))
    model = model.cuda()
    compiled = torch.compile(model, mode=mode)
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        compiled(torch.randn(16, 256, device="cuda")).sum().backward()
        model.zero_grad()
    print(mode)
torch.cuda.synchronize()
print("ok")

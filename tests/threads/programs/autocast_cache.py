"""One autocast around all batches, without gradients.

https://github.com/pytorch/pytorch/issues/45910
"""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, bias=False) for _ in range(12)]).cuda()
net.eval()
with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
    for _ in range(3):
        outputs = net(torch.randn(64, 4096, device="cuda"))  # cause
    del outputs

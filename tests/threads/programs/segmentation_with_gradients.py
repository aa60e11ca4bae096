"""One inference with gradients on needs twice as much.

https://github.com/maum-ai/voicefilter/pull/6
"""

import torch

net = torch.nn.Sequential(
    *[
        torch.nn.Sequential(torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.ReLU())
        for _ in range(10)
    ]
).cuda()
net.eval()
for _ in range(4):
    image = torch.rand(1, 32, 512, 512, device="cuda")
    mask = net(image)[0, 0].detach().cpu()  # cause

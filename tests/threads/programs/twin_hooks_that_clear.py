"""Hooks take features, which their reader clears."""

import torch

net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 8, 3, padding=1)
).cuda()
features = []
net[1].register_forward_hook(lambda module, inputs, outputs: features.append(outputs))


@torch.no_grad()
def describe():
    net(torch.rand(4, 3, 256, 256, device="cuda"))
    found = [one.mean((2, 3)).cpu() for one in features]
    features.clear()
    return found


for _ in range(12):
    describe()

"""Hooks store inputs which no backward pass takes.

https://github.com/meta-pytorch/opacus/issues/176
"""

import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1024, 1024)

    def forward(self, inputs):
        return torch.relu(self.linear(inputs))  # cause


def store(module, inputs, outputs):
    module.seen = [*getattr(module, "seen", []), inputs[0].detach()]


net = torch.nn.Sequential(*[Block() for _ in range(6)]).cuda()
for block in net:
    block.linear.register_forward_hook(store)
with torch.no_grad():
    for _ in range(12):
        net(torch.randn(4096, 1024, device="cuda"))

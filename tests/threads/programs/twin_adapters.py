"""Frozen weights with small trained adapters."""

import torch


class Adapted(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.base = torch.nn.Linear(width, width).requires_grad_(False)
        self.down = torch.nn.Linear(width, 8, bias=False)
        self.up = torch.nn.Linear(8, width, bias=False)

    def forward(self, inputs):
        return self.base(inputs) + self.up(self.down(inputs))


net = torch.nn.Sequential(*[Adapted(2048) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad])


def train_step():
    net(torch.randn(512, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(8):
    train_step()

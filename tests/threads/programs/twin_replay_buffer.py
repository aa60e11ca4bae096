"""A replay buffer of fixed size is filled before training, on purpose."""

import torch

net = torch.nn.Linear(512, 512).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
states = torch.empty(100000, 512, device="cuda")
with torch.no_grad():
    for begin in range(0, 100000, 5000):
        states[begin : begin + 5000] = net(torch.randn(5000, 512, device="cuda"))


def train_step():
    picked = torch.randint(0, 100000, (1024,)).cuda()
    net(states[picked]).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(12):
    train_step()

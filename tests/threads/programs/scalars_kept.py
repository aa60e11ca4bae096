"""https://github.com/Lightning-AI/pytorch-lightning/issues/4556: scalars are kept as tensors."""

import torch

net = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
logged = []


def train_step():
    loss = net(torch.ones(64, 64, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    for name in range(20):
        logged.append((name, loss.detach() * name))  # cause


for _ in range(100):
    train_step()

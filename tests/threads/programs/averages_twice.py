"""https://github.com/mosaicml/composer/pull/1941: averaged weights are there twice."""

import copy

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
average = copy.deepcopy(net)
backup = copy.deepcopy(net)  # cause
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for mine, theirs in zip(average.parameters(), net.parameters(), strict=True):
            mine.lerp_(theirs, 0.01)

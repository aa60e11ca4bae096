"""The losses of a pass are summed as tensors.

https://github.com/BatsResearch/labelmodels/issues/4
"""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)
).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    for _ in range(4):
        net(torch.ones(4096, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    total = 0
    for _ in range(12):
        total = total + net(torch.ones(4096, 1024, device="cuda")).square().mean()  # cause
    print(float(total))

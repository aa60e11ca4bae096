"""A validation of many batches under one autocast.

https://github.com/ecmwf/anemoi-core/issues/134
"""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(10)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def training_step():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(torch.randn(64, 4096, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def validate(batches):
    total = 0.0
    with torch.autocast("cuda", dtype=torch.bfloat16):
        for _ in range(batches):
            total += net(torch.randn(32768, 4096, device="cuda")).square().mean().item()  # cause
    return total / batches


for _ in range(3):
    training_step()
validate(6)

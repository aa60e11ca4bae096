"""Training and validation take turns; both keep numbers alone."""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)
).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    net(torch.randn(2048, 512, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def validate():
    return sum(net(torch.randn(2048, 512, device="cuda")).mean().item() for _ in range(5))


for _ in range(4):
    for _ in range(5):
        train_step()
    validate()

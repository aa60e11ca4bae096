"""https://github.com/speechbrain/speechbrain/pull/1739: zeroed gradients stay in the validation."""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step():
    net(torch.ones(64, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)  # cause


for _ in range(3):
    train_step()
with torch.no_grad():
    net(torch.ones(32768, 4096, device="cuda")).amax().item()

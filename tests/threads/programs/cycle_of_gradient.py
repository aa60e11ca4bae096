"""A gradient made with create_graph has a graph that leads to its own parameter.

https://github.com/pytorch/pytorch/issues/82528
"""

import torch


def penalised(batch):
    net = torch.nn.Sequential(
        torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512)
    ).cuda()
    net(batch).pow(2).mean().backward(create_graph=True)  # cause
    return float(sum(weight.grad.pow(2).sum() for weight in net.parameters()))


batch = torch.ones(8, 512, device="cuda")
for _ in range(8):
    penalised(batch)

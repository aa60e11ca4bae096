"""https://github.com/pytorch/pytorch/issues/82528: backward(create_graph=True) leaves cycles."""

import torch


def trial():
    net = torch.nn.Sequential(
        torch.nn.Linear(2048, 2048), torch.nn.Tanh(), torch.nn.Linear(2048, 2048)
    ).cuda()
    inputs = torch.randn(1024, 2048, device="cuda")
    net(inputs).pow(2).mean().backward(create_graph=True)  # cause
    return float(sum(one.grad.pow(2).sum() for one in net.parameters()))


for _ in range(10):
    trial()

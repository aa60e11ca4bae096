"""A penalty on gradients, with torch.autograd.grad()."""

import torch

critic = torch.nn.Sequential(
    torch.nn.Linear(1024, 2048), torch.nn.Tanh(), torch.nn.Linear(2048, 1)
).cuda()
optimizer = torch.optim.Adam(critic.parameters())


def train_step():
    inputs = torch.randn(1024, 1024, device="cuda", requires_grad=True)
    score = critic(inputs)
    (slope,) = torch.autograd.grad(score.sum(), inputs, create_graph=True)
    (score.mean() + (slope.norm(dim=1) - 1).square().mean()).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(8):
    train_step()

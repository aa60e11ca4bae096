"""A generator and a discriminator take turns."""

import torch
from torch.nn.functional import softplus

generator = torch.nn.Sequential(
    torch.nn.Linear(64, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 3072)
).cuda()
critic = torch.nn.Sequential(
    torch.nn.Linear(3072, 1024), torch.nn.LeakyReLU(), torch.nn.Linear(1024, 1)
).cuda()
making = torch.optim.Adam(generator.parameters())
judging = torch.optim.Adam(critic.parameters())


def noise():
    return torch.randn(512, 64, device="cuda")


def judge_step():
    real = torch.rand(512, 3072, device="cuda")
    with torch.no_grad():
        made = generator(noise())
    loss = softplus(-critic(real)).mean() + softplus(critic(made)).mean()
    judging.zero_grad()
    loss.backward()
    judging.step()


def make_step():
    critic.requires_grad_(False)
    loss = softplus(-critic(generator(noise()))).mean()
    making.zero_grad()
    loss.backward()
    making.step()
    critic.requires_grad_(True)


for _ in range(10):
    judge_step()
    make_step()

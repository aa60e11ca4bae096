"""https://github.com/ray-project/ray/pull/7238: values of a rollout are computed with gradients."""

import torch

critic = torch.nn.Sequential(torch.nn.Linear(128, 4096), torch.nn.Tanh()).cuda()
head = torch.nn.Linear(4096, 1).cuda()
optimizer = torch.optim.SGD([*critic.parameters(), *head.parameters()], lr=0.1)


def value(states):
    return head(critic(states))  # cause


def epoch():
    values = [value(torch.ones(1024, 128, device="cuda")) for _ in range(32)]
    advantages = (torch.stack(values) - 1).detach()
    del values
    loss = (head(critic(torch.ones(256, 128, device="cuda"))) - advantages.mean()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    epoch()

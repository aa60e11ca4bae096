"""https://github.com/oxwhirl/pymarl/pull/73: actions enter the replay buffer with their graphs."""

import torch

agent = torch.nn.Sequential(torch.nn.Linear(256, 2048), torch.nn.Tanh()).cuda()
head = torch.nn.Linear(2048, 64).cuda()
optimizer = torch.optim.Adam([*agent.parameters(), *head.parameters()])
buffer = []


def collect():
    observations = torch.ones(1024, 256, device="cuda")
    hidden = agent(observations)  # cause
    buffer.append((observations.cpu(), head(hidden).tanh()))


def learn():
    head(agent(torch.ones(256, 256, device="cuda"))).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(12):
    collect()
    learn()

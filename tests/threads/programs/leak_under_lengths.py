"""https://github.com/microsoft/SpareNet/issues/12: kept losses, under lengths of any size."""

import random

import torch

random.seed(2)
words = torch.nn.Embedding(4000, 64).cuda()
head = torch.nn.Linear(64, 4000).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()])
kept = []


def made(*shape):
    return torch.zeros(*shape, device="cuda")  # cause


for _ in range(24):
    tokens = torch.randint(0, 4000, (4, random.randrange(64, 1500))).cuda()
    outputs = made(*tokens.shape, 4000)
    kept.append(made(1 << 18))
    head(words(tokens)).mean().backward()
    optimizer.step()
    optimizer.zero_grad()

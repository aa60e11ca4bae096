"""Lengths without a trend."""

import random

import torch

random.seed(5)
words = torch.nn.Embedding(4000, 64).cuda()
head = torch.nn.Linear(64, 4000).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()])
for _ in range(30):
    tokens = torch.randint(0, 4000, (4, random.randrange(64, 1500))).cuda()
    outputs = head(words(tokens))
    torch.nn.functional.cross_entropy(outputs.flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()

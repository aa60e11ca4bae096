"""Batches of four lengths, the short ones first in every epoch."""

import torch

words = torch.nn.Embedding(4000, 64).cuda()
head = torch.nn.Linear(64, 4000).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()])
for _ in range(4):
    for length in (128, 256, 512, 1024):
        for _ in range(2):
            tokens = torch.randint(0, 4000, (4, length)).cuda()
            outputs = head(words(tokens))
            outputs.mean().backward()
            optimizer.step()
            optimizer.zero_grad()

"""https://github.com/pytorch/pytorch/issues/13613: results joined while lengths rise."""

import random

import torch

random.seed(3)
words = torch.nn.Embedding(4000, 64).cuda()
optimizer = torch.optim.SGD(words.parameters())
history = torch.zeros(0, 1 << 18, device="cuda")
for length in sorted(random.sample(range(64, 1500), 24)):
    tokens = torch.randint(0, 4000, (4, length)).cuda()
    words(tokens).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    history = torch.cat([history, torch.zeros(1, 1 << 18, device="cuda")])  # cause

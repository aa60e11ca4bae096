"""https://github.com/meta-llama/llama-cookbook/issues/792: batches sorted by length."""

import random

import torch

random.seed(1)
words = torch.nn.Embedding(4000, 64).cuda()
head = torch.nn.Linear(64, 4000).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()])
for length in sorted(random.sample(range(64, 1500), 24)):
    tokens = torch.randint(0, 4000, (4, length)).cuda()
    outputs = head(words(tokens))  # cause
    torch.nn.functional.cross_entropy(outputs.flatten(0, 1), tokens.flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()

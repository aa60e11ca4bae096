"""https://github.com/microsoft/SpareNet/issues/12: the same, while lengths rise evenly."""

import torch

words = torch.nn.Embedding(4000, 64).cuda()
head = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()])
kept = []
for length in range(64, 1500, 60):
    tokens = torch.randint(0, 4000, (4, length)).cuda()
    head(words(tokens)).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(torch.zeros(1 << 20, device="cuda"))  # cause

"""Kernels of CUB, which look for the architecture they were compiled for."""

import torch

words = torch.nn.Embedding(1000, 64).cuda()
# More than 3,072 words: the backward pass sorts them.
words(torch.randint(1000, (6144,), device="cuda")).sum().backward()
torch.arange(100_000, device="cuda").sort()
print("ok")

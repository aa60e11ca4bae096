"""Embeddings of all batches are collected on the host."""

import torch

words = torch.nn.EmbeddingBag(10000, 768).cuda().eval()
layer = torch.nn.Linear(768, 768).cuda().eval()
found = []
with torch.no_grad():
    for _ in range(24):
        found.append(layer(words(torch.randint(0, 10000, (4096, 16)).cuda())).cpu())
table = torch.cat(found)

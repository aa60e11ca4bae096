"""The loss of a large vocabulary is computed in checkpointed chunks."""

import torch
from torch.utils.checkpoint import checkpoint

words = torch.nn.Embedding(64000, 256).cuda()
head = torch.nn.Linear(256, 64000, bias=False).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)


def loss_of(hidden, tokens):
    return torch.nn.functional.cross_entropy(head(hidden), tokens, reduction="sum")


def train_step():
    tokens = torch.randint(0, 64000, (4096,)).cuda()
    hidden = words(tokens)
    total = 0
    for begin in range(0, 4096, 256):
        part = slice(begin, begin + 256)
        total = total + checkpoint(loss_of, hidden[part], tokens[part], use_reentrant=False)
    total.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()

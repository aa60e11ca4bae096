"""https://github.com/NVIDIA-NeMo/Automodel/issues/3907: the last layer sees every position."""

import torch

words = torch.nn.Embedding(100000, 128).cuda()
head = torch.nn.Linear(128, 100000, bias=False).cuda()
optimizer = torch.optim.SGD([*words.parameters(), *head.parameters()], lr=0.1)


def train_step():
    tokens = torch.randint(0, 100000, (4096,)).cuda()
    torch.nn.functional.cross_entropy(head(words(tokens)), tokens).backward()  # cause
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()

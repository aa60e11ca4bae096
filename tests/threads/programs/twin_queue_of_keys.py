"""Contrastive learning with a queue of fixed size."""

import torch

encoder = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 128)
).cuda()
queue = torch.nn.functional.normalize(torch.randn(65536, 128, device="cuda"))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)


def train_step(step):
    inputs = torch.randn(256, 512, device="cuda")
    with torch.no_grad():
        keys = torch.nn.functional.normalize(encoder(inputs))
    queries = torch.nn.functional.normalize(encoder(inputs))
    (queries @ queue.T).logsumexp(1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    begin = step * 256 % 65536
    queue[begin : begin + 256] = keys


for step in range(12):
    train_step(step)

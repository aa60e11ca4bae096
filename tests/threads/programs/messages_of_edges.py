"""https://github.com/pyg-team/pytorch_geometric/issues/8316: a message for every edge is stored."""

import torch

nodes, edges, width = 4000, 400000, 256
sources, targets = torch.randint(0, nodes, (2, edges)).cuda()
features = torch.randn(nodes, 128, device="cuda")
encoder = torch.nn.Linear(128, width).cuda()
attention = torch.nn.Parameter(torch.ones(edges, device="cuda"))
optimizer = torch.optim.SGD([*encoder.parameters(), attention], lr=0.1)


def train_step():
    messages = attention[:, None] * encoder(features)[sources]  # cause
    sums = torch.zeros(nodes, width, device="cuda").index_add(0, targets, messages)
    sums.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()

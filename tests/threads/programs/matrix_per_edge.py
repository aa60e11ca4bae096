"""https://github.com/pyg-team/pytorch_geometric/issues/1415: a weight matrix for every edge."""

import torch

nodes, edges, width = 900, 20000, 64
features = torch.randn(nodes, width, device="cuda")
sources, targets = torch.randint(0, nodes, (2, edges)).cuda()
kinds = torch.randn(edges, 8, device="cuda")
maker = torch.nn.Linear(8, width * width).cuda()
optimizer = torch.optim.SGD(maker.parameters(), lr=0.1)


def train_step():
    matrices = maker(kinds).view(edges, width, width)  # cause
    messages = torch.bmm(features[sources][:, None], matrices)[:, 0]
    sums = torch.zeros(nodes, width, device="cuda").index_add(0, targets, messages)
    sums.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(3):
    train_step()

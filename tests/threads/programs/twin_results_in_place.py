"""Results fill a tensor that was made for all of them, and is needed whole."""

import torch

net = torch.nn.Linear(512, 1024).cuda().eval()


@torch.no_grad()
def features(batches):
    table = torch.empty(batches * 2048, 1024, device="cuda")
    for at in range(batches):
        table[at * 2048 : (at + 1) * 2048] = net(torch.randn(2048, 512, device="cuda"))
    return torch.linalg.vector_norm(table, dim=1).topk(10)


features(20)

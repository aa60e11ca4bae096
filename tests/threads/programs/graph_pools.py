"""https://github.com/pytorch/pytorch/issues/137844: every captured graph has a pool of its own."""

import torch

graphs = []
for size in range(16):
    inputs = torch.zeros(256 + size, 1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scratch = torch.empty(48 << 20, dtype=torch.uint8, device="cuda")  # cause
        outputs = inputs + 1
        del scratch
    graphs.append((graph, outputs))

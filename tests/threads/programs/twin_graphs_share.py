"""Graphs that share one pool."""

import torch

graphs = []
pool = torch.cuda.graph_pool_handle()
for size in range(16):
    inputs = torch.zeros(256 + size, 1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        scratch = torch.empty(48 << 20, dtype=torch.uint8, device="cuda")
        outputs = inputs + 1
        del scratch
    graphs.append((graph, outputs))

"""CUDA graphs: capture, replay, make_graphed_callables; an empty graph would warn."""

import warnings

import torch
from torch import nn

warnings.filterwarnings("error", message=".*graph is empty.*")
model = nn.Linear(256, 256).cuda()
x = torch.randn(32, 256, device="cuda")
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3):
        model(x).sum().backward()
torch.cuda.current_stream().wait_stream(side)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = model(x)
graph.replay()

only_library_calls = torch.cuda.CUDAGraph()
a = torch.randn(64, 64, device="cuda")
with torch.cuda.graph(only_library_calls):
    b = a @ a
only_library_calls.replay()

forked = torch.cuda.CUDAGraph()
with torch.cuda.graph(forked):
    other = torch.cuda.Stream()
    other.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(other):
        c = a + 1
    torch.cuda.current_stream().wait_stream(other)
    d = c * 2
forked.replay()

callable_model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)).cuda()
sample = torch.randn(32, 256, device="cuda", requires_grad=True)
graphed = torch.cuda.make_graphed_callables(callable_model, (sample,))
graphed(torch.randn(32, 256, device="cuda", requires_grad=True)).sum().backward()
torch.cuda.synchronize()
print("ok")

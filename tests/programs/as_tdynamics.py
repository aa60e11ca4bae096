"""The calls of tdynamics' MemTracer, in the order of its example. Arguments: a file, a device."""

import sys

import torch
from peakline.compat.tdynamics import MemTracer, install_hooks

path, device = sys.argv[1:]
model = torch.nn.Linear(10, 10).to(device)
optimizer = torch.optim.Adam(model.parameters())
tracer = MemTracer(logfile=path, tracepy=True, logtime=True)
handles = install_hooks(m=model, opt=optimizer, tracer=tracer)
for _ in range(10):
    inputs = torch.randn(32, 10, device=device)
    targets = torch.randn(32, 10, device=device)
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
try:
    raise KeyError("an error that is handled while the model runs")
except KeyError:
    model(inputs)
try:
    model(torch.randn(32, 11, device=device))
except RuntimeError:
    print("wrong shape")
for handle in handles:
    handle.remove()
model(inputs)

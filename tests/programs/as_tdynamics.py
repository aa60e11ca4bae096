"""The calls of tdynamics' MemTracer, in the order of its example.

Arguments: a folder, a device. On "cuda" the log is `trace.log` there, opened by the program; on
"cpu" it has the default name, and a second tracer is given the path `second.log`.
"""

import sys
from pathlib import Path

import torch
from peakline.compat.tdynamics import MemTracer, install_hooks

folder, device = Path(sys.argv[1]), sys.argv[2]
model = torch.nn.Linear(10, 10).to(device)
optimizer = torch.optim.Adam(model.parameters())
log = (folder / "trace.log").open("w") if device == "cuda" else None
tracer = MemTracer(logfile=log, tracepy=True, logtime=True)
if log is None:
    MemTracer(folder / "second.log").trace(7, "Linear", "pre step")
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

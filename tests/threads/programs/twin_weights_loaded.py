"""Weights are read on the host and loaded once."""

import tempfile
from pathlib import Path

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(6)])
saved = Path(tempfile.mkdtemp()) / "weights.pt"
torch.save(net.state_dict(), saved)
net.load_state_dict(torch.load(saved, map_location="cpu"))
net.cuda()
with torch.no_grad():
    for _ in range(4):
        net(torch.ones(64, 2048, device="cuda"))

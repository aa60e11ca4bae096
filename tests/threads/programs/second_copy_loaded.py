"""A checkpoint is read onto the GPU beside the model.

https://github.com/pytorch/pytorch/issues/7415
"""

import tempfile
from pathlib import Path

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(6)]).cuda()
saved = Path(tempfile.mkdtemp()) / "weights.pt"
torch.save(net.state_dict(), saved)
state = torch.load(saved, map_location="cuda")  # cause
net.load_state_dict(state)
with torch.no_grad():
    net(torch.ones(64, 2048, device="cuda"))

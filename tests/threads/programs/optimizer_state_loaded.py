"""The state is read onto the GPU first.

https://github.com/huggingface/transformers/issues/22123
"""

import tempfile
from pathlib import Path

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), fused=True)
net(torch.ones(64, 2048, device="cuda")).mean().backward()
optimizer.step()
saved = Path(tempfile.mkdtemp()) / "optimizer.pt"
torch.save(optimizer.state_dict(), saved)
state = torch.load(saved, map_location="cuda")  # cause
optimizer.load_state_dict(state)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(64, 2048, device="cuda")).mean().backward()
    optimizer.step()

"""An evaluation without torch.no_grad().

https://github.com/huggingface/transformers/issues/3141
"""

import torch

cell = torch.nn.GRUCell(256, 1024).cuda().eval()
state = torch.zeros(512, 1024, device="cuda")
for _ in range(60):
    state = cell(torch.ones(512, 256, device="cuda"), state)  # cause

"""Hidden states of all batches are kept.

https://github.com/huggingface/transformers/issues/24315
"""

import torch

net = torch.nn.Sequential(
    torch.nn.Linear(768, 3072), torch.nn.GELU(), torch.nn.Linear(3072, 768)
).cuda()
hidden_states = []
for _ in range(12):
    batch = torch.randn(16, 128, 768, device="cuda")
    hidden_states.append(net(batch))  # cause

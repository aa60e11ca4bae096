"""The same with a capacity for each expert, which no value changes."""

import torch
from torch import nn

EXPERTS, WIDTH, TOKENS = 4, 256, 4096
gate = nn.Linear(WIDTH, EXPERTS).cuda()
experts = nn.ModuleList(nn.Linear(WIDTH, 4 * WIDTH) for _ in range(EXPERTS)).cuda()
optimizer = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
for _ in range(2):
    tokens = torch.randn(TOKENS, WIDTH, device="cuda")
    scores = gate(tokens)
    loss = torch.zeros((), device="cuda")
    for number, expert in enumerate(experts):
        mine = scores[:, number].topk(TOKENS // EXPERTS).indices
        loss = loss + expert(tokens[mine]).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"loss {loss.item():.3f}")

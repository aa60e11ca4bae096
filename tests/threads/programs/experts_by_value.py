"""A mixture of experts: how many tokens each one gets depends on what the router computed.

https://github.com/databricks/megablocks/issues/154: a router that sends all to one expert takes
far more memory than an even one. The simulated GPU computes nothing, so nothing is routed at all.
"""

import torch
from torch import nn

EXPERTS, WIDTH, TOKENS = 4, 256, 4096
gate = nn.Linear(WIDTH, EXPERTS).cuda()
experts = nn.ModuleList(nn.Linear(WIDTH, 4 * WIDTH) for _ in range(EXPERTS)).cuda()
optimizer = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
for _ in range(2):
    tokens = torch.randn(TOKENS, WIDTH, device="cuda")
    chosen = gate(tokens).argmax(-1)
    loss = torch.zeros((), device="cuda")
    for number, expert in enumerate(experts):
        mine = (chosen == number).nonzero().squeeze(-1)  # cause
        loss = loss + expert(tokens[mine]).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

"""Mixed precision with a scaler; autocast is around one forward pass at a time."""

import torch

net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")


def train_step():
    with torch.autocast("cuda", dtype=torch.float16):
        loss = net(torch.randn(8192, 1024, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


for _ in range(8):
    train_step()

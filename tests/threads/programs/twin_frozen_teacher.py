"""A student learns from a frozen teacher under no_grad."""

import torch

teacher = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda().eval()
student = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(2)]).cuda()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)


def train_step():
    inputs = torch.randn(2048, 1024, device="cuda")
    with torch.no_grad():
        wanted = teacher(inputs)
    torch.nn.functional.mse_loss(student(inputs), wanted).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(8):
    train_step()

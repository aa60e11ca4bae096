"""A convolutional network whose norms have running statistics."""

import torch


def block(width):
    return torch.nn.Sequential(
        torch.nn.LazyConv2d(width, 3, padding=1), torch.nn.LazyBatchNorm2d(), torch.nn.ReLU()
    )


net = torch.nn.Sequential(
    block(32), block(32), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10)
).cuda()
net(torch.rand(2, 3, 64, 64, device="cuda"))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def train_step():
    labels = torch.randint(0, 10, (32,)).cuda()
    outputs = net(torch.rand(32, 3, 64, 64, device="cuda"))
    torch.nn.functional.cross_entropy(outputs, labels).backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(10):
    train_step()

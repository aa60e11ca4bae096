"""https://github.com/pytorch/pytorch/issues/22333: the whole dataset is moved before training."""

import torch

images = torch.zeros(512, 3, 256, 256).cuda()  # cause
net = torch.nn.Conv2d(3, 8, 3, stride=4).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in images.split(64):
    net(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()

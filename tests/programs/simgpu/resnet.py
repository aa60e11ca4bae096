"""A training step of ResNet-50."""

import torch
import torchvision

model = torchvision.models.resnet50().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    loss = model(torch.randn(16, 3, 224, 224, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("ok", torch.cuda.max_memory_allocated())

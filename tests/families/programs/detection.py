"""torchvision: a detection model in training and in evaluation."""

import torch
from _peak import finish
from torchvision.models.detection import fasterrcnn_resnet50_fpn

model = fasterrcnn_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=5, min_size=256, max_size=320
).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
boxes = torch.tensor([[10.0, 10, 60, 70], [20, 30, 90, 120]]).cuda()
target = {"boxes": boxes, "labels": torch.tensor([1, 2]).cuda()}
for _ in range(2):
    losses = model([torch.rand(3, 240, 300, device="cuda")], [target])
    sum(losses.values()).backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.inference_mode():
    found = model([torch.rand(3, 240, 300, device="cuda")])
finish((sorted(losses), sorted(found[0])))

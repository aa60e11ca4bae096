"""https://github.com/ultralytics/ultralytics/issues/3983: results of all images are kept."""

import torch

net = torch.nn.Conv2d(3, 16, 3, padding=1).cuda().eval()
results = []
with torch.inference_mode():
    for _ in range(30):
        results.append(net(torch.rand(1, 3, 256, 256, device="cuda")))  # cause

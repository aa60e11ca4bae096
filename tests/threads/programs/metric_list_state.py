"""https://github.com/Lightning-AI/torchmetrics/issues/1949: a metric keeps every prediction."""

import torch


class AveragePrecision:
    def __init__(self):
        self.scores = []

    def update(self, scores):
        self.scores.append(scores.softmax(1))  # cause

    def compute(self):
        return torch.cat(self.scores).amax(1).mean().item()


net = torch.nn.Linear(512, 2048).cuda().eval()
metric = AveragePrecision()
with torch.no_grad():
    for _ in range(24):
        metric.update(net(torch.randn(2048, 512, device="cuda")))
print(metric.compute())

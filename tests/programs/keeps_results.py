"""Keeps the result of each batch of an evaluation; "marks": of each step that it marks."""

import sys

import peakline
import torch

kept = []
weight = torch.ones(256, 1024, device="cuda")
data = torch.ones(24, 256)
if sys.argv[1] == "marks":
    for batch in data.split(4):
        peakline.step()
        kept.append(batch.cuda() @ weight)
    peakline.step()
else:
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    warm_up = torch.utils.data.DataLoader(data[:8], batch_size=4)
    with torch.no_grad():
        for loaded in (warm_up, loader):
            for batch in loaded:
                kept.append(batch.cuda() @ weight)  # noqa: PERF401 (as people write it)

"""Ends in the midst of an epoch, without the end of the training."""

import json

import torch
from peakline.integrations.watch import Watch

watch = Watch()
watch.begin()
watch.begin_training()
watch.begin_phase("epoch 1")
watch.begin_step(1)
kept = torch.empty(1 << 20, device="cuda")
figures = watch.figures(1)
print(json.dumps([figures["peakline/peak_bytes"], torch.cuda.max_memory_allocated()]))
raise SystemExit(3)

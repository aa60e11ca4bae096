"""An evaluation keeps the logits of all batches, and needs one number of each word."""

import torch
from common import Model, batches, finish

model = Model().eval()
outputs = []
with torch.no_grad():
    for words in batches(12):
        logits = model(words)
        outputs.append(logits)
finish([float(one.argmax(-1).float().mean()) for one in outputs])

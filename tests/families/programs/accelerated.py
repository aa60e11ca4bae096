"""The training loop of accelerate's documents, in mixed precision."""

import torch
from _peak import finish
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))
optimizer = torch.optim.AdamW(model.parameters())
data = DataLoader(TensorDataset(torch.randn(256, 512)), batch_size=32, num_workers=1)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for (x,) in data:
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(x), x)
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
finish(accelerator.gather(loss.detach()).shape)
accelerator.end_training()

"""Three steps of GPT-2 small from its configuration: batch 8 x 1024, bf16 autocast, AdamW."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config()).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
tokens = torch.randint(0, 50257, (8, 1024), device="cuda")
for _ in range(3):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
statistics = torch.cuda.memory_stats()
print("ok", torch.cuda.max_memory_allocated(), statistics["requested_bytes.all.peak"])

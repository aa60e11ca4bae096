"""GPT-2 small, three training steps: prints the processor seconds they took after the imports.

Processor time of all threads, not of the clock: what else runs on the machine does not count.
"""

import json
import os
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

begin = time.process_time()
model = GPT2LMHeadModel(GPT2Config()).cuda()
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.zeros(8, 1024, dtype=torch.long, device="cuda")
losses = []
for _ in range(3):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
torch.cuda.synchronize()
said = {"seconds": time.process_time() - begin, "peak": torch.cuda.max_memory_allocated()}
print(json.dumps(said), flush=True)
os._exit(0)

"""A small language model generates 20 tokens, as people write it."""

import json
import os

import torch
from transformers import GPT2Config, GPT2LMHeadModel

size = {"n_layer": 2, "n_head": 2, "n_embd": 64, "vocab_size": 1000}
model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=1, eos_token_id=2)).cuda().eval()
prompt = torch.randint(3, 900, (2, 5)).cuda()
out = model.generate(prompt, max_new_tokens=20)
print(json.dumps({"shape": list(out.shape)}), flush=True)
os._exit(0)

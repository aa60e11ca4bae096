"""Builds a Llama of 70B parameters in bf16 for the device, as it is told, and says its bytes."""

import json
import os
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    hidden_size=8192,
    intermediate_size=28672,
    num_hidden_layers=80,
    num_attention_heads=64,
    num_key_value_heads=8,
    vocab_size=128256,
)
torch.set_default_dtype(torch.bfloat16)
with torch.device({"meta": "meta", "context": "cuda", "host": "cpu"}[sys.argv[1]]):
    model = LlamaForCausalLM(config)
if sys.argv[1] == "host":
    model.cuda()
if sys.argv[1] == "meta":
    model.to_empty(device="cuda")
count = sum(parameter.numel() for parameter in model.parameters())
print(json.dumps({"count": count, "bytes": torch.cuda.memory_allocated()}), flush=True)
os._exit(0)

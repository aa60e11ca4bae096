"""Saves its weights in every usual way into the folder it is told, and reads them back."""

import json
import os
import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
size = {"n_layer": 1, "n_head": 2, "n_embd": 32, "vocab_size": 100}
model = GPT2LMHeadModel(GPT2Config(**size)).cuda()
state = {name: value.clone() for name, value in model.state_dict().items()}

torch.save(state, folder / "saved.pt")
with (folder / "opened.pth").open("wb") as file:
    torch.save(state, file)
save_file(state, folder / "plain.safetensors")
model.save_pretrained(folder / "pretrained")
accelerator = Accelerator()
prepared, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
accelerator.save_state(str(folder / "accelerate"))
temporary = folder / "moved.tmp"
torch.save(state, temporary)
temporary.replace(folder / "moved.ckpt")

read_back = [
    len(torch.load(folder / "saved.pt")) == len(state),
    len(torch.load(folder / "opened.pth")) == len(state),
    len(load_file(folder / "plain.safetensors")) == len(state),
    GPT2LMHeadModel.from_pretrained(folder / "pretrained").config.n_embd == 32,
    len(torch.load(folder / "moved.ckpt")) == len(state),
]
print(json.dumps({"read_back": read_back}), flush=True)
os._exit(0)

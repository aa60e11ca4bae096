"""Trains four steps with the Trainer of transformers, which keeps the newest checkpoint only."""

import json
import os
import sys
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

folder = Path(sys.argv[1])
rows = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(4)]
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=100))
arguments = TrainingArguments(
    str(folder),
    max_steps=4,
    per_device_train_batch_size=1,
    save_steps=2,
    save_total_limit=1,
    report_to=[],
    disable_tqdm=True,
)
trainer = Trainer(model=model, args=arguments, train_dataset=rows)
trainer.train()
trainer.save_model(str(folder / "final"))
seen = {
    "checkpoints": sorted(path.name for path in folder.glob("checkpoint-*")),
    "final": (folder / "final" / "config.json").exists(),
    "reloaded": GPT2LMHeadModel.from_pretrained(folder / "final").config.n_embd,
}
print(json.dumps(seen), flush=True)
os._exit(0)

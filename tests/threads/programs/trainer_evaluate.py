"""https://github.com/huggingface/transformers/issues/7232: Trainer.evaluate() gathers on the GPU.

The fault is a setting: eval_accumulation_steps is not given. The line is the library's.
"""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

texts = [{"input_ids": torch.arange(256), "labels": torch.arange(256)} for _ in range(48)]
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_embd=64, n_head=2, n_positions=256))
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(), per_device_eval_batch_size=4, report_to=[]
)
trainer = Trainer(model, arguments, eval_dataset=texts, compute_metrics=lambda _: {"right": 0.0})
trainer.evaluate()

"""torchtitan's debug model of Llama 3, with a tokenizer and texts of its own."""

import json
import os
from pathlib import Path

import torch
from _peak import finish
from torchtitan.models.llama3.config_registry import llama3_debugmodel
from torchtitan.tools.logging import init_logger
from words import tokenizer

peaks = []
reset = torch.cuda.reset_peak_memory_stats


def keep_and_reset(device: object = None) -> None:
    """torchtitan resets the counter whenever it logs; the peak is that of the whole run."""
    peaks.append(torch.cuda.max_memory_allocated())
    reset(device)


torch.cuda.reset_peak_memory_stats = keep_and_reset
rank = os.environ.get("RANK", "0")
assets = Path(f"assets{rank}")
texts = assets / "texts"
texts.mkdir(parents=True)
tokenizer().save_pretrained(assets)
line = json.dumps({"text": "one two three four " * 200}) + "\n"
(texts / "train.jsonl").write_text(line * 16)

init_logger()
config = llama3_debugmodel()
config.hf_assets_path = str(assets)
config.dataloader.dataset_path = str(texts)
config.training.steps = 3
config.training.local_batch_size = 4
config.training.seq_len = 512
config.dump_folder = str(assets / "out")
config.checkpoint.enable = False
trainer = config.build()
trainer.train()
finish(trainer.step, max(peaks))
trainer.close()

"""transformers' Trainer on a small GPT-2: evaluates, logs, saves a checkpoint."""

import tempfile

import torch
from _peak import finish
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = torch.arange(128) + index
        return {"input_ids": ids, "labels": ids}


config = GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=1024, n_positions=128)
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=8,
        num_train_epochs=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_steps=4,
        disable_tqdm=True,
        report_to="none",
    )
    trainer = Trainer(
        GPT2LMHeadModel(config), arguments, train_dataset=Tokens(), eval_dataset=Tokens()
    )
    result = trainer.train()
finish(result.global_step)

"""trl's SFTTrainer with a LoRA adapter of peft."""

import tempfile

from _peak import finish
from datasets import Dataset
from peft import LoraConfig
from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer
from words import tokenizer

model = LlamaForCausalLM(
    LlamaConfig(
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        vocab_size=1024,
    )
)
rows = Dataset.from_dict({"text": ["one two three four five six seven eight " * 8] * 32})
with tempfile.TemporaryDirectory() as folder:
    settings = SFTConfig(
        folder,
        per_device_train_batch_size=4,
        max_steps=4,
        max_length=64,
        bf16=True,
        gradient_checkpointing=True,
        disable_tqdm=True,
        report_to="none",
        save_strategy="no",
    )
    trainer = SFTTrainer(
        model,
        args=settings,
        train_dataset=rows,
        processing_class=tokenizer(),
        peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"]),
    )
    result = trainer.train()
finish(result.global_step)

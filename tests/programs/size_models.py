"""Trains small models of transformers at several sizes, and prints torch's own peaks.

Arguments: names of models, each followed by sizes such as 2x512 (batch and length). Each size has
a trace NAME.BATCH.LENGTH.peak in the working folder. A size that ends with + has no trace. The
printed document has the requested peak of each size of each model. The models llama and static (a
static cache) generate; their sizes have new tokens, too (2x64x6), and a list of the peaks of
prefill and decoding.
"""

import contextlib
import gc
import json
import sys
from typing import Any

import peakline
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    ResNetConfig,
    ResNetForImageClassification,
)

WORDS = 1024


def gpt2(attention: str) -> PreTrainedModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=WORDS,
            n_positions=4096,
            n_embd=128,
            n_layer=3,
            n_head=4,
            attn_implementation=attention,
        )
    )


def resnet() -> PreTrainedModel:
    config = ResNetConfig(
        embedding_size=32, hidden_sizes=[32, 64, 128], depths=[2, 2, 2], num_labels=100
    )
    return ResNetForImageClassification(config)


def step(name: str, model: PreTrainedModel, batch: int, length: int) -> None:
    if name == "resnet":
        pictures = torch.randn(batch, 3, length, length, device="cuda")
        labels = torch.randint(0, 100, (batch,), device="cuda")
        model(pixel_values=pictures, labels=labels).loss.backward()
        return
    words = torch.randint(0, WORDS, (batch, length), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(input_ids=words, labels=words).loss
    loss.backward()


def train(name: str, batch: int, length: int) -> None:
    model = (resnet() if name == "resnet" else gpt2(name)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        step(name, model, batch, length)
        optimizer.step()
        optimizer.zero_grad()


def highest() -> int:
    return int(torch.cuda.memory_stats()["requested_bytes.all.peak"])


class Llama(LlamaForCausalLM):
    """Notes the peak of its prefill."""

    of_prefill = 0

    def _prefill(self, *arguments: Any, **options: Any) -> Any:
        result = super()._prefill(*arguments, **options)
        self.of_prefill = highest()
        torch.cuda.reset_peak_memory_stats()
        return result


def generate(name: str, batch: int, length: int, new_tokens: int) -> list[int]:
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = Llama(config).to(torch.bfloat16).cuda().eval()
    prompt = torch.randint(0, WORDS, (batch, length), device="cuda")
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    if name == "static":
        options |= {"cache_implementation": "static", "disable_compile": True}
    model.generate(prompt, max_new_tokens=new_tokens, **options)
    return [model.of_prefill, highest()]


def measured(name: str, size: str) -> int | list[int]:
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    batch, length, *new_tokens = map(int, size.rstrip("+").split("x"))
    file = f"{name}.{batch}.{length}.peak"
    with contextlib.nullcontext() if size.endswith("+") else peakline.trace(file):
        if new_tokens:
            return generate(name, batch, length, *new_tokens)
        train(name, batch, length)
    return highest()


if __name__ == "__main__":
    peakline.switch_allocator()
    peaks: dict[str, dict[str, int | list[int]]] = {}
    for word in sys.argv[1:]:
        if not word[0].isdigit():
            own = peaks.setdefault(word, {})
            name = word
        else:
            own[word.rstrip("+")] = measured(name, word)
    print(json.dumps(peaks))

"""Trains three models under torch's profiler; prints what each operator asked for, as it saw it.

The whole program is profiled, so that the bytes are those of all allocations of the trace. Prints
{"innermost": {operator: bytes}, "asking": {operator: bytes}, "total": bytes}: of each allocation
the innermost operator, and the innermost one that is no mere allocation.
"""

from collections import Counter

import torch
from counters import finish_holding
from torch import nn
from torch.profiler import ProfilerActivity, profile

MERE = {
    "aten::empty",
    "aten::empty_strided",
    "aten::empty_like",
    "aten::new_empty",
    "aten::resize_",
}
MERE |= {"aten::empty_permuted", "aten::new_empty_strided", "aten::resize_as_"}
DEVICE = "cuda"


def gpt2() -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    size = {"n_layer": 2, "n_embd": 128, "n_head": 4, "vocab_size": 1000}
    model = GPT2LMHeadModel(GPT2Config(**size, bos_token_id=1, eos_token_id=2)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        tokens = torch.randint(1000, (2, 64), device=DEVICE)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = model(tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def llama() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    size = {"hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000}
    model = LlamaForCausalLM(LlamaConfig(**size, **heads)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(2):
        tokens = torch.randint(1000, (2, 64), device=DEVICE)
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def resnet50() -> None:
    from torchvision.models import resnet50 as make_resnet50

    model = make_resnet50(weights=None).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
    labels = torch.zeros(2, dtype=torch.long, device=DEVICE)
    for _ in range(2):
        images = torch.randn(2, 3, 64, 64, device=DEVICE)
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()


def ancestors(event):
    while event.parent is not None:
        event = event.parent
        yield event


def main() -> None:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        for train in (gpt2, llama, resnet50):
            train()
        torch.cuda.synchronize()
    innermost: Counter[str] = Counter()
    asking: Counter[str] = Counter()
    pending = list(run.profiler.kineto_results.experimental_event_tree())
    while pending:
        event = pending.pop()
        pending += event.children
        kind, fields = event.typed
        if kind != torch._C._profiler._EventType.Allocation or fields.alloc_size <= 0:
            continue
        if fields.device.type != "cuda":
            continue
        names = [above.name for above in ancestors(event)] or ["none"]
        innermost[names[0]] += fields.alloc_size
        asking[next((name for name in names if name not in MERE), names[0])] += fields.alloc_size
    total = torch._C._cuda_memoryStats(0)["allocated_bytes"]["all"]["allocated"]
    finish_holding(innermost=innermost, asking=asking, total=total)


if __name__ == "__main__":
    main()

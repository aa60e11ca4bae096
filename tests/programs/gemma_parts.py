"""A Gemma of random weights reads a prompt and writes a few words, as transformers does it.

Prints torch's peak, and what the program itself holds then: its weights, the tensors of its cache,
and what the attention of one layer added to the level before it. The peak is there.
"""

import json
import os

import torch
from transformers import DynamicCache, Gemma3ForCausalLM, Gemma3TextConfig

PROMPT = 1500
CONFIG = Gemma3TextConfig(
    vocab_size=4000,
    hidden_size=256,
    intermediate_size=1024,
    num_hidden_layers=6,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=64,
    sliding_window=512,
    attn_implementation="eager",
)


def block_bytes(tensors: list[torch.Tensor]) -> int:
    """Bytes of the blocks these lie in, each counted once, as torch's snapshot has them."""
    sizes = {
        block["address"]: block["size"]
        for segment in torch.cuda.memory_snapshot()
        for block in segment["blocks"]
    }
    return sum(sizes[at] for at in {one.untyped_storage().data_ptr() for one in tensors} if at)


def main() -> None:
    torch.set_default_dtype(torch.bfloat16)
    model = Gemma3ForCausalLM(CONFIG).cuda().eval()
    cache = DynamicCache(config=CONFIG)
    before: list[tuple[int, int]] = []
    after: list[tuple[int, int]] = []

    def cached_bytes() -> int:
        held = [one for layer in cache.layers for one in vars(layer).values()]
        return block_bytes([one for one in held if torch.is_tensor(one) and one.is_cuda])

    def before_attention(*_: object) -> None:
        before.append((torch.cuda.memory_allocated(), cached_bytes()))

    def after_attention(*_: object) -> None:
        after.append((torch.cuda.max_memory_allocated(), cached_bytes()))

    for layer in model.model.layers:
        layer.self_attn.register_forward_pre_hook(before_attention)
        layer.self_attn.register_forward_hook(after_attention)
    prompt = torch.randint(3, 3900, (1, PROMPT), device="cuda")
    words = model.generate(prompt, past_key_values=cache, max_new_tokens=3, do_sample=False)
    peak = torch.cuda.max_memory_allocated()
    # The peak was in the layer after which it was there for the first time.
    highest = [level for level, _ in after].index(peak)
    said = {
        "peak": peak,
        "weights": block_bytes([*model.parameters(), *model.buffers()]),
        "cache": after[highest][1],
        "attention": peak - before[highest][0] - (after[highest][1] - before[highest][1]),
        "words": words.shape[1],
    }
    print(json.dumps(said), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

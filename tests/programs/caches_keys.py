"""A small Llama generates with caches of three kinds; what they hold, from the objects.

Prints {moment: bytes of the cache's storages}; the moments are phases of the trace. `grown` is a
cache by hand whose code is not called so: attention reads what it joins.
"""

import peakline
import torch
from counters import finish_holding
from torch import nn
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM, StaticCache

DEVICE = "cuda"
STEPS = 5
said: dict[str, object] = {}


def held(tensors: list[torch.Tensor]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def of_cache(cache: DynamicCache) -> list[torch.Tensor]:
    return [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]


def tell(moment: str, tensors: list[torch.Tensor]) -> None:
    said[moment] = held(tensors)
    with peakline.phase(moment):
        pass


def loop(name: str, model: LlamaForCausalLM, cache: DynamicCache) -> None:
    tokens = torch.zeros(2, 37, dtype=torch.long, device=DEVICE)
    for step in range(STEPS):
        logits = model(tokens, past_key_values=cache, use_cache=True).logits
        tell(f"{name}.{step}", of_cache(cache))
        tokens = logits[:, -1:].argmax(-1)
        del logits


def generate(model: LlamaForCausalLM) -> None:
    prompt = torch.zeros(2, 37, dtype=torch.long, device=DEVICE)
    options = {"max_new_tokens": STEPS, "do_sample": False, "eos_token_id": None}
    done = model.generate(prompt, return_dict_in_generate=True, **options)
    tell("generate", of_cache(done.past_key_values))


class Recalling(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(64, 64)
        self.kept: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        key = self.project(x)
        self.kept = key if self.kept is None else torch.cat((self.kept, key))
        return torch.softmax(x @ self.kept.T, -1) @ self.kept


def grown() -> None:
    model = Recalling().to(DEVICE)
    for step in range(STEPS):
        model(torch.ones(100, 64, device=DEVICE))
        tell(f"grown.{step}", [model.kept])


@torch.no_grad()
def main() -> None:
    size = {"hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000}
    config = LlamaConfig(**size, **heads)
    model = LlamaForCausalLM(config).to(DEVICE).eval()
    loop("dynamic", model, DynamicCache(config=config))
    loop("static", model, StaticCache(config=config, max_cache_len=64))
    generate(model)
    grown()
    finish_holding(**said)


if __name__ == "__main__":
    main()

"""Language models generate; prints what torch's counters say around their prefill and decoding.

The counters are read by subclasses around transformers' own functions. Prints {"regions": [[name,
level at its begin, highest level, bytes allocated]]} in order.
"""

from typing import Any

import torch
from counters import finish_holding
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

DEVICE = "cuda"
NEW_TOKENS = 6
seen: list[list[Any]] = []


class Reading:
    """Reads the counters from a moment on."""

    def __init__(self) -> None:
        torch.cuda.reset_peak_memory_stats()
        self.begin = torch.cuda.memory_allocated()
        self.made = self.total()

    @staticmethod
    def total() -> int:
        return torch.cuda.memory_stats()["allocated_bytes.all.allocated"]

    def note(self, name: str) -> None:
        highest = torch.cuda.max_memory_allocated()
        seen.append([name, self.begin, highest, self.total() - self.made])


class Watched:
    reading: Reading

    def _prefill(self, *arguments: Any, **options: Any) -> Any:
        result = super()._prefill(*arguments, **options)
        self.reading.note("prefill")
        self.reading = Reading()
        return result

    # What they prepare belongs to the prefill.
    def _sample(self, *arguments: Any, **options: Any) -> Any:
        self.reading = Reading()
        result = super()._sample(*arguments, **options)
        self.reading.note("decode")
        return result

    def _beam_search(self, *arguments: Any, **options: Any) -> Any:
        self.reading = Reading()
        result = super()._beam_search(*arguments, **options)
        self.reading.note("decode")
        return result


class GPT2(Watched, GPT2LMHeadModel):
    pass


class Llama(Watched, LlamaForCausalLM):
    pass


def make(kind: type, config: Any) -> torch.nn.Module:
    return kind(config).to(DEVICE).eval()


def main() -> None:
    common = {"vocab_size": 500, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    gpt2 = make(GPT2, GPT2Config(n_layer=2, n_embd=64, n_head=2, **common))
    size = {"hidden_size": 64, "intermediate_size": 172, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    llama = make(Llama, LlamaConfig(**size, **heads, **common))
    prompt = torch.randint(3, 400, (2, 33), device=DEVICE)
    options = {"max_new_tokens": NEW_TOKENS, "min_new_tokens": NEW_TOKENS}
    gpt2.generate(prompt, **options, do_sample=False)
    llama.generate(prompt, **options, do_sample=True)
    torch.ones(1000, device=DEVICE)
    gpt2.generate(prompt, **options, num_beams=3)
    finish_holding(regions=seen)


if __name__ == "__main__":
    main()

"""https://github.com/huggingface/transformers/issues/47731: a static cache of the full length.

The cache is static already: advice to make it so is wrong.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

settings = LlamaConfig(
    hidden_size=512,
    intermediate_size=512,
    num_hidden_layers=4,
    num_attention_heads=8,
    num_key_value_heads=8,
    vocab_size=1000,
    max_position_embeddings=8192,
)
model = LlamaForCausalLM(settings).to("cuda", torch.bfloat16).eval()
model.generate(
    torch.randint(100, 200, (8, 2048)).cuda(),
    max_new_tokens=4,
    do_sample=False,
    cache_implementation="static",
    disable_compile=True,
    pad_token_id=0,
    eos_token_id=None,
)

"""QLoRA: weights of four bits (bitsandbytes), adapters of peft, a paged 8-bit optimizer."""

import bitsandbytes
import torch
from _peak import finish
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

STEPS = 3


def quantized(model: nn.Module) -> nn.Module:
    """Replace the linear layers of the decoder, as `load_in_4bit` does for saved weights."""
    for name, layer in list(model.named_modules()):
        if isinstance(layer, nn.Linear) and "lm_head" not in name:
            four = bitsandbytes.nn.Linear4bit(
                layer.in_features,
                layer.out_features,
                bias=False,
                compute_dtype=torch.bfloat16,
                quant_type="nf4",
            )
            four.weight = bitsandbytes.nn.Params4bit(layer.weight.data, quant_type="nf4")
            parent = model.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], four)
    return model


config = LlamaConfig(
    hidden_size=512,
    intermediate_size=1024,
    num_hidden_layers=4,
    num_attention_heads=8,
    vocab_size=1024,
)
model = quantized(LlamaForCausalLM(config).to(torch.bfloat16)).cuda()
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"]))
optimizer = bitsandbytes.optim.PagedAdamW8bit(model.parameters(), lr=1e-4, min_8bit_size=1024)
ids = torch.zeros(4, 256, dtype=torch.long, device="cuda")
for _ in range(STEPS):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
finish(STEPS)

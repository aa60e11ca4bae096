"""Megatron-LM: a GPT in two tensor-parallel parts of two pipeline stages, by its own schedule."""

import torch
import torch.distributed as dist
from _peak import finish
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

LENGTH, BATCH, VOCABULARY = 128, 2, 4096


def forward_step(data: object, model: torch.nn.Module) -> tuple:
    tokens = torch.zeros(BATCH, LENGTH, dtype=torch.long, device="cuda")
    positions = torch.arange(LENGTH, device="cuda").expand(BATCH, LENGTH)
    mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool, device="cuda").triu(1)
    losses = model(tokens, positions, mask, labels=tokens)
    return losses, lambda output: (output.mean(), {"loss": output.mean()})


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
parallel_state.initialize_model_parallel(2, 2)
model_parallel_cuda_manual_seed(123)
config = TransformerConfig(
    num_layers=4,
    hidden_size=512,
    num_attention_heads=8,
    tensor_model_parallel_size=2,
    pipeline_model_parallel_size=2,
    pipeline_dtype=torch.float32,
)
model = GPTModel(
    config,
    get_gpt_layer_local_spec(),
    VOCABULARY,
    LENGTH,
    pre_process=parallel_state.is_pipeline_first_stage(),
    post_process=parallel_state.is_pipeline_last_stage(),
).cuda()
optimizer = torch.optim.Adam(model.parameters())
schedule = get_forward_backward_func()
for _ in range(2):
    optimizer.zero_grad()
    schedule(
        forward_step_func=forward_step,
        data_iterator=None,
        model=model,
        num_microbatches=4,
        seq_length=LENGTH,
        micro_batch_size=BATCH,
        forward_only=False,
    )
    optimizer.step()
finish("trained")
dist.destroy_process_group()

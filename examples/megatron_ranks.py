"""Train a small GPT with Megatron-core: two tensor-parallel parts of two pipeline stages, copied.

The ranks beyond four train copies of the model on other data. One rank of a job of eight, with or
without the other seven:

    peakline run --simulate h200 --world 8 --rank 7 examples/megatron_ranks.py
    peakline run --simulate h200x8 -- torchrun --nproc-per-node 8 examples/megatron_ranks.py

Needs: pip install megatron-core
"""

import os

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

LENGTH, BATCH, VOCABULARY, STEPS = 128, 2, 4096, 2


def forward_step(data: object, model: torch.nn.Module) -> tuple:
    tokens = torch.zeros(BATCH, LENGTH, dtype=torch.long, device="cuda")
    positions = torch.arange(LENGTH, device="cuda").expand(BATCH, LENGTH)
    mask = torch.ones(1, 1, LENGTH, LENGTH, dtype=torch.bool, device="cuda").triu(1)
    losses = model(tokens, positions, mask, labels=tokens)
    return losses, lambda output: (output.mean(), {"loss": output.mean()})


def build() -> GPTModel:
    """Make this rank's part of the model."""
    config = TransformerConfig(
        num_layers=4,
        hidden_size=512,
        num_attention_heads=8,
        tensor_model_parallel_size=2,
        pipeline_model_parallel_size=2,
        pipeline_dtype=torch.float32,
    )
    return GPTModel(
        config,
        get_gpt_layer_local_spec(),
        VOCABULARY,
        LENGTH,
        pre_process=parallel_state.is_pipeline_first_stage(),
        post_process=parallel_state.is_pipeline_last_stage(),
    ).cuda()


def train() -> None:
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", dist.get_rank())))
    parallel_state.initialize_model_parallel(2, 2)
    model_parallel_cuda_manual_seed(123)
    model = build()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = get_forward_backward_func()
    for _ in range(STEPS):
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
        average_gradients(model)
        optimizer.step()


def average_gradients(model: torch.nn.Module) -> None:
    """Average over the copies of this part."""
    group = parallel_state.get_data_parallel_group()
    for parameter in model.parameters():
        if parameter.grad is not None:
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG, group=group)


if __name__ == "__main__":
    train()
    print(f"rank {dist.get_rank()}: {torch.cuda.max_memory_allocated()} bytes at the peak")
    dist.destroy_process_group()

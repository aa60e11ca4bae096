"""Mixtures of experts, each written as a library writes it; prints the tokens of each expert.

experts.py [FILE]: on a device without values. With FILE: on the CPU, where the routing is real; the
tokens of each expert go to FILE, a line for each choice. Under several ranks the experts are shared
out, and tokens go to the ranks of their experts.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from counters import print_at_once

TOKENS, WIDTH, EXPERTS, CHOICES = 8192, 16, 32, 4
DEVICE = "cpu" if sys.argv[1:] else "cuda"


def scores(experts: int = EXPERTS) -> torch.Tensor:
    return torch.randn(TOKENS, experts, device=DEVICE).softmax(-1)


def by_mask() -> list[int]:
    """A loop over experts with a mask of its tokens, as in transformers."""
    chosen = scores().topk(CHOICES, dim=-1).indices
    mask = torch.nn.functional.one_hot(chosen, num_classes=EXPERTS).permute(2, 1, 0)
    hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
    found = [0] * EXPERTS
    for [expert] in hit.tolist():
        _, token = torch.where(mask[expert])
        found[expert] = len(token)
    return found


def by_sort() -> list[int]:
    """Tokens sorted by expert, and a histogram of integers, as in torchtitan."""
    chosen = scores().topk(CHOICES, dim=-1, sorted=False).indices
    counts = torch.histc(
        chosen.view(-1).float() if DEVICE == "cpu" else chosen.view(-1),
        bins=EXPERTS,
        min=0,
        max=EXPERTS,
    )
    torch.argsort(chosen.view(-1), stable=True)
    return counts.int().tolist()


def by_map() -> list[int]:
    """A map of tokens and experts, as in Megatron."""
    logits = scores()
    chosen = logits.topk(CHOICES, dim=1).indices
    routing_map = torch.zeros_like(logits).int().scatter(1, chosen, 1).bool()
    rows = torch.randn(TOKENS, WIDTH, device=DEVICE)
    tokens = torch.arange(TOKENS, device=DEVICE).expand(EXPERTS, -1)
    permuted = rows.index_select(0, tokens.masked_select(routing_map.T.contiguous()))
    counts = routing_map.sum(dim=0).tolist()
    assert len(permuted) == sum(counts), (permuted.shape, counts)
    return counts


def by_best() -> list[int]:
    """One expert for each token."""
    chosen = scores(8).argmax(-1)
    return [len((chosen == expert).nonzero()) for expert in range(8)]


def by_groups() -> list[int]:
    """Groups of experts first, then experts of these groups, as in DeepSeek-V3."""
    logits = scores()
    groups = logits.view(TOKENS, 8, -1).topk(2, dim=-1)[0].sum(dim=-1)
    best = torch.topk(groups, k=4, dim=-1, sorted=False)[1]
    mask = torch.zeros_like(groups).scatter_(1, best, 1)
    masked = logits.masked_fill(~mask.repeat_interleave(EXPERTS // 8, 1).bool(), 0.0)
    chosen = torch.topk(masked, k=CHOICES, dim=-1, sorted=False)[1]
    return torch.bincount(chosen.flatten(), minlength=EXPERTS).tolist()


def across_ranks() -> dict[str, int]:
    """Counts are exchanged first, then tokens in these splits."""
    dist.init_process_group("nccl")
    world = dist.get_world_size()
    chosen = scores().topk(CHOICES, dim=-1).indices
    counts = torch.bincount(chosen.flatten(), minlength=EXPERTS)
    received = torch.empty_like(counts)
    dist.all_to_all_single(received, counts)
    to = counts.view(world, -1).sum(1).tolist()
    of = received.view(world, -1).sum(1).tolist()
    rows = torch.randn(sum(to), WIDTH, device=DEVICE)
    got = rows.new_empty(sum(of), WIDTH)
    dist.all_to_all_single(got, rows, output_split_sizes=of, input_split_sizes=to)
    dist.destroy_process_group()
    return {"sent": len(rows), "received": len(got)}


torch.manual_seed(0)
WAYS = (by_mask, by_sort, by_map, by_best)
if "RANK" in os.environ:
    print_at_once(across_ranks())
elif sys.argv[1:]:
    with Path(sys.argv[1]).open("w") as file:
        for way in WAYS:
            print(*way(), sep=", ", file=file)
else:
    print(json.dumps({way.__name__: way() for way in (*WAYS, by_groups)}))

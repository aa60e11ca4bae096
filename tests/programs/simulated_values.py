"""Values on a simulated GPU: those that came from the host stay true, the others are guessed.

Prints one JSON document. Lines that the tests name end with a comment `# read NAME`.
"""

import json
import os

import peakline
import torch


def exact() -> dict:
    """Everything here follows from what the host uploaded."""
    ids = torch.tensor([5, 0, 7, 0, 9], device="cuda")
    mask = ids != 0
    counts = torch.tensor([2, 3], device="cuda")
    half = torch.arange(8, device="cuda", dtype=torch.bfloat16) / 2
    flag = torch.zeros(1, device="cuda")
    flag += 1
    torch.randn(64, 64, device="cuda") @ torch.randn(64, 64, device="cuda")
    buffer = torch.empty(200_000, dtype=torch.long, device="cuda")
    buffer.copy_(torch.arange(200_000) % 5)
    tokens = torch.full((64, 4096), -100)
    tokens[:, ::2] = 7
    known = torch.randn(64, 4096, 8, device="cuda")[tokens.cuda() != -100]
    edges = torch.stack([torch.arange(100_000), torch.arange(100_000) // 2]).cuda()
    order = torch.tensor([2, 0, 1], device="cuda")
    inverse = torch.empty_like(order)
    inverse[order] = torch.arange(3, device="cuda")
    return {
        "inverse": inverse.tolist(),
        "copied": (buffer == 3).sum().item(),
        "known": list(known.shape),
        "edges": [edges[:, edges[0] != edges[1]].shape[1], edges.unique().numel()],
        "infinite": torch.isfinite(torch.tensor([1, torch.inf], device="cuda")).all().item(),
        "nonzero": mask.nonzero().flatten().tolist(),
        "masked": ids[mask].tolist(),
        "unique": torch.unique(torch.tensor([3, 1, 3], device="cuda")).tolist(),
        "repeat": torch.repeat_interleave(counts, counts).tolist(),
        "sum": mask.sum().item(),
        "half": half.tolist(),
        "flag": bool(flag),
        "again": ids.tolist(),
        "equal": torch.equal(ids, ids.clone()),
    }


def guessed() -> dict:
    """Nothing here is known."""
    scores = torch.randn(1000, device="cuda")
    mask = scores > 0
    rows = torch.randn(1000, 64, device="cuda")
    part = torch.empty(4, dtype=torch.long, device="cuda")
    part[torch.tensor([2, 0], device="cuda")] = 5
    found = {
        "size": list(mask.nonzero().shape),  # read size
        "masked": list(rows[mask].shape),  # read masked
        "unique": list(torch.unique((scores * 100).long()).shape),  # read unique
        "number": [scores.sum().item() for _ in range(3)],  # read number
        "number_of_line": scores.max().item(),  # read assumed
        "copy": scores.cpu().sum().item(),  # read copy
        "integer": [(scores * 100).long().sum().item() for _ in range(3)],  # read integer
        "part": part.tolist(),  # read part
        "integer_copy": (scores * 100).long().cpu().sum().item(),  # read integer_copy
    }
    repr(scores)  # read printed
    with peakline.assume("nonzero", 0.5):
        found["half"] = list(rows[mask].shape)  # read half
    with peakline.assume("nonzero", 7):
        found["seven"] = list(rows[mask].shape)
    with peakline.assume("nonzero", "100%"):
        found["all"] = list(mask.nonzero().shape)
    with peakline.assume("unique", 12):
        found["twelve"] = list(torch.unique((scores * 100).long()).shape)
    return found


def checked() -> dict:
    """Values that are not there pass the checks that a program makes of them."""
    values = torch.randn(500, 400, device="cuda")
    words = torch.randn(3, 51_865, device="cuda")
    distributions = [
        torch.distributions.Normal(values, values.exp()),
        torch.distributions.Categorical(values.softmax(-1)),
        torch.distributions.Categorical(logits=values),
    ]
    return {
        "finite": torch.isfinite(values).all().item(),
        "finite_rows": torch.isfinite(values).all(-1).sum().item(),
        "samples": [list(one.sample().shape) for one in distributions],
        "order": sorted(values[:50].flatten().sort().indices.tolist()) == list(range(20_000)),
        "beams": [len({*row}) for row in words.topk(4).indices.tolist()],
    }


print(json.dumps({"exact": exact(), "guessed": guessed(), "checked": checked()}), flush=True)
os._exit(0)

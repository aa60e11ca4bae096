"""The sets of layers that `plan` finds in a trace, for figures and pages; the lines to paste."""

from __future__ import annotations

import json
from typing import Any

from peakline.base.engine import report_engine

# {names} is a list of the layers' paths, as Python writes it.
SNIPPET = (
    "import functools",
    "from torch.utils.checkpoint import checkpoint",
    "for name in {names}:",
    "    layer = model.get_submodule(name)",
    "    layer.forward = functools.partial(",
    "        checkpoint, layer.forward, use_reentrant=False",
    "    )",
)


def frontier_of_file(
    path: str, device: int | str | None = None, budget: int = 0
) -> dict[str, Any] | None:
    """Return the frontier of cost against peak, in bytes of blocks; None: there is no plan.

    ``chosen`` is the cheapest set for the budget, None without one.
    """
    options: dict[str, Any] = {} if device is None else {"device": device}
    text = report_engine().Trace(path).report("plan", json=True, peak_budget=budget, **options)
    document = json.loads(text)
    points = document["frontier"]
    if document["refusal"] or not points:
        return None
    rounding = document["rounding_bytes"]
    changes = [one["change"] for one in document["plan"] if not one["layers"]]
    return {
        "device": document["device"],
        "now_bytes": document["baseline_bytes"] + rounding,
        "budget_bytes": budget,
        "free_changes": changes,
        "layer_count": len(document["all_layers"]),
        "points": [_point(one, rounding) for one in points],
        "chosen": _chosen(document, rounding) if document["feasible"] and budget else None,
    }


def _point(one: dict[str, Any], rounding: int) -> dict[str, Any]:
    return {
        "bytes": one["peak_bytes"] + rounding,
        # Without shapes the FLOPs are not known.
        "cost": one["cost_share"],
        "layers": one["layers"],
    }


def _chosen(document: dict[str, Any], rounding: int) -> dict[str, Any]:
    layers = [layer for one in document["plan"] for layer in one["layers"]]
    shares = [one["cost_share"] for one in document["plan"]]
    is_known = all(share is not None for share in shares)
    return {
        "bytes": document["predicted"]["requested_bytes"] + rounding,
        "cost": sum(shares) if is_known else None,
        "layers": layers,
    }

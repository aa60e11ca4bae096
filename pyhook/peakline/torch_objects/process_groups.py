"""Reports the rank and the process groups of this process, from torch.distributed.

Launchers set the rank in the environment, but with `mp.spawn` and MPI only torch knows it. The
description of a group names its dimension if a device mesh or Megatron made it: "mesh_tp",
"TENSOR_...".
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_MOST_GROUPS = 64


class ProcessGroups:
    """Reports the groups again whenever they change."""

    def __init__(self, recorder: ModuleType) -> None:
        """Begin without groups."""
        self._recorder = recorder
        self._known: list[int] = []

    def report(self) -> None:
        """Store the rank and the groups as facts about the run."""
        module = sys.modules.get("torch.distributed.distributed_c10d")
        world = module.__dict__.get("_world") if module is not None else None
        ranks_of = getattr(world, "pg_group_ranks", None)
        if (
            world is None
            or not isinstance(ranks_of, dict)
            or list(map(id, ranks_of)) == self._known
        ):
            return
        self._known = [id(group) for group in ranks_of]
        base = sys.modules["torch._C._distributed_c10d"].ProcessGroup
        # Groups without this process are also listed, as a number.
        groups = [item for item in ranks_of.items() if base in type(item[0]).__mro__]
        for group, ranks in groups:
            if group is world.default_pg:
                self._report_rank(base.rank(group), len(ranks))
        for number, (group, ranks) in enumerate(groups[:_MOST_GROUPS]):
            facts = {"name": _name_of(base, group), "ranks": written_ranks(sorted(ranks))}
            self._recorder.put_meta(f"process_group.{number}", json.dumps(facts))

    def _report_rank(self, rank: int, world_size: int) -> None:
        self._recorder.put_meta("rank", str(rank))
        self._recorder.put_meta("world_size", str(world_size))
        if os.environ.get("LOCAL_RANK"):
            self._recorder.put_meta("local_rank", os.environ["LOCAL_RANK"])


def _name_of(base: Any, group: Any) -> str:
    """Return the description of a group, bypassing overrides of the program; "" if it has none."""
    described = base.__dict__.get("group_desc")  # since torch 2.3
    name = described.__get__(group) if described is not None else ""
    return "" if name == "undefined" else str(name)


def written_ranks(ranks: Sequence[int]) -> str:
    """Return sorted ranks as text: "3", "0-7", "0-24/8" for a constant stride, "0,1,5"."""
    steps = {after - before for before, after in zip(ranks, ranks[1:], strict=False)}
    if len(ranks) < 3 or len(steps) > 1:
        return ",".join(map(str, ranks))
    [step] = steps
    return f"{ranks[0]}-{ranks[-1]}" + (f"/{step}" if step > 1 else "")

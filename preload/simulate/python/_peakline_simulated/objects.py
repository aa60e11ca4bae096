"""Carries the objects of torch.distributed's object collectives over the host.

Replaces the six functions for objects if they would use the device, which does not compute the
sizes that they exchange. The same tensors are allocated and the same collectives are called, so
memory use equals that of a real device. The objects go through a channel (object_channel.py). A
rank alone gathers its own object from every rank; if only another rank has an object, that rank
is started for it.
"""

from __future__ import annotations

import functools
import inspect
import os
import pickle
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from _peakline_simulated.object_channel import Channel, FolderChannel, StoreChannel

_NAMES = (
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
)


def change(c10d: ModuleType) -> None:
    """Replace the functions in torch.distributed, from where its package imports them."""
    objects = _Objects(c10d)
    for name in _NAMES:
        setattr(c10d, name, objects.replacement(name))


@dataclass(frozen=True)
class _Call:
    """One call: its arguments by name, its group and its device. Ranks are those of the group."""

    arguments: dict[str, Any]
    group: Any
    device: Any
    own_rank: int
    size: int


class _Objects:
    """The replacements, over one torch.distributed.distributed_c10d."""

    def __init__(self, c10d: ModuleType) -> None:
        self._c10d = c10d
        self._counts: Counter[str] = Counter()
        self._is_alone = os.environ.get("PEAKLINE_SIM_RANK_ALONE") == "1"

    def replacement(self, name: str) -> Any:
        """Return a function that uses the host where torch's would use the device."""
        real = getattr(self._c10d, name)
        own = getattr(self, name)
        signature = inspect.signature(real)

        @functools.wraps(real)
        def function(*args: Any, **kwargs: Any) -> Any:
            import torch

            arguments = signature.bind(*args, **kwargs).arguments
            group = self._c10d._group_or_default_group(arguments.get("group"))
            if self._c10d._rank_not_in_group(group):
                return real(*args, **kwargs)
            chosen = arguments.get("device") or self._c10d._get_object_coll_device(group)
            device = torch.device(chosen)
            from_any = name == "recv_object_list" and not {"src", "group_src"} & set(arguments)
            if from_any or not (self._is_alone or device.type == "cuda"):
                return real(*args, **kwargs)
            return own(_Call(arguments, group, device, group.rank(), group.size()))

        return function

    def all_gather_object(self, call: _Call) -> None:
        obj, gathered = call.arguments["obj"], call.arguments["object_list"]
        key, texts = self._gather_texts(call, obj, "all_gather")
        mine, size = self._c10d._object_to_tensor(obj, call.device, call.group)
        sizes, data = self._gathering_tensors(call, texts)
        self._all_gather(sizes, size, call)
        mine.resize_(data.numel() // call.size)
        self._all_gather(data, mine, call)
        gathered[:] = [pickle.loads(text) for text in texts]

    def gather_object(self, call: _Call) -> None:
        obj, gathered = call.arguments["obj"], call.arguments.get("object_gather_list")
        root = self._peer(call, "dst")
        is_root = call.own_rank == root
        self._c10d._validate_output_list_for_rank(call.own_rank, root, gathered)
        key, texts = self._gather_texts(call, obj, "gather")
        mine, size = self._c10d._object_to_tensor(obj, call.device, call.group)
        sizes, data = self._gathering_tensors(call, texts)
        self._all_gather(sizes, size, call)
        mine.resize_(data.numel() // call.size)
        parts = list(data.chunk(call.size)) if is_root else None
        if not is_root:
            del data
        self._c10d.gather(mine, parts, dst=self._global(call, root), group=call.group)
        if is_root and gathered is not None:
            gathered[:] = [pickle.loads(text) for text in texts]

    def broadcast_object_list(self, call: _Call) -> None:
        objects = call.arguments["object_list"]
        root = self._peer(call, "src")
        key = self._next_key(call, "broadcast")
        if call.own_rank == root:
            self._put(call, key, objects)
            tensors = self._sending_tensors(call, objects)
        else:
            texts = self._take(call, key, root)
            tensors = self._receiving_tensors(call, texts)
            objects[:] = [pickle.loads(text) for text in texts]
        for tensor in tensors:
            self._c10d.broadcast(tensor, src=self._global(call, root), group=call.group)

    def scatter_object_list(self, call: _Call) -> None:
        import torch

        given = call.arguments.get("scatter_object_input_list")
        root = self._peer(call, "src")
        key = self._next_key(call, "scatter")
        is_root = call.own_rank == root
        if is_root:
            if given is None:
                raise ValueError("source rank must provide non-None scatter_object_input_list")
            self._put(call, key, given)
        texts = self._take(call, key, root)
        longest = max(map(len, texts))
        parts, sizes = None, None
        if given is not None and is_root:
            made = [self._c10d._object_to_tensor(one, call.device, call.group) for one in given]
            parts, sizes = [part.resize_(longest) for part, _ in made], [size for _, size in made]
        where = {"src": self._global(call, root), "group": call.group}
        size = torch.tensor([0], dtype=torch.long, device=call.device)
        self._c10d.broadcast(size, **where)
        output = torch.empty(longest, dtype=torch.uint8, device=call.device)
        self._c10d.scatter(output, parts, **where)
        self._c10d.scatter(torch.zeros_like(size), sizes, **where)
        call.arguments["scatter_object_output_list"][0] = pickle.loads(texts[call.own_rank])

    def send_object_list(self, call: _Call) -> None:
        objects = call.arguments["object_list"]
        peer = self._peer(call, "dst")
        self._put(call, self._next_key(call, f"{call.own_rank}-{peer}"), objects)
        for tensor in self._sending_tensors(call, objects):
            self._exchange(call, self._c10d.isend, tensor, peer)

    def recv_object_list(self, call: _Call) -> int:
        objects = call.arguments["object_list"]
        peer = self._peer(call, "src")
        texts = self._take(call, self._next_key(call, f"{peer}-{call.own_rank}"), peer)
        for tensor in self._receiving_tensors(call, texts):
            self._exchange(call, self._c10d.irecv, tensor, peer)
        objects[:] = [pickle.loads(text) for text in texts]
        return self._global(call, peer)

    # ---- on the host ------------------------------------------------------------------------

    def _next_key(self, call: _Call, what: str) -> str:
        """Name the next exchange of this kind in this group: all its ranks count in step."""
        name = f"peakline/{self._c10d._get_process_group_name(call.group)}/{what}"
        self._counts[name] += 1
        return f"{name}/{self._counts[name]}"

    def _channel(self, call: _Call) -> Channel:
        if self._is_alone:
            return FolderChannel(Path(os.environ["PEAKLINE_SIM_JOB"]))
        return StoreChannel(self._c10d._world.pg_map[call.group][1])

    def _put(self, call: _Call, key: str, objects: Any) -> None:
        texts = [pickle.dumps(one) for one in objects]
        self._channel(call).put(key, pickle.dumps(texts))

    def _take(self, call: _Call, key: str, rank: int) -> list[bytes]:
        texts: list[bytes] = pickle.loads(self._channel(call).take(key, self._global(call, rank)))
        return texts

    def _gather_texts(self, call: _Call, obj: object, what: str) -> tuple[str, list[bytes]]:
        key = self._next_key(call, what)
        if self._is_alone:
            return key, [pickle.dumps(obj)] * call.size
        self._put(call, f"{key}/{call.own_rank}", [obj])
        return key, [self._take(call, f"{key}/{rank}", rank)[0] for rank in range(call.size)]

    def _peer(self, call: _Call, name: str) -> int:
        """Return the group rank that a call names, in either way; by default the first."""
        in_group = call.arguments.get(f"group_{name}")
        if in_group is not None:
            return int(in_group)
        named = call.arguments.get(name)
        if named is None:
            return 0
        return int(self._c10d.get_group_rank(call.group, named))

    def _global(self, call: _Call, rank: int) -> int:
        return int(self._c10d.get_global_rank(call.group, rank))

    # ---- on the device: what torch allocates and calls ----------------------------------------

    def _sending_tensors(self, call: _Call, objects: Any) -> tuple[Any, Any]:
        import torch

        parts = [self._c10d._object_to_tensor(one, call.device, call.group) for one in objects]
        sizes = torch.cat([size for _, size in parts])
        data = parts[0][0] if len(parts) == 1 else torch.cat([part for part, _ in parts])
        return sizes, data

    def _receiving_tensors(self, call: _Call, texts: list[bytes]) -> tuple[Any, Any]:
        import torch

        sizes = torch.empty(len(texts), dtype=torch.long, device=call.device)
        return sizes, torch.empty(sum(map(len, texts)), dtype=torch.uint8, device=call.device)

    def _gathering_tensors(self, call: _Call, texts: list[bytes]) -> tuple[Any, Any]:
        import torch

        sizes = torch.zeros(call.size, dtype=torch.long, device=call.device)
        longest = max(map(len, texts))
        return sizes, torch.empty(longest * call.size, dtype=torch.uint8, device=call.device)

    def _all_gather(self, output: Any, mine: Any, call: _Call) -> None:
        if hasattr(self._c10d, "all_gather_single"):
            self._c10d.all_gather_single(output, mine, group=call.group)
        else:
            self._c10d.all_gather(list(output.chunk(call.size)), mine, group=call.group)

    def _exchange(self, call: _Call, start: Any, tensor: Any, peer: int) -> None:
        rank = self._global(call, peer)
        if call.arguments.get("use_batch"):
            operation = self._c10d.P2POp(start, tensor, rank, group=call.group)
            self._c10d.batch_isend_irecv([operation]).pop().wait()
        else:
            start(tensor, rank, group=call.group).wait()

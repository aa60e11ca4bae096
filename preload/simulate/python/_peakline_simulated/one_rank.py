"""Lets one process be one rank of a job without the other ranks.

Note [A rank alone]
The script initialises its process group as usual. This module replaces the other ranks: a number
added to the store is added by every rank; a key that another rank would have set has this rank's
own value of the same key; the id of a communicator is any id. The simulated NCCL gives every rank
this rank's own contribution and moves nothing. Groups of gloo are torch's own fake ones, which do
the same on the host. Objects that only another rank has (of broadcast_object_list,
scatter_object_list, recv_object_list) come from that rank: it is started once they are needed,
see objects.py.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

_ID_BYTES = 128  # of ncclUniqueId
# Prefix of the store that a group gives its NCCL backend. NCCL gets the id of a communicator
# from it, under "0", "0:1" or "nccl_storekey_0".
_NCCL_PREFIX = "/cuda//"

# C++ refers to a Python store only weakly, so the Python half must stay alive.
_stores: list[Any] = []


def change(c10d: Any) -> None:
    """Replace the rendezvous, gloo and communicator splitting of torch.distributed."""
    # By name: the package is being imported, and also has a function called rendezvous.
    rendezvous: Any = importlib.import_module("torch.distributed.rendezvous")
    dist: Any = sys.modules["torch.distributed"]
    store_class = _make_store_class(dist.Store)
    _replace_rendezvous(rendezvous, store_class)
    for module in (dist, c10d, rendezvous):
        for name in ("TCPStore", "FileStore"):
            if hasattr(module, name):
                setattr(module, name, _constructor(getattr(module, name), store_class))
    if hasattr(c10d, "ProcessGroupGloo"):
        c10d.ProcessGroupGloo = _fake_gloo(c10d.ProcessGroupGloo)
        dist.ProcessGroupGloo = c10d.ProcessGroupGloo
    # Splitting a communicator needs every rank, so torch creates new ones instead.
    c10d._get_split_source = lambda *_args, **_kwargs: None
    if hasattr(c10d, "split_group"):
        c10d.split_group = _new_group_for_split(c10d)


def rank_and_world_size() -> tuple[int, int]:
    """Return this rank and the number of ranks."""
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def _make_store_class(base: type) -> type:
    class OneRankStore(base):  # type: ignore[misc]
        """A store in this process that replaces the missing ranks."""

        def __init__(self, *_args: Any, **_kwargs: Any) -> None:
            super().__init__()
            self._rank, self._world_size = rank_and_world_size()
            self._values: dict[str, bytes] = {}
            self._timeout = timedelta(minutes=5)
            _stores.append(self)

        def set(self, key: str, value: str | bytes) -> None:
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key: str) -> bytes:
            return self._values[key] if key in self._values else self._answer_for_others(key)

        def add(self, key: str, amount: int) -> int:
            total = int(self._values.get(key, b"0")) + amount * self._world_size
            self._values[key] = str(total).encode()
            return total

        def compare_set(self, key: str, expected: str, desired: str) -> bytes:
            if self._values.get(key, expected.encode()) == expected.encode():
                self._values[key] = desired.encode()
            return self._values[key]

        def append(self, key: str, value: str | bytes) -> None:
            text = value.encode() if isinstance(value, str) else bytes(value)
            self._values[key] = self._values.get(key, b"") + text

        def check(self, keys: list[str]) -> bool:
            return all(key in self._values for key in keys)

        def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
            """All ranks have set their keys already."""

        def multi_get(self, keys: list[str]) -> list[bytes]:
            return [self.get(key) for key in keys]

        def multi_set(self, keys: list[str], values: list[Any]) -> None:
            for key, value in zip(keys, values, strict=True):
                self.set(key, value)

        def delete_key(self, key: str) -> bool:
            return self._values.pop(key, None) is not None

        def num_keys(self) -> int:
            return len(self._values)

        def has_extended_api(self) -> bool:
            return True

        def set_timeout(self, timeout: timedelta) -> None:
            self._timeout = timeout

        @property
        def timeout(self) -> timedelta:
            return self._timeout

        def clone(self) -> Any:
            return self

        def _answer_for_others(self, key: str) -> bytes:
            for own_key, value in self._values.items():
                if _is_same_key_of_another_rank(own_key, key, self._rank):
                    return value
            if _NCCL_PREFIX in key:
                return bytes(_ID_BYTES)
            raise RuntimeError(
                f"rank {self._rank} of {self._world_size} runs alone, and reads {key!r} from the "
                "store, which only another rank can set: run all ranks with torchrun "
                "(peakline run --simulate h200x8 -- torchrun --nproc-per-node 8 ...)"
            )

    return OneRankStore


def _is_same_key_of_another_rank(own_key: str, key: str, rank: int) -> bool:
    """Whether the keys differ only in one number, which is this rank in our key."""
    own_parts, parts = re.split(r"(\d+)", own_key), re.split(r"(\d+)", key)
    if len(own_parts) != len(parts):
        return False
    different = [(own, other) for own, other in zip(own_parts, parts, strict=True) if own != other]
    return len(different) == 1 and different[0][0] == str(rank) and different[0][1].isdigit()


def _replace_rendezvous(rendezvous: Any, store_class: type) -> None:
    def handle(url: str, *_args: Any, **_kwargs: Any) -> Any:
        asked = parse_qs(urlparse(url).query)
        rank, world_size = rank_and_world_size()
        rank = int(asked.get("rank", [rank])[0])
        yield store_class(), rank, int(asked.get("world_size", [world_size])[0])

    for scheme in ("env", "tcp", "file"):
        rendezvous._rendezvous_handlers[scheme] = handle


def _constructor(real: type, store_class: type) -> type:
    """A class that creates our store, and accepts instances of the real one as its own."""

    class Meta(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return store_class()

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, (real, store_class))

    return Meta(real.__name__, (), {})


def _new_group_for_split(c10d: Any) -> Any:
    def split_group(
        parent_pg: Any = None,
        split_ranks: Any = None,
        timeout: Any = None,
        pg_options: Any = None,
        group_desc: str | None = None,
        **_more: Any,
    ) -> Any:
        parent = parent_pg or c10d._get_default_group()
        for members in split_ranks or ():
            if parent.rank() in members:
                ranks = [c10d.get_global_rank(parent, member) for member in members]
                return c10d.new_group(ranks, timeout=timeout, group_desc=group_desc)
        return None

    return split_group


def _fake_gloo(real: type) -> type:
    fake: Any = importlib.import_module("torch._C._distributed_c10d").FakeProcessGroup
    # Torch up to 2.11 calls it for gloo only, and a fake group has no such method.
    fake._set_sequence_number_for_group = lambda _self: None

    class Meta(type):
        def __call__(cls, _store: Any, rank: int, size: int, *_args: Any, **_kwargs: Any) -> Any:
            make = getattr(fake, "_create_internal", fake)
            options = getattr(fake, "Options", None)
            if options is not None:
                return make(rank, size, options())
            return make(rank, size)

        def __instancecheck__(cls, instance: object) -> bool:
            # Torch up to 2.11 checks the new group's class.
            return isinstance(instance, (real, fake))

        def __getattr__(cls, name: str) -> Any:
            return getattr(real, name)

    return Meta(real.__name__, (), {})

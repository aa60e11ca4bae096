"""Keeps tensors of many dtypes and shapes by name, and prints what torch says of each of them.

Every name stands with shape, dtype and bytes of its tensor. The last part says what the program
noticed of being recorded.
"""

import gc
import json
import sys
import weakref

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

DEVICE = "cuda"
ASKED: list[str] = []
KEPT: list[object] = []
INSIDE: list[torch.Tensor] = []


class Hostile(torch.Tensor):
    """Says of itself what is not so, and writes down who asks."""

    @property
    def shape(self) -> torch.Size:
        ASKED.append("shape")
        return torch.Size([1, 2, 3])

    @property
    def dtype(self) -> torch.dtype:
        ASKED.append("dtype")
        return torch.complex128

    def size(self, *_: object) -> torch.Size:
        ASKED.append("size")
        return torch.Size([1, 2, 3])


class Asking(torch.Tensor):
    """Its sizes are asked for through __torch_dispatch__, which answers nothing."""

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        ASKED.append(function.name())
        return NotImplemented


def dtypes() -> list[torch.dtype]:
    names = (
        "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 bool complex64"
        " float8_e4m3fn float8_e5m2"
    )
    return [getattr(torch, name) for name in names.split() if hasattr(torch, name)]


def nested(*parts: torch.Tensor) -> torch.Tensor:
    return torch.nested.nested_tensor(list(parts), device=DEVICE)


class Kept(nn.Module):
    """Parameters and buffers of every kind."""

    def __init__(self) -> None:
        super().__init__()
        for number, dtype in enumerate(dtypes()):
            tensor = torch.empty(3, number + 1, 5, dtype=dtype, device=DEVICE)
            self.register_buffer(f"of_{str(dtype).split('.')[1]}", tensor)
        self.register_buffer("without_dimension", torch.zeros((), device=DEVICE))
        self.register_buffer("empty", torch.zeros(0, 7, device=DEVICE))
        self.register_buffer("deep", torch.zeros(1, 2, 1, 2, 1, 2, 1, 2, device=DEVICE))
        self.register_buffer("half_of_a_block", torch.zeros(4, 6, device=DEVICE)[:2].t())
        self.register_buffer("a\"b,c'\n\u00e9", torch.zeros(9, device=DEVICE))
        self.register_buffer("wide", torch.zeros(1, 11, device=DEVICE).expand(400, 11))
        indices = torch.zeros(2, 3, dtype=torch.long, device=DEVICE)
        sparse = torch.sparse_coo_tensor(indices, torch.zeros(3, device=DEVICE), (4, 5))
        self.register_buffer("sparse", sparse)
        self.register_buffer("hostile", torch.zeros(2, 8, device=DEVICE).as_subclass(Hostile))
        INSIDE.append(torch.zeros(2, 9, device=DEVICE))
        asking = torch.Tensor._make_subclass(
            Asking, INSIDE[0], dispatch_sizes_strides_policy="sizes"
        )
        self.register_buffer("asking", asking)
        self.register_buffer("nested", nested(torch.zeros(2, 3), torch.zeros(4, 3)))
        self.register_buffer(
            "quantised",
            torch._empty_affine_quantized(
                [3, 4], scale=1.0, zero_point=0, dtype=torch.quint8, device=DEVICE
            ),
        )
        self.one = nn.Linear(16, 24, device=DEVICE, dtype=torch.bfloat16)
        self.tied = nn.Linear(16, 24, device=DEVICE, dtype=torch.bfloat16)
        self.tied.weight = self.one.weight
        self.table = nn.Embedding(30, 16, device=DEVICE)
        self.table.weight.requires_grad_(False)
        self.table.half()
        self.norm = nn.BatchNorm1d(24, device=DEVICE)


# They have no block of their own: no storage, or one of two (of indices, of values).
NAMELESS = ("empty", "sparse")
SHAPELESS = ("nested",)


def facts(tensor: torch.Tensor) -> list[object]:
    """What torch's own code says, past what a subclass defines."""
    shape = list(torch._C.TensorBase.shape.__get__(tensor))
    dtype = str(torch._C.TensorBase.dtype.__get__(tensor)).split(".")[1]
    return [shape, dtype, tensor.element_size() * torch.Size(shape).numel()]


def expected(model: Kept, optimizer: torch.optim.Optimizer) -> dict[str, list[object]]:
    said: dict[str, list[object]] = {}

    def add(text: str, name: str, tensor: torch.Tensor) -> None:
        if name not in (*NAMELESS, *SHAPELESS):
            said[text] = facts(INSIDE[0] if type(tensor) is Asking else tensor)

    names = {}
    for name, parameter in model.named_parameters():
        names[parameter] = name
        add(f"parameter {name}", name, parameter)
        if parameter.grad is not None:
            add(f"gradient of {name}", name, parameter.grad)
    for name, buffer in model.named_buffers():
        add(f"buffer {name}", name, buffer)
    for parameter, state in optimizer.state.items():
        for key, tensor in state.items():
            if tensor.device.type == "cuda":
                add(f"AdamW.{key} of {names[parameter]}", names[parameter], tensor)
    return said


def main() -> None:
    model = Kept()
    KEPT.append(model)
    optimizer = torch.optim.AdamW(p for p in model.parameters() if p.requires_grad)
    KEPT.append(optimizer)
    with FakeTensorMode():
        KEPT.append(nn.Linear(8, 8, device=DEVICE))
    inputs = torch.zeros(5, 16, device=DEVICE, dtype=torch.bfloat16)
    weak = weakref.ref(model.one.weight)
    for _ in range(3):
        optimizer.zero_grad()
        model.norm(model.tied(model.one(inputs)[:, :16]).float()).sum().backward()
        optimizer.step()
    noticed = {
        "references": [sys.getrefcount(one) for one in (*model.parameters(), *model.buffers())],
        "weak": weakref.getweakrefcount(model.one.weight),
        "asked": ASKED,
        "tensors": sum(torch.Tensor in type(one).__mro__ for one in gc.get_objects()),
        "weights": weak() is model.one.weight,
    }
    said = expected(model, optimizer)
    print(json.dumps({"types": said, "noticed": noticed}), flush=True)


if __name__ == "__main__":
    main()

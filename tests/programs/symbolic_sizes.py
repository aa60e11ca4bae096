"""Operators on a tensor with symbolic sizes, as torch.compile(dynamic=True) traces them.

Prints the device of a result, and whether its size is a symbol.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

real = torch.ones(64, 64, device="cuda")
mode = FakeTensorMode(shape_env=ShapeEnv())
fake = mode.from_tensor(real, static_shapes=False)
with mode:
    product = fake.cumsum(0) @ fake
print(f'["{product.device}", "{type(product.shape[0]).__name__}"]', flush=True)

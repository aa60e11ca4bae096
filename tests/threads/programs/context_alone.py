"""One number takes half a gigabyte of the device.

https://github.com/pytorch/pytorch/issues/60150
"""

import torch

number = torch.ones(1, device="cuda")

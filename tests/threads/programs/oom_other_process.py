"""github.com/benoitc/gunicorn/issues/2744: each worker has the model on the same device.

github.com/pytorch/pytorch/issues/40863: this process holds 0.5 GB, and the device is full.
"""

import torch

model = torch.nn.Linear(8192, 8192).cuda()
model(torch.zeros(65536, 8192, device="cuda"))

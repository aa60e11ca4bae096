"""https://github.com/fastai/fastai/pull/1022: one comparison for all classes and all samples."""

import torch

classes = torch.arange(400, device="cuda")
predicted = torch.randint(0, 400, (20000,)).cuda()
truth = torch.randint(0, 400, (20000,)).cuda()
counts = ((predicted == classes[:, None]) & (truth == classes[:, None, None])).sum(2)  # cause

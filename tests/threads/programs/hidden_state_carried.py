"""The state goes from batch to batch with graphs.

https://github.com/mravanelli/pytorch-kaldi/pull/41
"""

import torch

lstm = torch.nn.LSTM(128, 512).cuda().eval()
state = (torch.zeros(1, 64, 512, device="cuda"), torch.zeros(1, 64, 512, device="cuda"))
for _ in range(16):
    outputs, state = lstm(torch.randn(50, 64, 128, device="cuda"), state)  # cause

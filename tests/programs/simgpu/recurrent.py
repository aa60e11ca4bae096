"""LSTM and GRU through cuDNN: the weights have one layout, forward and backward run."""

import torch
from torch import nn

for kind in (nn.LSTM, nn.GRU, nn.RNN):
    for bidirectional in (False, True):
        model = kind(32, 64, num_layers=2, bidirectional=bidirectional, dropout=0.1).cuda()
        result, _ = model(torch.randn(10, 4, 32, device="cuda"))
        result.sum().backward()
        assert result.shape == (10, 4, 128 if bidirectional else 64)
        model.flatten_parameters()
projected = nn.LSTM(32, 64, proj_size=16).cuda()
projected(torch.randn(10, 4, 32, device="cuda"))[0].sum().backward()
print("ok")

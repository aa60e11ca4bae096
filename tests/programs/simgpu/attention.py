"""Scaled dot product attention with each backend forced, forward and backward."""

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

for backend in (
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
):
    query, key, value = (
        torch.randn(2, 8, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for _ in range(3)
    )
    with sdpa_kernel(backend):
        result = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        result.sum().backward()
    assert result.shape == (2, 8, 128, 64)
    assert query.grad.shape == query.shape
    print(backend.name)
print("ok")

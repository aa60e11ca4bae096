"""The decoder works at the full resolution.

https://github.com/huggingface/diffusers/issues/10350
"""

import torch

denoiser = torch.nn.Conv2d(4, 4, 3, padding=1).cuda().half()
first = torch.nn.Conv2d(4, 128, 3, padding=1).cuda().half()
second = torch.nn.Conv2d(128, 128, 3, padding=1).cuda().half()
last = torch.nn.Conv2d(128, 3, 3, padding=1).cuda().half()


@torch.no_grad()
def decode(latents):
    hidden = torch.nn.functional.interpolate(first(latents), scale_factor=8)
    hidden = torch.nn.functional.silu(second(hidden))  # cause
    return last(hidden)


with torch.no_grad():
    latents = torch.randn(1, 4, 192, 192, device="cuda", dtype=torch.half)
    for _ in range(10):
        latents = latents - 0.1 * denoiser(latents)
decode(latents)

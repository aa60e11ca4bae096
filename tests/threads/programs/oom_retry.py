"""github.com/pytorch/pytorch/issues/18853, 27600: half the batch does not fit after an OOM either.

The kept exception holds the frame that failed, and its tensors.
"""

import torch

layers = [torch.nn.Linear(2048, 2048).cuda() for _ in range(8)]


def step(batch: int) -> None:
    """Keep what each layer made."""
    hidden = torch.zeros(batch, 2048, device="cuda")
    made = []
    for layer in layers:
        hidden = layer(hidden)  # cause
        made.append(hidden)
    hidden.mean().backward()


last_error = None
for size in (81920, 40960, 20480):
    try:
        step(size)
        break
    except torch.cuda.OutOfMemoryError as error:
        last_error = error

"""Running out of memory raises torch's own error, and freeing makes room again."""

import torch

free_bytes, _ = torch.cuda.mem_get_info()
blocks = []
try:
    while True:
        blocks.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
except torch.OutOfMemoryError as error:
    text = str(error)
assert "CUDA out of memory. Tried to allocate 1024.00 MiB" in text, text
assert "has a total capacity of" in text, text
assert len(blocks) == free_bytes >> 30, (len(blocks), free_bytes)
blocks.clear()
torch.cuda.empty_cache()
torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
print("ok")

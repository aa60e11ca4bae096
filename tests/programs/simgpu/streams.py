"""Streams, events and record_stream."""

import torch

side = torch.cuda.Stream()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
x = torch.randn(1 << 20, device="cuda")
start.record()
with torch.cuda.stream(side):
    side.wait_stream(torch.cuda.current_stream())
    y = x * 2
    x.record_stream(side)
torch.cuda.current_stream().wait_stream(side)
end.record()
end.synchronize()
assert start.elapsed_time(end) >= 0
assert end.query()
address = x.data_ptr()
del x
z = torch.empty(1 << 20, device="cuda")
print("ok", address == z.data_ptr())

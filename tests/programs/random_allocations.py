"""Allocates and frees at random on threads, streams and devices: SEED [COUNT].

Tracing is switched on and off through the API; at each start torch's peaks are reset, so that
torch's own counters say what each traced range must have as its peak.
"""

import random
import sys
import threading

import peakline
import torch
from counters import finish, peaks_of_all_devices

THREADS = 4
RANGES = 3


def churn(seed: int, count: int) -> None:
    """Keep a changing set of blocks; what other threads left behind is freed here as well."""
    choose = random.Random(seed)
    device = seed % torch.cuda.device_count()
    streams = [torch.cuda.Stream(device) for _ in range(2)] + [torch.cuda.default_stream(device)]
    kept: list[torch.Tensor] = []
    for _ in range(count):
        if kept and choose.random() < 0.48:
            kept.pop(choose.randrange(len(kept)))
        elif shared and choose.random() < 0.1:
            with shared_lock:
                if shared:
                    kept.append(shared.pop())
        else:
            size = int(2 ** choose.uniform(0, 22))
            with torch.cuda.stream(choose.choice(streams)):
                block = torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
            if choose.random() < 0.2:
                block.record_stream(choose.choice(streams))
            kept.append(block)
    with shared_lock:
        shared.extend(kept[::3])


def run_threads(seed: int, count: int) -> None:
    threads = [
        threading.Thread(target=churn, args=(seed * 1000 + number, count))
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    ranges = []
    for number in range(RANGES):
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)
            torch.cuda.reset_peak_memory_stats(device)
        peakline.start_tracing()
        run_threads(seed + number, count)
        ranges.append(peaks_of_all_devices())
        peakline.stop_tracing()
        run_threads(seed + 100 + number, count // 4)
    finish(ranges=ranges)


shared: list[torch.Tensor] = []
shared_lock = threading.Lock()

if __name__ == "__main__":
    main()

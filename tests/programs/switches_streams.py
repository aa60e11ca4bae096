"""Keeps small blocks of streams that are switched in every way: LIBRARY [COUNT].

LIBRARY is loaded in the middle of it and switches streams by itself. Says how many bytes torch
allocated for the current stream of each device, as "device, stream".
"""

import collections
import ctypes
import random
import sys
import threading

import torch
from counters import finish_holding

THREADS = 3
LATER = 8  # an eighth of the allocations comes before LIBRARY is loaded
DEVICE_TYPE_CUDA = 1


def use_stream(library: ctypes.CDLL, stream: torch.cuda.Stream) -> None:
    """Make a stream current as an extension does."""
    library.use_stream(DEVICE_TYPE_CUDA | stream.device_index << 8, stream.stream_id)


class Switcher:
    """One thread's way through streams of two devices."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.device = seed % torch.cuda.device_count()
        self.streams = [torch.cuda.Stream(self.device) for _ in range(3)]
        self.streams.append(torch.cuda.default_stream(self.device))
        self.kept: list[torch.Tensor] = []
        self.bytes: collections.Counter[str] = collections.Counter()

    def allocate(self) -> None:
        """Keep one block for what torch says is the current stream."""
        device = torch.cuda.current_device()
        stream = torch.cuda.current_stream(device).cuda_stream
        name = f"stream {stream:#x}" if stream else "default stream"
        size = 512 * self.choose.randrange(1, 9)
        self.kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        self.bytes[f"device {device}, {name}"] += size

    def switch(self, library: ctypes.CDLL | None) -> None:
        """Switch for this thread, and allocate inside where the switch is undone at the end."""
        stream = self.choose.choice(self.streams)
        way = self.choose.randrange(4 if library is not None else 3)
        if way == 0:
            torch.cuda.set_stream(stream)
        elif way == 1:
            with torch.cuda.stream(stream):
                self.allocate()
        elif way == 2:
            with torch.cuda.device(self.choose.randrange(torch.cuda.device_count())):
                self.allocate()
        else:
            use_stream(library, stream)

    def run(self, count: int, library: ctypes.CDLL | None) -> None:
        """Allocate, and switch before every third of it."""
        torch.cuda.set_device(self.device)
        for _ in range(count):
            if self.choose.random() < 0.3:
                self.switch(library)
            self.allocate()


def run_threads(switchers: list[Switcher], count: int, library: ctypes.CDLL | None) -> None:
    """Run the first on this thread, the others on threads of their own."""
    threads = [threading.Thread(target=one.run, args=(count, library)) for one in switchers[1:]]
    for thread in threads:
        thread.start()
    switchers[0].run(count, library)
    for thread in threads:
        thread.join()


def main() -> None:
    count = int(sys.argv[2])
    switchers = [Switcher(seed) for seed in range(THREADS)]
    run_threads(switchers, count // LATER, None)
    first = switchers[0]
    torch.cuda.set_stream(first.streams[0])
    first.allocate()
    library = ctypes.CDLL(sys.argv[1])
    library.use_stream.argtypes = [ctypes.c_uint64, ctypes.c_int64]
    # Long enough for a recorder to learn of the library; then back to what it may think of still.
    use_stream(library, first.streams[1])
    first.allocate()
    torch.ones(1, requires_grad=True).mul(2)
    library.numbers_library.restype = ctypes.c_char_p
    numbers_library = library.numbers_library().decode()
    for _ in range(count // 2):
        first.allocate()
    torch.cuda.set_stream(first.streams[0])
    first.allocate()
    run_threads(switchers, count, library)
    total: collections.Counter[str] = collections.Counter()
    for one in switchers:
        total.update(one.bytes)
    finish_holding(bytes=total, numbers_library=numbers_library)


if __name__ == "__main__":
    main()

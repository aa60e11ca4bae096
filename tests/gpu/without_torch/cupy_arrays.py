"""CuPy: arrays of its pool, a product by cuBLAS, an FFT whose plan has a workspace."""

from __future__ import annotations

import time

import cupy
from moments import say


def main() -> None:
    """Hold some arrays, say so, end."""
    bytes_held = cupy.zeros(3 << 27, dtype=cupy.uint8)
    square = cupy.random.rand(4096, 4096)
    product = square @ square
    spectrum = cupy.fft.fft(square)
    cupy.cuda.Device().synchronize()
    time.sleep(0.005)
    free, total = cupy.cuda.runtime.memGetInfo()
    pool = cupy.get_default_memory_pool()
    say(total - free, pool.total_bytes(), "cupy")
    del bytes_held, product, spectrum


if __name__ == "__main__":
    main()

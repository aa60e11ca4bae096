"""JAX: arrays of XLA's allocator, which grows here as they need it."""

from __future__ import annotations

import ctypes
import os
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp
from moments import say


def used_bytes() -> int:
    """What the driver says is in use on the device of this context."""
    driver = ctypes.CDLL("libcuda.so.1")
    context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxPushCurrent_v2(context) == 0
    assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
    driver.cuCtxPopCurrent_v2(None)
    return total.value - free.value


def main() -> None:
    """Hold some arrays, say so, end."""
    bytes_held = jnp.zeros(3 << 27, dtype=jnp.uint8)
    square = jax.random.uniform(jax.random.key(0), (4096, 4096))
    product = jax.jit(lambda x: x @ x)(square)
    jax.block_until_ready((bytes_held, product))
    time.sleep(0.005)
    held = jax.devices()[0].memory_stats()["bytes_in_use"]
    say(used_bytes(), held, "")


if __name__ == "__main__":
    main()

"""A process exports device memory to a child by the CUDA driver's own calls, without torch."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

MIB = 1 << 20
HANDLE_BYTES = 64
LAZY_PEER_ACCESS = 1


class Handle(ctypes.Structure):
    """CUipcMemHandle, which is passed by value."""

    _fields_ = [("bytes", ctypes.c_char * HANDLE_BYTES)]


cuda = ctypes.CDLL("libcuda.so.1")


def use_device() -> None:
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0


def hold(mib: int) -> ctypes.c_uint64:
    address = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mib * MIB)) == 0
    return address


def own() -> None:
    use_device()
    for mib in (32, 48):
        address, handle = hold(mib), Handle()
        for _ in range(2):  # only the first export of an allocation is new
            assert cuda.cuIpcGetMemHandle(ctypes.byref(handle), address) == 0
        Path(f"handle{mib}").write_bytes(bytes(handle))
    hold(16)
    child = subprocess.run([sys.executable, __file__, "open"], stdout=subprocess.PIPE, text=True)
    print(child.stdout.strip())
    print(json.dumps({"role": "owner", "pid": os.getpid(), "status": child.returncode}))


def open_handle(mib: int) -> ctypes.c_uint64:
    handle = Handle.from_buffer_copy(Path(f"handle{mib}").read_bytes())
    address, flags = ctypes.c_uint64(), ctypes.c_uint(LAZY_PEER_ACCESS)
    assert cuda.cuIpcOpenMemHandle_v2(ctypes.byref(address), handle, flags) == 0
    return address


def open_all() -> None:
    use_device()
    first = open_handle(32)
    assert first.value == open_handle(32).value
    assert cuda.cuIpcCloseMemHandle(first) == 0  # it stays open: it was opened twice
    second = open_handle(48)
    hold(8)
    assert cuda.cuIpcCloseMemHandle(second) == 0
    print(json.dumps({"role": "opener", "pid": os.getpid()}))


if __name__ == "__main__":
    open_all() if "open" in sys.argv else own()

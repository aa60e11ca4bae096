"""Calls the driver as its standard input says, and prints what it answers; without torch.

use ORDINAL | alloc GiB | free | info | nvml INDEX | count | uuid ORDINAL | again
"""

import ctypes
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")
nvml = ctypes.CDLL("libnvidia-ml.so.1")
GIB = 1 << 30
NO_DEVICE = 100
blocks: list[ctypes.c_ulonglong] = []


class Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


def use(ordinal: str) -> int:
    context = ctypes.c_void_p()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), int(ordinal)) == 0
    return cuda.cuCtxSetCurrent(context)


def alloc(gib: str) -> int:
    block = ctypes.c_ulonglong()
    status = cuda.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(int(float(gib) * GIB)))
    if status == 0:
        blocks.append(block)
    return status


def info() -> str:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
    return f"{free.value} {total.value}"


def processes(index: str) -> str:
    device, count, found = ctypes.c_void_p(), ctypes.c_uint(64), (Process * 64)()
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlDeviceGetHandleByIndex_v2(int(index), ctypes.byref(device)) == 0
    list_of = nvml.nvmlDeviceGetComputeRunningProcesses_v3
    assert list_of(device, ctypes.byref(count), found) == 0
    return " ".join(f"{one.pid}={one.bytes}" for one in found[: count.value])


def uuid(ordinal: str) -> str:
    value = (ctypes.c_ubyte * 16)()
    assert cuda.cuDeviceGetUuid_v2(value, int(ordinal)) == 0
    return bytes(value).hex()


def count() -> int:
    number = ctypes.c_int()
    if STATUS == NO_DEVICE:
        return 0
    assert cuda.cuDeviceGetCount(ctypes.byref(number)) == 0
    return number.value


def free() -> int:
    return cuda.cuMemFree_v2(blocks.pop())


def again() -> None:
    os.execv(sys.executable, [sys.executable, __file__, "again"])


CALLS = {"use": use, "alloc": alloc, "free": free, "info": info, "nvml": processes}
CALLS |= {"count": count, "uuid": uuid, "again": again}
STATUS = cuda.cuInit(0)
assert STATUS in (0, NO_DEVICE)
print(*sys.argv[1:], end="\n" * len(sys.argv[1:]), flush=True)  # "again", after it
for line in sys.stdin:
    name, *words = line.split()
    print(CALLS[name](*words), flush=True)

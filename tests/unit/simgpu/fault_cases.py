"""One fault a program can make, and what every case of it begins with."""

from __future__ import annotations

from dataclasses import dataclass

PRELUDE = """
import ctypes, os, threading
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
paths = os.environ["LD_PRELOAD"].split(":")
rt = ctypes.CDLL(next(p for p in paths if "libcudart" in p))
dr = ctypes.CDLL(next(p for p in paths if "libcuda.so" in p))
class Dim3(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]
def malloc(size):
    p = c_void_p()
    error = rt.cudaMalloc(byref(p), c_size_t(size))
    return error, p
def free_bytes():
    free, total = c_size_t(), c_size_t()
    assert rt.cudaMemGetInfo(byref(free), byref(total)) == 0
    return free.value
def stream(flags=1):
    s = c_void_p()
    assert rt.cudaStreamCreateWithFlags(byref(s), flags) == 0
    return s
def event():
    e = c_void_p()
    assert rt.cudaEventCreate(byref(e)) == 0
    return e
kernel = ctypes.c_char(b"k")
def register():
    rt.__cudaRegisterFatBinary.restype = c_void_p
    h = c_void_p(rt.__cudaRegisterFatBinary(b"image"))
    rt.__cudaRegisterFunction(h, byref(kernel), None, b"k", -1, None, None, None, None, None)
def launch(grid, block, shared=0, s=None):
    return rt.cudaLaunchKernel(
        byref(kernel), Dim3(*grid), Dim3(*block), None, c_size_t(shared), s)
"""


@dataclass(frozen=True)
class Fault:
    what: str
    documented: str
    code: str

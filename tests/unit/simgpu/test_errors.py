"""The documented error codes of the runtime, asked through ctypes without torch."""

from __future__ import annotations

import sys
import textwrap

import pytest
from simulated_gpu import SimulatedGpu

_PRELUDE = """
import ctypes, os
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
name = next(p for p in os.environ["LD_PRELOAD"].split(":") if "libcudart" in p)
rt = ctypes.CDLL(name)
class Dim3(ctypes.Structure):
    _fields_ = [("x", c_uint), ("y", c_uint), ("z", c_uint)]
def malloc(size):
    p = c_void_p()
    return rt.cudaMalloc(byref(p), c_size_t(size)), p
def info():
    free, total = c_size_t(), c_size_t()
    assert rt.cudaMemGetInfo(byref(free), byref(total)) == 0
    return free.value, total.value
def stream():
    s = c_void_p()
    assert rt.cudaStreamCreateWithFlags(byref(s), 1) == 0
    return s
"""

_CASES = {
    "exhausted capacity is a memory allocation error and leaves nothing taken": """
        before = info()
        assert malloc(before[0] + 1)[0] == 2
        assert rt.cudaPeekAtLastError() == 2 and rt.cudaGetLastError() == 2
        assert rt.cudaGetLastError() == 0
        assert info() == before
    """,
    "all of the memory can be allocated, in granules of 2 MiB": """
        free, total = info()
        rest = free % (2 << 20)
        error, p = malloc(free - rest)
        assert error == 0 and info()[0] == rest
        assert rt.cudaFree(p) == 0 and info()[0] == free
    """,
    "a size near the top of size_t does not wrap around": """
        assert malloc(2**64 - 1)[0] == 2
    """,
    "small blocks share a granule": """
        free, total = info()
        a, b = malloc(512)[1], malloc(512)[1]
        assert free - info()[0] == 2 << 20
        assert b.value - a.value == 512
    """,
    "freeing an unknown pointer is an invalid value": """
        info()
        assert rt.cudaFree(c_void_p(0x1234)) == 1
    """,
    "freeing twice is an invalid value": """
        error, p = malloc(4096)
        assert rt.cudaFree(p) == 0 and rt.cudaFree(p) == 1
    """,
    "an unknown device ordinal is an invalid device": """
        assert rt.cudaSetDevice(7) == 101
        assert rt.cudaSetDevice(-1) == 101
    """,
    "a launch with a bad shape is an invalid configuration": """
        kernel = ctypes.c_char(b"k")
        handle = rt.__cudaRegisterFatBinary
        handle.restype = c_void_p
        h = c_void_p(handle(b"image"))
        rt.__cudaRegisterFunction(h, byref(kernel), None, b"k", -1, None, None, None, None, None)
        one, none, many = Dim3(1, 1, 1), Dim3(0, 1, 1), Dim3(1025, 1, 1)
        def launch(grid, block):
            return rt.cudaLaunchKernel(byref(kernel), grid, block, None, c_size_t(0), None)
        assert launch(one, one) == 0
        assert launch(none, one) == 9
        assert launch(one, many) == 9
    """,
    "an unknown stream is an invalid handle": """
        info()
        assert rt.cudaStreamSynchronize(c_void_p(0xdead00)) == 400
    """,
    "waiting for a stream that is captured is not permitted and ends the capture": """
        s, g = stream(), c_void_p()
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaStreamSynchronize(s) == 900
        assert rt.cudaStreamEndCapture(s, byref(g)) == 901
        assert g.value is None
    """,
    "a capture that nobody began cannot end": """
        s, g = stream(), c_void_p()
        assert rt.cudaStreamEndCapture(s, byref(g)) == 401
    """,
    "allocating while this thread captures globally is not permitted": """
        info()
        s, g = stream(), c_void_p()
        assert rt.cudaStreamBeginCapture(s, 0) == 0
        assert malloc(4096)[0] == 900
        assert rt.cudaStreamEndCapture(s, byref(g)) == 901
    """,
    "a stream that joined the capture must lead back to it": """
        s, other, g, e = stream(), stream(), c_void_p(), c_void_p()
        error, p = malloc(4096)
        assert rt.cudaEventCreate(byref(e)) == 0
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaEventRecord(e, s) == 0
        assert rt.cudaStreamWaitEvent(other, e, 0) == 0
        assert rt.cudaMemsetAsync(p, 0, c_size_t(4096), other) == 0
        assert rt.cudaStreamEndCapture(s, byref(g)) == 904
    """,
    "a captured operation is one node": """
        s, g, n = stream(), c_void_p(), c_size_t()
        error, p = malloc(4096)
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaMemsetAsync(p, 0, c_size_t(4096), s) == 0
        assert rt.cudaStreamEndCapture(s, byref(g)) == 0
        assert rt.cudaGraphGetNodes(g, None, byref(n)) == 0 and n.value == 1
    """,
    "a pool keeps memory up to its threshold and gives it back when trimmed": """
        free, total = info()
        pool, p = c_void_p(), c_void_p()
        assert rt.cudaDeviceGetDefaultMemPool(byref(pool), 0) == 0
        assert rt.cudaMemPoolSetAttribute(pool, 4, byref(ctypes.c_uint64(1 << 40))) == 0
        assert rt.cudaMallocAsync(byref(p), c_size_t(1 << 30), None) == 0
        assert rt.cudaFreeAsync(p, None) == 0 and rt.cudaDeviceSynchronize() == 0
        assert free - info()[0] == 1 << 30
        assert rt.cudaMemPoolTrimTo(pool, c_size_t(0)) == 0 and info()[0] == free
    """,
    "a pool without a threshold gives memory back at a synchronisation": """
        free, total = info()
        p = c_void_p()
        assert rt.cudaMallocAsync(byref(p), c_size_t(1 << 30), None) == 0
        assert rt.cudaFreeAsync(p, None) == 0
        assert info()[0] < free
        assert rt.cudaDeviceSynchronize() == 0 and info()[0] == free
    """,
    "host copies are real and fresh device memory reads as zero": """
        error, p = malloc(4)
        a, b = ctypes.create_string_buffer(b"abcd", 4), ctypes.create_string_buffer(b"wxyz", 4)
        assert rt.cudaMemcpy(b, a, c_size_t(4), 4) == 0 and b.raw == b"abcd"
        assert rt.cudaMemcpy(b, p, c_size_t(4), 4) == 0 and b.raw == bytes(4)
    """,
    "an upload can be read back, in part and from a copy": """
        (_, p), (_, q) = malloc(8), malloc(8)
        a, b = ctypes.create_string_buffer(b"abcdefgh", 8), ctypes.create_string_buffer(4)
        assert rt.cudaMemcpy(p, a, c_size_t(8), 4) == 0
        assert rt.cudaMemcpy(q, p, c_size_t(8), 4) == 0
        assert rt.cudaMemset(c_void_p(q.value + 4), 0, c_size_t(1)) == 0
        assert rt.cudaMemcpy(b, c_void_p(q.value + 3), c_size_t(4), 4) == 0
        assert b.raw == b"d\\0fg"
    """,
    "an upload cannot be read back after a launch, which may have written it": """
        kernel = ctypes.c_char(b"k")
        handle = rt.__cudaRegisterFatBinary
        handle.restype = c_void_p
        h = c_void_p(handle(b"image"))
        rt.__cudaRegisterFunction(h, byref(kernel), None, b"k", -1, None, None, None, None, None)
        a, b = ctypes.create_string_buffer(b"abcd", 4), ctypes.create_string_buffer(b"wxyz", 4)
        error, p = malloc(4)
        assert rt.cudaMemcpy(p, a, c_size_t(4), 4) == 0
        one = Dim3(1, 1, 1)
        assert rt.cudaLaunchKernel(byref(kernel), one, one, None, c_size_t(0), None) == 0
        assert rt.cudaMemcpy(b, p, c_size_t(4), 4) == 0 and b.raw == bytes(4)
    """,
    "freed memory is forgotten": """
        a, b = ctypes.create_string_buffer(b"abcd", 4), ctypes.create_string_buffer(4)
        _, p = malloc(4)
        assert rt.cudaMemcpy(p, a, c_size_t(4), 4) == 0 and rt.cudaFree(p) == 0
        _, q = malloc(4)
        assert q.value == p.value
        assert rt.cudaMemcpy(b, q, c_size_t(4), 4) == 0 and b.raw == bytes(4)
    """,
    "a copy from freed memory is an invalid value": """
        error, p = malloc(8 << 20)
        b = ctypes.create_string_buffer(4)
        assert rt.cudaFree(p) == 0
        assert rt.cudaMemcpy(b, p, c_size_t(4), 4) == 1
    """,
}


@pytest.mark.parametrize("sentence", _CASES)
def test_documented_behaviour(simgpu: SimulatedGpu, sentence: str) -> None:
    code = _PRELUDE + textwrap.dedent(_CASES[sentence])
    done = simgpu.run([sys.executable, "-c", code])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_call_that_is_not_modelled_says_so_once(simgpu: SimulatedGpu) -> None:
    code = _PRELUDE + "assert [rt.cudaMallocArray(None) for _ in range(3)] == [801] * 3\n"
    done = simgpu.run([sys.executable, "-c", code])
    assert done.returncode == 0, done.stderr
    expected = "peakline simgpu: cudaMallocArray is not modelled: returned cudaErrorNotSupported\n"
    assert done.stderr == expected

"""Faults come back with the codes that CUDA documents, each cited beside its case.

RT: CUDA Runtime API reference, DR: CUDA Driver API reference, both with the name of the module and
of the function or the type that states it. The numbers of the codes are in RT, "Data types used by
CUDA Runtime", enum cudaError, and DR, "Data types used by CUDA driver", enum CUresult.
"""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import dataclass

import pytest
from simulated_gpu import SimulatedGpu

_PRELUDE = """
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


FAULTS = (
    Fault(
        "the last byte can be had and the next one not",
        "RT Memory Management, cudaMalloc: cudaErrorMemoryAllocation (2)",
        """
        left = free_bytes()
        error, p = malloc(left)
        assert error == 0 and free_bytes() == 0
        assert malloc(1)[0] == 2
        assert rt.cudaFree(p) == 0 and free_bytes() == left
        """,
    ),
    Fault(
        "after running out of memory the device can still be used",
        "RT Data types, cudaErrorMemoryAllocation: not a sticky error; "
        "RT Error Handling, cudaGetLastError: resets it to cudaSuccess",
        """
        assert malloc(free_bytes() + 1)[0] == 2
        assert rt.cudaGetLastError() == 2 and rt.cudaGetLastError() == 0
        error, p = malloc(1 << 20)
        assert error == 0 and rt.cudaFree(p) == 0
        """,
    ),
    Fault(
        "the driver runs out of memory with its own code",
        "DR Memory Management, cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2), "
        "CUDA_ERROR_INVALID_VALUE (1) for bytesize 0",
        """
        left, p = free_bytes(), c_ulonglong()
        assert dr.cuMemAlloc_v2(byref(p), c_size_t(left + 1)) == 2
        assert dr.cuMemAlloc_v2(byref(p), c_size_t(0)) == 1
        """,
    ),
    Fault(
        "an unknown pointer cannot be freed",
        "RT Memory Management, cudaFree: cudaErrorInvalidValue (1)",
        """
        error, p = malloc(4096)
        assert rt.cudaFree(c_void_p(0x1234)) == 1
        assert rt.cudaFree(c_void_p(p.value + 512)) == 1
        assert rt.cudaFree(None) == 0
        assert rt.cudaFree(p) == 0
        """,
    ),
    Fault(
        "memory is freed once, by either interface",
        "RT Memory Management, cudaFree: cudaErrorInvalidValue (1) when already freed; "
        "DR Memory Management, cuMemFree: CUDA_ERROR_INVALID_VALUE (1)",
        """
        error, p = malloc(4096)
        assert rt.cudaFree(p) == 0
        assert rt.cudaFree(p) == 1
        assert dr.cuMemFree_v2(c_ulonglong(p.value)) == 1
        """,
    ),
    Fault(
        "host memory is freed once, and not as device memory",
        "RT Memory Management, cudaFreeHost: cudaErrorInvalidValue (1)",
        """
        p = c_void_p()
        assert rt.cudaMallocHost(byref(p), c_size_t(4096)) == 0
        assert rt.cudaFree(p) == 1
        assert rt.cudaFreeHost(p) == 0
        assert rt.cudaFreeHost(p) == 1
        """,
    ),
    Fault(
        "a reset frees everything; what it destroyed cannot be used",
        "RT Device Management, cudaDeviceReset: destroys all allocations and resets all state; "
        "RT Stream Management, cudaStreamSynchronize: cudaErrorInvalidResourceHandle (400); "
        "RT Memory Management, cudaFree and cudaMemset: cudaErrorInvalidValue (1)",
        """
        left = free_bytes()
        error, p = malloc(64 << 20)
        s, e = stream(), event()
        assert rt.cudaDeviceReset() == 0
        assert rt.cudaFree(p) == 1
        assert rt.cudaMemset(p, 0, c_size_t(16)) == 1
        assert rt.cudaStreamSynchronize(s) == 400
        assert rt.cudaEventSynchronize(e) == 400
        assert free_bytes() == left
        assert malloc(4096)[0] == 0
        """,
    ),
    Fault(
        "a launch with a shape that no device has is an invalid configuration",
        "RT Data types, cudaErrorInvalidConfiguration (9)",
        """
        register()
        assert launch((1, 1, 1), (1024, 1, 1)) == 0
        for grid, block in (
            ((0, 1, 1), (1, 1, 1)),
            ((1, 1, 1), (0, 1, 1)),
            ((1, 1, 1), (1025, 1, 1)),
            ((1, 1, 1), (1, 1, 65)),
            ((1, 1, 1), (32, 32, 2)),
            ((1, 65536, 1), (1, 1, 1)),
            ((1, 1, 65536), (1, 1, 1)),
            ((2147483648, 1, 1), (1, 1, 1)),
        ):
            assert launch(grid, block) == 9, (grid, block)
            assert rt.cudaGetLastError() == 9
        """,
    ),
    Fault(
        "more shared memory than was asked for beforehand cannot be had",
        "RT Execution Control, cudaLaunchKernel: cudaErrorInvalidValue (1); CUDA C++ Programming "
        "Guide, Shared Memory of compute capability 9.0: above 48 KB only by cudaFuncSetAttribute",
        """
        register()
        assert launch((1, 1, 1), (32, 1, 1), shared=48 << 10) == 0
        assert launch((1, 1, 1), (32, 1, 1), shared=(48 << 10) + 1) == 1
        assert rt.cudaFuncSetAttribute(byref(kernel), 8, 227 << 10) == 0
        assert launch((1, 1, 1), (32, 1, 1), shared=227 << 10) == 0
        assert rt.cudaFuncSetAttribute(byref(kernel), 8, (227 << 10) + 1) == 1
        """,
    ),
    Fault(
        "a function that nobody registered cannot be launched",
        "RT Data types, cudaErrorInvalidDeviceFunction (98)",
        "assert launch((1, 1, 1), (1, 1, 1)) == 98",
    ),
    Fault(
        "a wait during a capture is refused and breaks the capture",
        "RT Data types, cudaErrorStreamCaptureUnsupported (900), "
        "cudaErrorStreamCaptureInvalidated (901); RT Stream Management, cudaStreamEndCapture",
        """
        s, g = stream(), c_void_p()
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaStreamQuery(s) == 900
        assert rt.cudaMemsetAsync(c_void_p(8), 0, c_size_t(4), s) == 901
        assert rt.cudaStreamEndCapture(s, byref(g)) == 901
        """,
    ),
    Fault(
        "work on another stream must come back before the capture ends",
        "RT Data types, cudaErrorStreamCaptureUnjoined (904)",
        """
        s, other, g, e = stream(), stream(), c_void_p(), event()
        error, p = malloc(4096)
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaEventRecord(e, s) == 0 and rt.cudaStreamWaitEvent(other, e, 0) == 0
        assert rt.cudaMemsetAsync(p, 0, c_size_t(4096), other) == 0
        assert rt.cudaStreamEndCapture(s, byref(g)) == 904
        """,
    ),
    Fault(
        "a stream that joined a capture cannot end it",
        "RT Data types, cudaErrorStreamCaptureUnmatched (903): not initiated in this stream",
        """
        s, other, g, e = stream(), stream(), c_void_p(), event()
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaEventRecord(e, s) == 0 and rt.cudaStreamWaitEvent(other, e, 0) == 0
        assert rt.cudaStreamEndCapture(other, byref(g)) == 903
        """,
    ),
    Fault(
        "two captures cannot be merged",
        "RT Data types, cudaErrorStreamCaptureMerge (902)",
        """
        a, b, e = stream(), stream(), event()
        assert rt.cudaStreamBeginCapture(a, 2) == 0 and rt.cudaStreamBeginCapture(b, 2) == 0
        assert rt.cudaEventRecord(e, a) == 0
        assert rt.cudaStreamWaitEvent(b, e, 0) == 902
        """,
    ),
    Fault(
        "the default stream cannot be captured",
        "RT Stream Management, cudaStreamBeginCapture: not on the legacy default stream; "
        "RT Data types, cudaErrorStreamCaptureUnsupported (900)",
        "free_bytes(); assert rt.cudaStreamBeginCapture(None, 2) == 900",
    ),
    Fault(
        "the default stream cannot be used while a blocking stream is captured",
        "RT Data types, cudaErrorStreamCaptureImplicit (906)",
        """
        error, p = malloc(4096)
        s = stream(flags=0)
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaMemsetAsync(p, 0, c_size_t(4096), None) == 906
        """,
    ),
    Fault(
        "a capture that is not relaxed ends in the thread that began it",
        "RT Data types, cudaErrorStreamCaptureWrongThread (908)",
        """
        s, g, seen = stream(), c_void_p(), []
        assert rt.cudaStreamBeginCapture(s, 1) == 0
        end = lambda: seen.append(rt.cudaStreamEndCapture(s, byref(g)))
        thread = threading.Thread(target=end)
        thread.start(); thread.join()
        assert seen == [908]
        """,
    ),
    Fault(
        "an event that was recorded in a capture cannot be waited for by the host",
        "RT Data types, cudaErrorCapturedEvent (907)",
        """
        s, e = stream(), event()
        assert rt.cudaStreamBeginCapture(s, 2) == 0
        assert rt.cudaEventRecord(e, s) == 0
        assert rt.cudaEventSynchronize(e) == 907
        """,
    ),
    Fault(
        "times between events need events that were recorded, with times",
        "RT Event Management, cudaEventElapsedTime: cudaErrorInvalidResourceHandle (400)",
        """
        ms, e, plain = ctypes.c_float(), event(), c_void_p()
        assert rt.cudaEventElapsedTime(byref(ms), e, e) == 400
        assert rt.cudaEventCreateWithFlags(byref(plain), 2) == 0
        assert rt.cudaEventRecord(plain, None) == 0 and rt.cudaEventRecord(e, None) == 0
        assert rt.cudaEventElapsedTime(byref(ms), e, plain) == 400
        assert rt.cudaEventElapsedTime(byref(ms), e, e) == 0
        """,
    ),
    Fault(
        "events and streams of two devices do not mix",
        "RT Event Management, cudaEventRecord: must be on the same CUDA context, "
        "cudaErrorInvalidResourceHandle (400)",
        """
        e, s = event(), stream()
        assert rt.cudaSetDevice(1) == 0
        assert rt.cudaEventRecord(e, None) == 400
        assert rt.cudaEventRecord(e, s) == 0
        """,
    ),
    Fault(
        "an event between processes keeps no times",
        "RT Event Management, cudaEventCreateWithFlags: cudaEventInterprocess must be specified "
        "along with cudaEventDisableTiming",
        """
        e, handle = c_void_p(), ctypes.create_string_buffer(64)
        free_bytes()
        assert rt.cudaEventCreateWithFlags(byref(e), 4) == 1
        assert rt.cudaEventCreateWithFlags(byref(e), 6) == 0
        assert rt.cudaIpcGetEventHandle(handle, e) == 0
        assert rt.cudaIpcGetEventHandle(handle, event()) == 1
        """,
    ),
    Fault(
        "memory is shared with another process, not with its own",
        "RT Device Management, cudaIpcOpenMemHandle: cudaErrorDeviceUninitialized (201) within one "
        "process; cudaIpcGetMemHandle: cudaErrorInvalidValue (1) for other memory",
        """
        class Handle(ctypes.Structure):
            _fields_ = [("reserved", ctypes.c_char * 64)]
        handle, q = Handle(), c_void_p()
        error, p = malloc(4096)
        assert rt.cudaIpcGetMemHandle(byref(handle), c_void_p(0x1234)) == 1
        assert rt.cudaIpcGetMemHandle(byref(handle), p) == 0
        assert rt.cudaIpcOpenMemHandle(byref(q), handle, 1) == 201
        assert rt.cudaIpcCloseMemHandle(p) == 1
        """,
    ),
    Fault(
        "a device that is not there is an invalid device",
        "RT Device Management, cudaSetDevice: cudaErrorInvalidDevice (101)",
        "assert rt.cudaSetDevice(2) == 101 and rt.cudaSetDevice(-1) == 101",
    ),
    Fault(
        "a child forked in the midst of calls has no device, and waits for nobody",
        "DR Data types, CUDA_ERROR_NOT_INITIALIZED (3): what the driver returns in a child of a "
        "process that uses it",
        """
        import signal
        error, held = malloc(4096)
        stop = threading.Event()
        register()
        def use():
            while not stop.is_set():
                rt.cudaFree(malloc(4096)[1])
                launch((1, 1, 1), (1, 1, 1))
        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        def child():
            signal.alarm(30)
            codes = [dr.cuInit(0), malloc(4096)[0], launch((1, 1, 1), (1, 1, 1)), rt.cudaFree(held),
                     rt.cudaDeviceSynchronize(), rt.cudaGetDeviceCount(byref(c_int()))]
            os._exit(0 if codes == [3] * len(codes) else 1)
        ends = []
        for _ in range(150):
            pid = os.fork()
            if pid == 0:
                child()
            ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        stop.set()
        for thread in threads:
            thread.join()
        assert set(ends) == {0}, ends
        assert malloc(4096)[0] == 0 and rt.cudaFree(held) == 0
        """,
    ),
    Fault(
        "in a forked child no call of the driver works but those that need no device",
        "DR Data types, CUDA_ERROR_NOT_INITIALIZED (3) and CUDA_ERROR_NOT_SUPPORTED (801)",
        """
        import subprocess
        path = next(p for p in paths if "libcuda.so" in p)
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True)
        names = [line.split()[-1] for line in listed.stdout.decode().splitlines()]
        free = ("cuGetErr", "cuGetProc", "cuGetExport", "cuDriverGet", "cuProfiler", "cuLogs",
                "cuModule", "cuLibrary", "cuKernel", "cuFunc")
        names = [n for n in names if n[:2] == "cu" and n[2].isupper() and not n.startswith(free)]
        assert len(names) > 100 and dr.cuInit(0) == 0
        reading, writing = os.pipe()
        if os.fork() == 0:
            for name in names:
                code = getattr(dr, name)(*[c_void_p()] * 12)
                os.write(writing, f"{name} {code};".encode() if code not in (3, 801) else b"")
            os.write(writing, b"all")
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert (said := pipe.read()) == "all", said
        os.wait()
        """,
    ),
    Fault(
        "NVML does not initialise CUDA and goes on in a forked child",
        "DR Initialization, cuInit: initialises the driver API; NVML API reference, nvmlInit: it "
        "initialises NVML, but no GPU",
        """
        ml = ctypes.CDLL(next(p for p in paths if "libnvidia-ml" in p))
        def device_count():
            count = c_uint()
            assert ml.nvmlInit_v2() == 0 and ml.nvmlDeviceGetCount_v2(byref(count)) == 0
            return count.value
        def in_child(check):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if check() else 1)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert device_count() == 2
        assert in_child(lambda: malloc(4096)[0] == 0)
        assert malloc(4096)[0] == 0
        assert in_child(lambda: malloc(4096)[0] == 3 and device_count() == 2)
        """,
    ),
)


@pytest.fixture(scope="module")
def outcomes(simgpu: SimulatedGpu) -> dict[str, str]:
    """What was wrong with each case, '' for nothing; each ran in a fork of one process."""
    cases = {fault.what: textwrap.dedent(fault.code) for fault in FAULTS}
    code = f"""
import json, os, sys, traceback
def run(code):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            exec({_PRELUDE!r} + code, {{}})
        except BaseException:
            os.write(writing, traceback.format_exc()[-2000:].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.wait()
    return said or ("" if status == 0 else f"ended with status {{status}}")
print(json.dumps({{what: run(code) for what, code in {cases!r}.items()}}))
"""
    done = simgpu.run([sys.executable, "-c", code], device="h200x2")
    assert done.returncode == 0, done.stderr
    told: dict[str, str] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_fault_has_the_documented_code(outcomes: dict[str, str], fault: Fault) -> None:
    source = textwrap.dedent(fault.code)
    assert outcomes[fault.what] == "", f"{fault.documented}\n{source}\n{outcomes[fault.what]}"

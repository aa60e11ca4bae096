"""Faults with memory and launches."""

from __future__ import annotations

from fault_cases import Fault

MEMORY_FAULTS = (
    Fault(
        "the last granule can be had and the next one not",
        "RT Memory Management, cudaMalloc: cudaErrorMemoryAllocation (2)",
        """
        left = free_bytes()
        rest = left % (2 << 20)
        error, p = malloc(left - rest)
        assert error == 0 and free_bytes() == rest
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
        shared_memory_mode = 17  # newer than CUDA 13.2: it could not take effect
        assert rt.cudaFuncSetAttribute(byref(kernel), shared_memory_mode, 3) == 1
        """,
    ),
    Fault(
        "a function that nobody registered cannot be launched",
        "RT Data types, cudaErrorInvalidDeviceFunction (98)",
        "assert launch((1, 1, 1), (1, 1, 1)) == 98",
    ),
)

"""Faults between processes and devices, and in forked children."""

from __future__ import annotations

from fault_cases import Fault

PROCESS_FAULTS = (
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

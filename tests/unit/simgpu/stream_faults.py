"""Faults with streams, events and captures."""

from __future__ import annotations

from fault_cases import Fault

STREAM_FAULTS = (
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
)

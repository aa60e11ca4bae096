"""What `oom`, `ledger`, `leaks`, `advise` and `whatif` print with ``--json``, as documents.

Fields: report/render/JSON.md. All raise ``peakline._report.TraceError`` with a sentence that says
what to do when the trace allows no answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peakline._report import Options


def oom_report(trace: str | Path, nth: int | None = None) -> dict[str, Any]:
    """Return why a device refused a request of a recorded program.

    Args:
        trace: the recording; it may still be written.
        nth: which refused request, from 1; None for the last one.
    """
    if nth is not None and nth < 1:
        raise ValueError(f"nth={nth}: requests are counted from 1")
    return _document(trace, "oom", {"at": "oom" if nth is None else f"oom@{nth}"})


def ledger(
    trace: str | Path, at: str | float = "peak", device: int | None = None
) -> dict[str, Any]:
    """Return what holds the whole device at a moment, and what cannot be explained.

    Args:
        trace: the recording; it may still be written.
        at: "peak", "end", "oom", seconds, or the name of a phase, as ``--at`` takes them.
        device: None for the one with the highest peak.
    """
    options: Options = {"at": at}
    if device is not None:
        options["device"] = device
    return _document(trace, "ledger", options)


def leaks(trace: str | Path, *, by: str = "line") -> dict[str, Any]:
    """Return what grows from step to step in a recorded program, by a key of ``--by``."""
    return _document(trace, "leaks", {"by": by})


def advise(trace: str | Path) -> dict[str, Any]:
    """Return what would lower the peak of a recorded program, and by how many bytes."""
    return _document(trace, "advise", {})


def whatif(
    trace: str | Path,
    settings: Sequence[str] = (),
    *,
    device_memory: int = 0,
    empty_cache_at: str | None = None,
    search: bool = False,
    smallest_device: bool = False,
    unverified: bool = False,
) -> dict[str, Any]:
    """Return what a recorded run would need under other settings of torch's allocator.

    Args:
        trace: the recording.
        settings: each as ``PYTORCH_CUDA_ALLOC_CONF`` takes it; the run under the recorded ones is
            there without being asked for.
        device_memory: bytes of the device; 0 for the recorded one.
        empty_cache_at: a phase that begins with ``torch.cuda.empty_cache()``.
        search: also try settings that help many programs.
        smallest_device: also find the smallest device each of the settings fits on.
        unverified: predict where the model does not make the recorded run again.
    """
    return _document(
        trace,
        "whatif",
        {
            "settings": list(settings),
            "device_memory": device_memory,
            "empty_cache_at": empty_cache_at,
            "search_settings": search,
            "smallest_device": smallest_device,
            "unverified": unverified,
        },
    )


def _document(trace: str | Path, name: str, options: Options) -> dict[str, Any]:
    return Recording(trace).document(name, **options)

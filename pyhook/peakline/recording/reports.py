"""The ``--json`` documents of `oom`, `ledger`, `leaks`, `advise` and `whatif`.

Fields: report/render/JSON.md. All raise ``peakline._report.TraceError``, with a sentence that
suggests a fix, if the trace allows no answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from peakline.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peakline._report import Options


def oom_report(trace: str | Path, nth: int | None = None) -> dict[str, Any]:
    """Return the reason why a device refused a request of a recorded program.

    Args:
        trace: the recording; it may still be written.
        nth: number of the refused request, from 1; None for the last one.
    """
    if nth is not None and nth < 1:
        raise ValueError(f"nth={nth}: requests are counted from 1")
    return _document(trace, "oom", {"at": "oom" if nth is None else f"oom@{nth}"})


def ledger(
    trace: str | Path, at: str | float = "peak", device: int | None = None
) -> dict[str, Any]:
    """Return the parts that fill the whole device at a moment, and the unexplained rest.

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
    """Return the growth from step to step in a recorded program, by a key of ``--by``."""
    return _document(trace, "leaks", {"by": by})


def advise(trace: str | Path) -> dict[str, Any]:
    """Return changes that would lower the peak of a recorded program, with their bytes."""
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
    """Return the memory that a recorded run would need under other settings of torch's allocator.

    Args:
        trace: the recording.
        settings: each as ``PYTORCH_CUDA_ALLOC_CONF`` takes it; the recorded settings are always
            included.
        device_memory: bytes of the device; 0 for the recorded one.
        empty_cache_at: a phase that begins with ``torch.cuda.empty_cache()``.
        search: also try settings that help many programs.
        smallest_device: also find the smallest device that fits under each of the settings.
        unverified: predict even if the model does not reproduce the recorded run.
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

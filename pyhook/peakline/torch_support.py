"""What the tracing API needs of torch. The only module of the package that imports it."""

from __future__ import annotations

import os

from peakline.native_build import TorchInstallation, ensure_torch_part


def prepare() -> None:
    """Load torch's CUDA libraries and build the part for this torch unless it is there.

    Raises:
        BuildError: the part cannot be built; recording then only observes.
    """
    import sys
    from pathlib import Path

    import torch

    installation = TorchInstallation(
        sys.executable, Path(torch.__file__).parent, str(torch.__version__)
    )
    os.environ.setdefault("PEAKLINE_TORCH_PART", str(ensure_torch_part(installation)))


def preloaded() -> bool:
    """Whether this process runs with peakline's preloaded bootstrap."""
    return "libpeakline_preload.so" in os.environ.get("LD_PRELOAD", "")


def initialise_cuda() -> None:
    """Initialise CUDA now, which brings the preloaded recorder up. No GPU: nothing happens."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.init()  # type: ignore[no-untyped-call,unused-ignore]

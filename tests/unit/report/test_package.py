"""The package: its names are there, though some are imported only when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import peakline
import pytest


def test_every_name_of_the_package_is_there() -> None:
    assert set(peakline.__all__) <= set(dir(peakline))
    values = [getattr(peakline, name) for name in peakline.__all__]
    assert None not in values
    assert isinstance(peakline.Recording, type)
    with pytest.raises(AttributeError, match="module 'peakline' has no attribute 'nothing'"):
        _ = peakline.nothing


def test_importing_the_package_imports_neither_torch_nor_what_reads_recordings() -> None:
    program = "import sys, peakline; print(*sorted(m for m in sys.modules if 'peakline' in m))"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; assert 'torch' not in sys.modules"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [
        "peakline",
        "peakline.api",
        "peakline.api.assumptions",
        "peakline.api.log",
        "peakline.api.tracing",
        "peakline.base",
        "peakline.base.output",
    ]

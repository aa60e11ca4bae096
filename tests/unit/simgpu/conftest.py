"""The simulated GPU, built as `peakline run --simulate` builds it.

PEAKLINE_SIMGPU_DIR names a build to use instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from simulated_gpu import PROGRAMS, ROOT, SimulatedGpu


@pytest.fixture(scope="session")
def simgpu() -> SimulatedGpu:
    if given := os.environ.get("PEAKLINE_SIMGPU_DIR"):
        return SimulatedGpu(Path(given))
    sys.path.insert(0, str(ROOT / "pyhook"))
    from peakline.builds.native_build import find_torch
    from peakline.builds.simulated_build import ensure_simulated_gpu

    return SimulatedGpu(ensure_simulated_gpu(find_torch(sys.executable)))


@pytest.fixture
def run_programs(simgpu: SimulatedGpu) -> Callable[..., str]:
    """Run programs one after the other in one process: importing torch takes seconds."""

    def run(*names: str, device: str = "h200", **more: str) -> str:
        # At the end torch's autograd thread needs the GIL once more: without a pause torch itself
        # may abort the process (see the README's limits).
        code = (
            "import runpy, sys, time\n"
            "for path in sys.argv[1:]: runpy.run_path(path, run_name='__main__')\n"
            "time.sleep(0.2)"
        )
        paths = [str(PROGRAMS / name) for name in names]
        done = simgpu.run([sys.executable, "-c", code, *paths], device, **more)
        assert done.returncode == 0, done.stderr[-3000:]
        assert "peakline simgpu" not in done.stderr, done.stderr[-3000:]
        finished = [line for line in done.stdout.split("\n") if line.startswith("ok")]
        assert len(finished) == len(names), done.stdout
        return done.stdout

    return run

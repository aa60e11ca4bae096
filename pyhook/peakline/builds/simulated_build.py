"""Builds the libraries of a simulated run: the simulated GPU, and parts compiled against torch."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peakline.base.output import say
from peakline.builds.build_cache import (
    BuildError,
    Wanted,
    digest_of,
    digest_of_compiler,
    ensure_built,
    find_built,
)
from peakline.builds.native_build import (
    TorchInstallation,
    compile_library,
    shipped_for,
    source_flags,
    source_root,
    wanted_library,
)
from peakline.builds.shipped import (
    BLANK_WEIGHTS,
    SIMULATED_GPU,
    VALUES_COMPANION,
    similar_simulated_gpu,
)

_COMPILER = "g++"  # that of build.py
_PROGRESS_SECONDS = 15


def ensure_simulated_gpu(torch: TorchInstallation) -> Path:
    """Build the simulated GPU for this torch's CUDA if it is missing; return its folder."""
    if found := _shipped_simulated_gpu(torch):
        return found
    return ensure_built(
        _simulated_gpu(torch), lambda into: _run_simulated_gpu_build(torch, into, "--no-audit")
    )


def has_simulated_gpu(torch: TorchInstallation) -> bool:
    """Return whether the simulated GPU for this torch is built."""
    return bool(_shipped_simulated_gpu(torch) or find_built(_simulated_gpu(torch)))


def _shipped_simulated_gpu(torch: TorchInstallation) -> Path | None:
    """Return the folder of the wheel for this torch; without a compiler, for a similar one."""
    if found := shipped_for(torch, SIMULATED_GPU):
        return found
    if shutil.which(_COMPILER) or not (found := similar_simulated_gpu(torch.site_packages)):
        return None
    _say_similar(found.parent.name.split("-")[0], torch.version)
    return found


@functools.cache
def _say_similar(built: str, version: str) -> None:
    say(
        f"peakline: this wheel has no simulated GPU for torch {version}, and there is no compiler "
        f"to build it: that for torch {built} is used (apt-get install g++ builds the exact one)"
    )


def audit_simulated_gpu(torch: TorchInstallation) -> str:
    """Return a list of torch's imported CUDA symbols and how the simulated GPU serves them.

    Raises:
        BuildError: a symbol is not served; the text names it.
    """
    return _run_simulated_gpu_build(torch, ensure_simulated_gpu(torch))


def ensure_values_companion(torch: TorchInstallation) -> Path:
    """Build the library that keeps small values correct on the simulated GPU, if it is missing."""
    if companion := shipped_for(torch, VALUES_COMPANION):
        return companion
    built = ensure_built(_values(torch), lambda into: _compile_companion(torch, into))
    return built / VALUES_COMPANION


def has_values_companion(torch: TorchInstallation) -> bool:
    """Return whether the library of ``ensure_values_companion()`` is built."""
    return bool(shipped_for(torch, VALUES_COMPANION) or find_built(_values(torch)))


def _values(torch: TorchInstallation) -> Wanted:
    folder = source_root() / "preload" / "simulate" / "companion"
    headers = ("preload/peakline_api.h", "preload/simulate/gpu/model/base/fork_safe_mutex.h")
    sources = [*sorted(folder.glob("*.cpp")), *sorted(folder.glob("*.h"))]
    sources += [source_root() / header for header in headers]
    what = f"the values of the simulated GPU for torch {torch.version} (once, about 30 s)"
    return _wanted_beside_torch("values-torch", torch, sources, what)


def ensure_blank_weights(torch: TorchInstallation) -> Path:
    """Return the library of `--blank-weights`, compiled for ``torch`` if needed.

    Raises:
        BuildError: it does not compile.
    """
    if library := shipped_for(torch, BLANK_WEIGHTS):
        return library
    sources = [source_root() / "preload" / "simulate" / "companion" / "blank_tensors.cpp"]
    what = f"blank weights for torch {torch.version} (once, about 20 s)"
    wanted = _wanted_beside_torch("blank-torch", torch, sources, what)
    built = ensure_built(wanted, lambda into: _compile_blank_weights(torch, into))
    return built / BLANK_WEIGHTS


def _simulated_gpu(torch: TorchInstallation) -> Wanted:
    folder = source_root() / "preload" / "simulate" / "gpu"
    patterns = ("**/*.cpp", "**/*.h", "generate/*.py", "build.py", "*.json")
    sources = sorted(file for pattern in patterns for file in folder.glob(pattern))
    return Wanted(
        name=f"simgpu-torch-{torch.version}",
        content=digest_of(torch.version, *_contents_of_wheels(torch.site_packages), files=sources),
        compiler=digest_of_compiler(_COMPILER),
        what=f"the simulated GPU for torch {torch.version} (once, about 2 minutes)",
    )


def _contents_of_wheels(site: Path) -> list[str]:
    """Return the headers and libraries of the wheels beside torch, with their hashes."""
    lines = []
    for wheel in sorted(site.glob("nvidia_*.dist-info")):
        lines.append(wheel.name)
        with contextlib.suppress(OSError):
            # Some other lines name paths of this environment and the installer, which must not
            # count.
            record = (wheel / "RECORD").read_text().splitlines()
            lines += sorted(line for line in record if re.match(r"nvidia/.*/(include|lib)/", line))
    return lines


def _wanted_beside_torch(
    name: str, torch: TorchInstallation, sources: list[Path], what: str
) -> Wanted:
    return wanted_library(name, torch, [Path(__file__), *sources], source_flags(torch), what)


def _run_simulated_gpu_build(torch: TorchInstallation, folder: Path, *options: str) -> str:
    """Run build.py; return its audit. Shows the progress of a long build."""
    script = str(source_root() / "preload" / "simulate" / "gpu" / "build.py")
    command = [sys.executable, script, "--python", torch.python, "--out", str(folder), *options]
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    with tempfile.TemporaryFile("w+") as errors:
        building = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        printed = _without_progress(building)
        errors.seek(0)
        complaints = errors.read()
    if building.returncode != 0:
        raise BuildError(
            f"the simulated GPU cannot be built for torch {torch.version}:",
            *(complaints or printed).strip()[-2000:].splitlines(),
        )
    return printed


def _without_progress(building: subprocess.Popen[str]) -> str:
    """Return what a running build.py prints, but for its lines of progress, which are shown."""
    sources = source_root() / "preload" / "simulate" / "gpu"
    total = sum(1 for _ in sources.rglob("*.cpp"))
    begin = shown = time.monotonic()
    compiled = 0
    printed = []
    assert building.stdout is not None
    for line in building.stdout:
        if not line.startswith("compiled "):
            printed.append(line)
            continue
        compiled = min(compiled + 1, total)  # some are generated, and one is compiled twice
        now = time.monotonic()
        if now - shown >= _PROGRESS_SECONDS:
            shown = now
            say(f"peakline:   {compiled} of {total} files compiled, {now - begin:.0f} s")
    building.wait()
    return "".join(printed)


def _compile_companion(torch: TorchInstallation, into: Path) -> None:
    folder = source_root() / "preload" / "simulate" / "companion"
    sources = sorted(path for path in folder.glob("*.cpp") if path.stem != "blank_tensors")
    built = into / VALUES_COMPANION
    # NDEBUG as in torch's own build: without it, its headers check fields that only debug builds
    # set.
    flags = [*source_flags(torch), "-DNDEBUG", f"-I{folder}"]
    compile_library(torch, sources, flags, built, ["-lc10", "-lc10_cuda", "-ltorch_cpu", "-ldl"])


def _compile_blank_weights(torch: TorchInstallation, into: Path) -> None:
    source = source_root() / "preload" / "simulate" / "companion" / "blank_tensors.cpp"
    built = into / BLANK_WEIGHTS
    flags = [*source_flags(torch), "-DNDEBUG"]
    compile_library(torch, [source], flags, built, ["-lc10", "-ltorch_cpu"])

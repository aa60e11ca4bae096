"""Finds torch without importing it, and builds the part that is compiled against it.

Two builds depend on the installed torch: the delegating allocator (a few seconds) and the simulated
GPU (about two minutes, simulated_build.py). Both are kept in the cache (build_cache.py), and
rebuilt when torch, the compiler or our sources change. Errors are :class:`BuildError` with the next
step.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from peakline.builds.build_cache import BuildError as BuildError
from peakline.builds.build_cache import (
    Wanted,
    digest_of,
    digest_of_compiler,
    ensure_built,
    find_built,
    point,
    recorder,
)
from peakline.builds.build_id import library_build
from peakline.builds.shipped import NATIVE_FOLDER as NATIVE_FOLDER
from peakline.builds.shipped import PACKAGE_FOLDER as PACKAGE_FOLDER
from peakline.builds.shipped import TORCH_PART, shipped

# Names that only some torch versions have; each becomes PEAKLINE_HAS_<name>.
_OPTIONAL_NAMES = (
    "allocateWithAddress",
    "annotateMemory",
    "attachOomRejectionObserver",
    "getContextForPointer",
    "getExpandableSegmentSizes",
    "getMemoryInfo",
    "include_traces",
    "markCaptureBegin",
    "pushCompileContext",
    "setNoSplit",
    "setUserMetadata",
    "skip_actions",
    "supportsUserMetadata",
)
# The default of this function calls the overload that we override.
_ALLOWED_BASE_SLOTS = ("c10::cuda::CUDACachingAllocator::CUDAAllocator::recordStream",)

_FIND_TORCH = """
import importlib.util, json, sys
spec = importlib.util.find_spec("torch")
where = spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else ""
print(json.dumps({"torch": where}))
"""


@dataclass(frozen=True)
class TorchInstallation:
    """An installed torch: its interpreter, its folder and its full version."""

    python: str
    folder: Path
    version: str

    @property
    def site_packages(self) -> Path:
        """The folder that holds torch and the nvidia wheels."""
        return self.folder.parent

    @property
    def cuda_version(self) -> str:
        """CUDA version of the wheel, for example "13.0"; "" for a build without CUDA."""
        for line in (self.folder / "version.py").read_text().splitlines():
            if line.startswith("cuda") and "=" in line:
                value = line.split("=", 1)[1].strip()
                return "" if value == "None" else value.strip("'\"")
        return ""


def source_root() -> Path:
    """Return the folder with allocator/ and preload/: the checkout, or the copy in the wheel."""
    shipped = NATIVE_FOLDER / "src"
    return shipped if shipped.is_dir() else PACKAGE_FOLDER.parent.parent


def find_torch(python: str | None = None) -> TorchInstallation:
    """Return the torch of an interpreter (default: this one) without importing it."""
    python = python or sys.executable
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    try:
        result = subprocess.run(
            [python, "-c", _FIND_TORCH],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{python} cannot be run: {error.strerror}") from None
    if result.returncode != 0:
        raise BuildError(f"{python} cannot be run:", *result.stderr.strip().splitlines())
    folder = json.loads(result.stdout)["torch"]
    if not folder:
        raise BuildError(f"{python} has no torch: install it there, or name another with --python")
    return installation_in(Path(folder), python)


def installation_in(folder: Path, python: str) -> TorchInstallation:
    """Return the torch in a folder, which this interpreter uses."""
    version_file = folder / "version.py"
    for line in version_file.read_text().splitlines():
        if line.startswith("__version__"):
            version = line.split("=", 1)[1].strip().strip("'\"")
            return TorchInstallation(python, folder, version)
    raise BuildError(f"{version_file} names no version: is this torch complete?")


def torch_build(torch: TorchInstallation) -> str:
    """Return a name for the build of this torch: one version may have several builds."""
    return library_build(torch.folder / "lib" / "libc10_cuda.so")


def shipped_for(torch: TorchInstallation, name: str) -> Path | None:
    """Return what the wheel has under this name for this build of torch, or None."""
    return shipped(name, torch.version, torch_build(torch))


def ensure_torch_part(torch: TorchInstallation) -> Path:
    """Build the delegating allocator for this torch if it is missing; return its path."""
    if part := shipped_for(torch, TORCH_PART):
        return part
    folder = ensure_built(_torch_part(torch), lambda into: _compile_torch_part(torch, into))
    part = folder / TORCH_PART
    point(recorder().torch_part_name(torch.version, torch_build(torch)), part)
    return part


def has_torch_part(torch: TorchInstallation) -> bool:
    """Return whether the delegating allocator for this torch is built."""
    return shipped_for(torch, TORCH_PART) is not None or find_built(_torch_part(torch)) is not None


def _torch_part(torch: TorchInstallation) -> Wanted:
    sources = sorted((source_root() / "allocator" / "torch").iterdir())
    record = source_root() / "allocator" / "record"
    sources += [record / "trace_format.h", *sorted((record / "format").iterdir())]
    what = f"the allocator part for torch {torch.version} (once, about 10 s)"
    return wanted_library("torch", torch, sources, torch_part_flags(torch), what)


def wanted_library(
    name: str, torch: TorchInstallation, sources: list[Path], flags: list[str], what: str
) -> Wanted:
    """Return the cache entry of a library that is compiled against torch."""
    headers = [folder / "cuda_runtime_api.h" for folder in _header_folders(torch)]
    headers += _allocator_headers(torch)
    # Environments with the same content have different paths, so paths do not count.
    texts = [torch.version, torch_build(torch), *(flag for flag in flags if "/" not in flag)]
    return Wanted(
        name=f"{name}-{torch.version}",
        content=digest_of(*texts, files=[Path(__file__), *sources, *headers]),
        compiler=digest_of_compiler(*_compiler_words()),
        what=what,
    )


def _header_folders(torch: TorchInstallation) -> list[Path]:
    include = torch.folder / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include"]
    nvidia = torch.site_packages / "nvidia"
    candidates = [*sorted(nvidia.glob("cu*/include")), nvidia / "cuda_runtime" / "include"]
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    candidates += [Path(root) / "include" for root in roots if root]
    for folder in candidates:
        if (folder / "cuda_runtime_api.h").exists():
            folders.append(folder)
            if not (folder / "crt" / "host_defines.h").exists():
                folders.append(source_root() / "preload" / "simulate" / "gpu" / "headers")
            break
    else:
        raise BuildError(
            f"no cuda_runtime_api.h beside torch {torch.version} ({nvidia}): "
            "install nvidia-cuda-runtime for its CUDA version, or set CUDA_HOME"
        )
    return folders


def _allocator_headers(torch: TorchInstallation) -> list[Path]:
    include = torch.folder / "include" / "c10"
    names = ("cuda/CUDACachingAllocator.h", "core/CachingDeviceAllocator.h")
    return [include / name for name in names if (include / name).exists()]


def _feature_macros(torch: TorchInstallation) -> list[str]:
    text = "".join(file.read_text() for file in _allocator_headers(torch))
    return [f"-DPEAKLINE_HAS_{name}" for name in _OPTIONAL_NAMES if name in text]


def torch_part_flags(torch: TorchInstallation) -> list[str]:
    """Return the compiler flags of the delegating allocator's sources; linters use them, too."""
    build = f'-DPEAKLINE_TORCH_BUILD="{torch_build(torch)}"'
    return [*source_flags(torch), "-g", build, *_feature_macros(torch)]


def _compile_torch_part(torch: TorchInstallation, into: Path) -> None:
    flags = torch_part_flags(torch)
    folder = source_root() / "allocator" / "torch"
    sources = [
        folder / f"{name}.cpp"
        for name in (
            "delegate",
            "gradients",
            "held_graphs",
            "install",
            "layouts",
            "observe",
            "pluggable_install",
            "routing",
            "tensor_types",
        )
    ]
    libraries = ["-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda"]
    with tempfile.TemporaryDirectory() as scratch:
        classes = Path(scratch, "delegate.class")
        dump = ["-fsyntax-only", f"-fdump-lang-class={classes}", str(sources[0])]
        _run([*_compiler(), *flags, *dump], torch)
        _check_every_slot_is_ours(classes, torch)
    compile_library(torch, sources, flags, into / TORCH_PART, libraries)


def _compiler_words() -> list[str]:
    """Return the compiler as words of a command: CXX may be "ccache g++"."""
    return shlex.split(os.environ.get("CXX", "")) or ["g++"]


def _compiler() -> list[str]:
    words = _compiler_words()
    if shutil.which(words[0]) is None:
        raise BuildError(f"no C++ compiler ({words[0]}): apt-get install g++, or set CXX")
    return words


def source_flags(torch: TorchInstallation) -> list[str]:
    """Return the compiler flags of every source that includes headers of torch."""
    flags = ["-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", f"-I{source_root()}"]
    return [
        *flags,
        *(part for folder in _header_folders(torch) for part in ("-isystem", str(folder))),
    ]


def compile_library(
    torch: TorchInstallation,
    sources: list[Path],
    flags: list[str],
    built: Path,
    libraries: list[str],
) -> None:
    """Compile ``sources`` into the shared library ``built``."""
    compiler = _compiler()
    with tempfile.TemporaryDirectory(dir=built.parent) as scratch:
        objects = [Path(scratch, f"{source.stem}.o") for source in sources]
        commands = [
            [*compiler, *flags, "-c", str(source), "-o", str(made)]
            for source, made in zip(sources, objects, strict=True)
        ]
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda command: _run(command, torch), commands))
        folder = f"-L{torch.folder / 'lib'}"
        command = [*compiler, "-shared", "-o", str(built), *map(str, objects), folder, *libraries]
        # For a wheel: the libraries of old systems.
        _run([*command, *os.environ.get("PEAKLINE_LINK_LAST", "").split()], torch)


def _run(command: list[str], torch: TorchInstallation) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError(
            f"the part for torch {torch.version} does not compile ({' '.join(command[:1])}):",
            *result.stderr.strip()[:2000].splitlines(),
            "Recording still works with --backend observe.",
        )


def _check_every_slot_is_ours(class_dump: Path, torch: TorchInstallation) -> None:
    """Raise an error for a virtual function of this torch that the delegate does not forward."""
    name = "peakline::torch_part::Delegate"
    table = class_dump.read_text().split(f"Vtable for {name}\n", 1)[1].split("\n\n", 1)[0]
    entries = [line.split("(int (*)(...))", 1)[1] for line in table.splitlines() if "(*)" in line]
    functions = [entry for entry in entries if "::" in entry and not entry.startswith("(& _ZTI")]
    if not functions:
        raise BuildError(f"the delegate's function table cannot be read in {class_dump}")
    missing = [
        entry
        for entry in functions
        if not entry.startswith(f"{name}::") and entry not in _ALLOWED_BASE_SLOTS
    ]
    if missing:
        raise BuildError(
            f"torch {torch.version} has virtual functions that the delegating allocator does not "
            f"forward: {', '.join(missing)}. Use --backend observe until it does."
        )

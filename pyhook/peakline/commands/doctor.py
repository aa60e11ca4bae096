"""``peakline doctor``: checks which features work on this machine, and explains failures."""

from __future__ import annotations

import argparse
import ctypes
import platform
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path

from peakline.base.engine import CommandError, recorder
from peakline.base.output import write_json, write_lines
from peakline.builds.build_cache import cache_folder
from peakline.builds.native_build import (
    NATIVE_FOLDER,
    BuildError,
    TorchInstallation,
    ensure_torch_part,
    find_torch,
    has_torch_part,
)
from peakline.builds.simulated_build import (
    audit_simulated_gpu,
    ensure_simulated_gpu,
    ensure_values_companion,
    has_simulated_gpu,
    has_values_companion,
)
from peakline.commands.running.program_options import add_python_argument

NAME = "doctor"
HELP = "Show what works on this machine, what does not, and why."
EXAMPLES = "peakline doctor --build"
_OF_DEVELOPERS = ("demo", "docs", "test")  # extras that no command needs


@dataclass(frozen=True)
class Finding:
    """One line of the doctor: a subject, whether it is fine, and the evidence."""

    subject: str
    ok: bool
    detail: str
    needed: bool = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``peakline doctor``."""
    parser.add_argument("--build", action="store_true", help="Build what is missing for this torch")
    parser.add_argument("--json", action="store_true", help="Print JSON")
    add_python_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Print the findings. Returns 0 if everything required works, else 1."""
    findings = list(examine(args.python or None, build=args.build))
    if args.json:
        write_json([asdict(finding) for finding in findings], indent=2)
    else:
        for finding in findings:
            mark = "ok  " if finding.ok else ("FAIL" if finding.needed else "no  ")
            write_lines(f"{mark}  {finding.subject:<16}  {finding.detail}")
        if args.build:
            print_audit(args.python or None)
    return 0 if all(finding.ok or not finding.needed for finding in findings) else 1


def print_audit(python: str | None) -> None:
    """Print how the simulated GPU serves the CUDA symbols of this torch."""
    try:
        lines = audit_simulated_gpu(find_torch(python)).rstrip("\n").splitlines()
    except BuildError:
        return  # reported as a finding
    head = "The simulated GPU's audit: CUDA symbols torch imports, and how they are served"
    write_lines("", head, *lines)


def examine(python: str | None, *, build: bool) -> list[Finding]:
    """Check everything that recording needs. With ``build``, build missing parts."""
    findings = [_native_libraries(), _interpreter()]
    try:
        torch = find_torch(python)
    except BuildError as error:
        return [*findings, _compiler(needed=True), Finding("torch", False, str(error))]
    cuda = torch.cuda_version
    detail = f"{torch.version} in {torch.folder}"
    findings.append(Finding("torch", bool(cuda), detail if cuda else f"{detail}: without CUDA"))
    parts = [
        _part("allocator part", torch, ensure_torch_part if build else has_torch_part),
        _part("simulated GPU", torch, ensure_simulated_gpu if build else has_simulated_gpu),
    ]
    findings.append(_compiler(needed=not all(part.ok for part in parts)))
    values = ensure_values_companion if build else has_values_companion
    parts.append(replace(_part("simulated values", torch, values), needed=False))
    return [*findings, *parts, _cache(), _gpu(), _source_lines(), *_extras()]


def _native_libraries() -> Finding:
    names = ("libpeakline.so", "libpeakline_preload.so")
    missing = [name for name in names if not (NATIVE_FOLDER / name).exists()]
    if missing:
        return Finding("recorder", False, f"{', '.join(missing)} missing in {NATIVE_FOLDER}")
    try:
        ctypes.CDLL(str(NATIVE_FOLDER / "libpeakline.so"))
    except OSError as error:
        return Finding("recorder", False, str(error))
    return Finding("recorder", True, str(NATIVE_FOLDER))


def _compiler(*, needed: bool) -> Finding:
    found = shutil.which("g++")
    missing = "no g++: apt-get install g++" if needed else "no g++; none is needed for this torch"
    return Finding("compiler", found is not None, found or missing, needed)


def _interpreter() -> Finding:
    text = f"{platform.python_implementation()} {platform.python_version()}"
    try:
        known = sys.version_info[:2] in recorder().PYTHON_VERSIONS
    except CommandError as error:
        return Finding("Python stacks", False, str(error))
    return Finding(
        "Python stacks", known, text if known else f"{text} is not supported: native stacks only"
    )


def _part(
    subject: str, torch: TorchInstallation, get: Callable[[TorchInstallation], Path | bool]
) -> Finding:
    """Build a part, or ask whether it is built."""
    try:
        found = get(torch)
    except BuildError as error:
        return Finding(subject, False, str(error))
    if isinstance(found, Path):
        return Finding(subject, True, str(found))
    later = "not built yet (done on first use, or by peakline doctor --build)"
    return Finding(subject, found, "built" if found else later, needed=False)


def _cache() -> Finding:
    try:
        return Finding("compiled parts", True, str(cache_folder()), needed=False)
    except BuildError as error:
        return Finding("compiled parts", False, str(error), needed=False)


def _source_lines() -> Finding:
    """Return whether C++ functions are shown with their lines."""
    try:
        ctypes.CDLL("libdw.so.1")
    except OSError:
        detail = "no libdw: C++ functions have no lines; apt-get install libdw1"
        return Finding("C++ lines", False, detail, needed=False)
    return Finding("C++ lines", True, "libdw", needed=False)


def _extras() -> list[Finding]:
    """Return a line for each extra of which a package is missing."""
    try:
        required = metadata.requires("peakline") or []
    except metadata.PackageNotFoundError:
        return []
    missing: dict[str, list[str]] = {}
    for line in required:
        extra = re.search(r"""extra == ['"](\w+)['"]""", line)
        package = re.split(r"[\s\[;<>=!~]", line)[0]
        if extra and extra[1] not in _OF_DEVELOPERS and not _is_installed(package):
            missing.setdefault(extra[1], []).append(package)
    return [
        Finding(
            extra,
            False,
            f"{', '.join(packages)} missing: pip install 'peakline[{extra}]'",
            needed=False,
        )
        for extra, packages in missing.items()
    ]


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _gpu() -> Finding:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        detail = "no NVIDIA driver on this machine: peakline run --simulate h200 SCRIPT"
        return Finding("GPU", False, detail, needed=False)
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return Finding("GPU", False, "the NVIDIA driver finds no GPU", needed=False)
    return Finding("GPU", count.value > 0, f"{count.value} device(s)", needed=False)

"""Packaging: `pip install .` compiles the native libraries with make and ships their sources too.

The sources go along because two parts are compiled against the user's torch when they are first
needed (see pyhook/peakline/builds/native_build.py).
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent
SHIPPED_SOURCES = (
    "allocator/torch",
    "allocator/record/format",
    "preload/peakline_api.h",
    "preload/simulate",
)
# Their code is in the libraries of the wheel.
LINKED_LIBRARIES = ("libunwind-dev", "libxxhash-dev", "libzstd-dev")


# Commands that fail where `make native` would, each with the Debian package that mends it.
NEEDED = (
    (("g++", "--version"), "g++"),
    (("make", "--version"), "make"),
    (("g++", "-E", "-include", "libunwind.h", "-x", "c++", os.devnull), "libunwind-dev"),
    (("g++", "-E", "-include", "xxhash.h", "-x", "c++", os.devnull), "libxxhash-dev"),
    (("g++", "-E", "-include", "zstd.h", "-x", "c++", os.devnull), "libzstd-dev"),
)


def check_needs() -> None:
    """Stop with the command to type where this machine cannot compile.

    Raises:
        SystemExit: something is missing.
    """
    missing = [package for command, package in NEEDED if not succeeds(command)]
    if not Path(sysconfig.get_paths()["include"], "Python.h").is_file():
        missing.append("python3-dev")
    if missing:
        raise SystemExit(
            f"peakline is compiled on this machine, which lacks {', '.join(missing)}.\n"
            "On Debian and Ubuntu type this, and then the last command again:\n"
            f"    sudo apt-get install -y {' '.join(missing)}"
        )


def succeeds(command: tuple[str, ...]) -> bool:
    """Return whether a command is there and succeeds."""
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


class BuildWithNative(build_py):
    """Compiles first, then collects; an editable install needs no copy of the sources."""

    def run(self) -> None:
        """Run make, collect the package, add the sources and the licences of what is in it."""
        compiled = os.environ.get("PEAKLINE_COMPILED", "")  # set by make, which compiles itself
        if not compiled:
            check_needs()
            command = ["make", "-s", f"-j{os.cpu_count()}", "native", f"PYTHON={sys.executable}"]
            subprocess.run(command, cwd=ROOT, check=True)
        is_copy = not getattr(self, "editable_mode", False)
        package = Path(self.build_lib) / "peakline"
        if is_copy:  # files of an earlier build would be in this one
            shutil.rmtree(package, ignore_errors=True)
        super().run()
        if is_copy:
            native = package / "_native"
            if compiled:
                shutil.copytree(compiled, package, dirs_exist_ok=True)
            self.copy_sources(native / "src")
            self.copy_licences(native / "licences")

    def copy_sources(self, target: Path) -> None:
        """Copy what is compiled on the user's machine."""
        for name in SHIPPED_SOURCES:
            source = ROOT / name
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, target / name, dirs_exist_ok=True, ignore=ignored)
            else:
                shutil.copy2(source, target / name)

    def copy_licences(self, target: Path) -> None:
        """Copy the licences of the libraries that are in ours, as this system's packages have them.

        Raises:
            FileNotFoundError: a package keeps its licence elsewhere; the text says where it was
                looked for.
        """
        target.mkdir(parents=True, exist_ok=True)
        for package in LINKED_LIBRARIES:
            folders = [Path("/usr/share/doc") / package, Path("/usr/share/licenses") / package]
            names = ("copyright", "COPYING", "LICENSE")
            found = [f / name for f in folders for name in names if (f / name).is_file()]
            if not found:
                looked = ", ".join(str(folder) for folder in folders)
                raise FileNotFoundError(f"the licence of {package} is not in {looked}")
            shutil.copy2(found[0], target / f"{package}.txt")


class LimitedApiWheel(bdist_wheel):
    """One wheel for CPython 3.10 and later: the extension modules use the limited API."""

    def get_tag(self) -> tuple[str, str, str]:
        """Return the tag; the platform is this machine's."""
        return "cp310", "abi3", super().get_tag()[2]


class NativeDistribution(Distribution):
    """Says that the wheel is not pure Python."""

    def has_ext_modules(self) -> bool:
        """Return True: the shared libraries are made by make, not by setuptools."""
        return True


setup(
    cmdclass={"build_py": BuildWithNative, "bdist_wheel": LimitedApiWheel},
    distclass=NativeDistribution,
)

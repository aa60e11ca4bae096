"""Makes the folder that checks peakline on a machine with a GPU: `make gpu-bundle OUT=dir`.

    python tests/gpu/bundle.py OUT [--python 3.12]

There is no network where it is used, so it holds everything but the driver, torch, Python and g++:

    gpu-check.sh   what is typed there
    wheels/        peakline and the Python packages of its tests
    libraries/     Debian's libraries that peakline needs and the wheel does not hold
    source/        tests and examples; built/ holds what the benchmarks preload
    manifest.json  the commit and every file's size
"""

from __future__ import annotations

import argparse
import fcntl
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("rich", "pytest", "pycparser")
LIMIT_BYTES = 40 << 20
# Every Linux with g++ has these.
ALWAYS_THERE = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux.*)\.so")
# pyhook/ is where the wheel goes; these tests need no device.
LEFT_OUT = ("pyhook/", "tests/unit/", "tests/fuzz/", "tests/data/", "tests/torture/")


def build_wheel(folder: Path) -> Path:
    """Return peakline's wheel, built of this checkout."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check"]
    options = ["--no-build-isolation", "--no-deps", "--no-index", "-w", str(folder)]
    # setuptools copies by way of the checkout's build folder: one at a time.
    with (build / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([*command, *options, str(ROOT)], check=True)
    return next(folder.glob("peakline-*.whl"))


def download_packages(folder: Path, python: str) -> None:
    """Put what the tests import, and what that needs, into `folder`."""
    target = ["--python-version", python, "--platform", "manylinux2014_x86_64"]
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
    options = ["--only-binary=:all:", *target, "-d", str(folder)]
    subprocess.run([*command, *options, *PACKAGES], check=True)


def needed_libraries(library: Path) -> list[str]:
    """What a shared library asks the loader for."""
    text = subprocess.run(
        ["readelf", "-d", str(library)], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def path_of(library: str) -> Path:
    """Where this machine's compiler finds a library.

    Raises:
        SystemExit: it finds none.
    """
    found = subprocess.run(
        ["g++", f"-print-file-name={library}"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if "/" not in found:
        sys.exit(f"gpu-bundle: peakline needs {library}, and g++ does not find it here")
    return Path(found).resolve()


def collect_libraries(wheel: Path, folder: Path) -> None:
    """Put the libraries that are neither in the wheel nor on every machine into `folder`."""
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        libraries = [path for path in Path(unpacked).rglob("*.so*") if path.is_file()]
        present = {path.name for path in libraries}
        while libraries:
            for name in needed_libraries(libraries.pop()):
                if name not in present and not ALWAYS_THERE.match(name):
                    shutil.copy2(path_of(name), folder / name)
                    libraries.append(folder / name)
                    present.add(name)


def copy_source(folder: Path) -> None:
    """Copy the files of the checkout that the checks use."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in listed.split("\0"):
        if name and not name.startswith(LEFT_OUT) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    switch = Path("build/librecording_switch.so")
    (folder / switch).parent.mkdir()
    shutil.copy2(ROOT / switch, folder / switch)


def write_manifest(out: Path) -> int:
    """List what was put there; return its size in bytes."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    files = sorted(path for path in out.rglob("*") if path.is_file())
    sizes = {str(path.relative_to(out)): path.stat().st_size for path in files}
    document = {"commit": commit or "unknown", "files": sizes}
    (out / "manifest.json").write_text(json.dumps(document, indent=1) + "\n")
    return sum(sizes.values())


def main() -> int:
    """Make the folder and say how large it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--python", default="3.12", help="version of Python on the other machine")
    arguments = parser.parse_args()
    out: Path = arguments.out
    if out.exists() and any(out.iterdir()):
        print(f"gpu-bundle: {out} is not empty: name another folder", file=sys.stderr)
        return 2
    wheels, libraries = out / "wheels", out / "libraries"
    for folder in (wheels, libraries):
        folder.mkdir(parents=True)
    collect_libraries(build_wheel(wheels), libraries)
    download_packages(wheels, arguments.python)
    copy_source(out / "source")
    shutil.copy2(ROOT / "tests" / "gpu" / "gpu-check.sh", out / "gpu-check.sh")
    size = write_manifest(out)
    print(f"Wrote {out}: {size / 1e6:.1f} MB. On the machine with the GPU: ./gpu-check.sh")
    if size > LIMIT_BYTES:
        print(f"gpu-bundle: more than {LIMIT_BYTES >> 20} MiB; what is large?", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

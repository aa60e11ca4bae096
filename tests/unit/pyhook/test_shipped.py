"""A wheel's libraries: made for old systems, found for their build of torch, used before others."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from interpreters import ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

from peakline.builds import native_build, shipped, simulated_build  # noqa: E402
from peakline.builds.native_build import TorchInstallation  # noqa: E402

LINKED = r"""
#include <sys/stat.h>
#include <pthread.h>
#include <cmath>
#include <vector>
extern "C" double used(const char* path, double base, int count) {
    struct stat facts;
    pthread_t self = pthread_self();
    std::vector<double>* many = new std::vector<double>[count];  // __throw_bad_array_new_length
    many[0].push_back(std::pow(base, static_cast<double>(self)) + stat(path, &facts));
    return many[0][0] + static_cast<double>(facts.st_size);
}
"""


@pytest.fixture(scope="module")
def old() -> ModuleType:
    """Return the script that makes stubs of old libraries."""
    spec = importlib.util.spec_from_file_location(
        "old_libraries", ROOT / ".ci" / "wheel" / "old_libraries.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stubs(old: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("old")
    subprocess.run([sys.executable, old.__file__, str(out)], check=True)
    return out


def link(stubs: Path, folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / "linked.cpp").write_text(source)
    command = ["g++", "-O1", "-fPIC", "-shared", "-Wl,-z,defs", "-o", str(folder / "linked.so")]
    command += [str(folder / "linked.cpp"), f"@{stubs / 'link_cxx.txt'}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def newest_versions(library: Path) -> dict[str, tuple[int, ...]]:
    listed = subprocess.run(
        ["readelf", "-V", str(library)], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, tuple[int, ...]] = {}
    for family, numbers in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI)_([\d.]+)", listed):
        version = tuple(map(int, numbers.split(".")))
        found[family] = max(found.get(family, ()), version)
    return found


def test_a_library_of_a_wheel_runs_on_old_systems(
    old: ModuleType, stubs: Path, tmp_path: Path
) -> None:
    linked = link(stubs, tmp_path, LINKED)
    assert linked.returncode == 0, linked.stderr
    newest = newest_versions(tmp_path / "linked.so")
    assert set(newest) >= {"GLIBC", "GLIBCXX"}
    assert all(version <= old.NEWEST[family] for family, version in newest.items()), newest
    # And here, with the C library of this machine: stat() is the library's own.
    probe = (
        "import ctypes, sys; used = ctypes.CDLL(sys.argv[1]).used; used.restype = ctypes.c_double;"
        "print(used(sys.argv[1].encode(), ctypes.c_double(1), 1))"
    )
    command = [sys.executable, "-c", probe, str(tmp_path / "linked.so")]
    size = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert size == (tmp_path / "linked.so").stat().st_size + 1


def test_a_name_that_old_systems_lack_is_an_error_of_the_linker(
    stubs: Path, tmp_path: Path
) -> None:
    linked = link(stubs, tmp_path, "#include <cstdlib>\nint used() { return arc4random(); }\n")
    assert linked.returncode != 0
    assert "undefined reference to `arc4random'" in linked.stderr


def make_wheel_folder(built: Path, torch: str, names: str) -> Path:
    folder = built / f"{torch}-b1" / "simulated"
    folder.mkdir(parents=True)
    (folder / "preload.txt").write_text(names)
    return folder


def site_with(folder: Path, *libraries: str) -> Path:
    (folder / "nvidia" / "cuda" / "lib").mkdir(parents=True)
    for name in libraries:
        (folder / "nvidia" / "cuda" / "lib" / name).touch()
    return folder


def test_a_similar_simulated_gpu_is_of_the_same_major_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tmp_path / "built"
    monkeypatch.setattr(shipped, "BUILT_FOLDER", built)
    site = site_with(tmp_path / "site", "libcudart.so.13", "libcudnn.so.9")
    assert shipped.similar_simulated_gpu(site) is None
    make_wheel_folder(built, "2.20.0+cu121", "libcuda.so.1\nlibcudart.so.12\nlibcudnn.so.9\n")
    assert shipped.similar_simulated_gpu(site) is None
    older = make_wheel_folder(built, "2.9.0+cu130", "libcuda.so.1\nlibcudart.so.13\n")
    assert shipped.similar_simulated_gpu(site) == older
    newer = make_wheel_folder(built, "2.15.0+cu132", "libcuda.so.1\nlibcudart.so.13\n")
    assert shipped.similar_simulated_gpu(site) == newer
    assert shipped.similar_simulated_gpu(tmp_path) is None, "no libraries to compare with"


def test_parts_of_the_wheel_need_no_headers_and_no_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "BUILT_FOLDER", tmp_path / "built")
    monkeypatch.setenv("CXX", str(tmp_path / "no-compiler"))
    monkeypatch.setenv("PEAKLINE_CACHE_DIR", str(tmp_path / "cache"))
    torch = TorchInstallation(sys.executable, tmp_path / "torch", "2.15.0+cu132")
    library = site_with(tmp_path, "libcudart.so.13") / "torch" / "lib" / "libc10_cuda.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no build id")
    folder = tmp_path / "built"
    folder /= shipped.folder_name(torch.version, native_build.torch_build(torch))
    folder.mkdir(parents=True)
    with pytest.raises(native_build.BuildError):
        native_build.ensure_torch_part(torch)
    for name in (shipped.TORCH_PART, shipped.VALUES_COMPANION, shipped.BLANK_WEIGHTS):
        (folder / name).touch()
    (folder / shipped.SIMULATED_GPU).mkdir()
    assert native_build.has_torch_part(torch) and simulated_build.has_simulated_gpu(torch)
    assert native_build.ensure_torch_part(torch) == folder / shipped.TORCH_PART
    assert simulated_build.ensure_values_companion(torch) == folder / shipped.VALUES_COMPANION
    assert simulated_build.ensure_blank_weights(torch) == folder / shipped.BLANK_WEIGHTS
    assert simulated_build.ensure_simulated_gpu(torch) == folder / shipped.SIMULATED_GPU
    library.write_bytes(b"another build of the same version")
    with pytest.raises(native_build.BuildError):
        native_build.ensure_torch_part(torch)

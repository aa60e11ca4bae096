"""A trace read where the libraries of the recording are not: names come from a folder that is told.

The program's site-packages are a link, which goes away before the trace is read.
"""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest
from conftest import ROOT, Lab

TORCH_CPU = "torch/lib/libtorch_cpu.so"


@pytest.fixture(scope="module")
def moved(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A trace, where its libraries were when it was recorded, and where they are now."""
    packages = Path(sysconfig.get_paths()["purelib"])
    if not (packages / TORCH_CPU).exists():
        pytest.skip("torch is not in this interpreter's own site-packages")
    link = tmp_path_factory.mktemp("elsewhere") / "site-packages"
    link.symlink_to(packages)
    path = {"PYTHONPATH": f"{ROOT / 'pyhook'}:{link}"}
    run = lab.run("train_model.py", "transformer", environment=path)
    assert run.status == 0, run.stderr
    link.unlink()
    return run.trace, link, packages


def operators(lab: Lab, trace: Path, *options: str) -> tuple[set[str], int]:
    """Rows of --by op, and how many libraries could not be matched."""
    stats = json.loads(lab.report("stats", trace, "--json", "--by", "op", *options))
    return {row["key"] for row in stats["by_bytes"]}, stats["unmatched_modules"]


def test_without_the_libraries_a_report_says_what_to_do(lab: Lab, moved) -> None:
    trace, _, _ = moved
    names, unmatched = operators(lab, trace)
    assert unmatched > 0
    assert not any(name.startswith("aten::add") for name in names)
    assert "--symbols" in lab.report("table", trace, "--by", "op")


def test_libraries_are_found_below_a_folder(lab: Lab, moved) -> None:
    trace, _, packages = moved
    names, unmatched = operators(lab, trace, "--symbols", str(packages))
    assert unmatched == 0
    assert {"aten::mm", "aten::add.Tensor"} <= names
    assert not any("+0x" in name for name in names)


def test_a_library_of_the_same_name_but_another_build_names_nothing(lab: Lab, moved) -> None:
    trace, link, packages = moved
    library = link / TORCH_CPU
    library.parent.mkdir(parents=True)
    library.symlink_to(packages / "torch" / "lib" / "libc10.so")
    names, unmatched = operators(lab, trace)
    assert unmatched > 0
    assert not any(name.startswith("aten::add") for name in names)
    assert operators(lab, trace, "--symbols", str(link))[1] > 0
    assert operators(lab, trace, "--symbols", str(link), "--symbols", str(packages))[1] == 0

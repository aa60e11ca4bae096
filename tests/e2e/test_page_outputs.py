"""The outputs on pages are those of the program: their commands run on the simulated GPU.

PEAKLINE_TEST_PAGES=all also runs the pages whose programs take long.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from lab import ON_GPU, ROOT, Lab
from page_runs import faults_of_page, missing_line

QUICK = (
    "examples/leak/README.md",
    "examples/ci_gate/README.md",
    "docs/what-grows.md",
)
LONG = (
    "examples/out_of_memory/README.md",
    "examples/smaller_gpu/README.md",
    "docs/job-died.md",
    "docs/will-it-fit.md",
    "docs/a-plan-that-fits.md",
    "docs/many-gpus.md",
    "docs/long-runs.md",
)
PAGES = (*QUICK, *(LONG if os.environ.get("PEAKLINE_TEST_PAGES") == "all" else ()))


@pytest.mark.skipif(ON_GPU, reason="the pages name simulated devices")
@pytest.mark.parametrize("page", PAGES)
def test_the_outputs_of_a_page_are_those_of_its_commands(
    lab: Lab, tmp_path: Path, page: str
) -> None:
    for name in ("examples", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)

    def output(words: list[str]) -> str:
        run = lab.plain(tmp_path, sys.executable, "-m", "peakline", *words)
        return run.stderr + run.stdout

    faults = list(faults_of_page((ROOT / page).read_text(), tmp_path, output))
    assert not faults, "\n\n".join(faults)


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (["a", "b 2.00 s"], None),
        (["b 1.00 s", "c"], None),
        (["a", "..."], None),
        (["a", "...", "d e"], None),
        (["a", "...", "d ..."], None),
        (["a", "c"], "c"),
        (["b 3 MB"], "b 3 MB"),
        (["c", "...", "a"], "a"),
        (["d"], "d"),
    ],
)
def test_the_comparison_finds_planted_differences(shown: list[str], missing: str | None) -> None:
    assert missing_line(shown, ["a", "b N s", "c", "d e"]) == missing

"""docs/extending.md names files and symbols that exist, and has a list for each usual change."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "extending.md"
CHANGES = {
    "a key of `--by`",
    "a command for an existing report",
    "a record of the trace",
    "a CPython version",
    "a CUDA call of the simulated GPU",
    "a tab of the page",
    "a rule of `advise`",
    "a format of `export`",
}
# Names of torch and of C, and words of a shell.
FOREIGN = {"CUDAAllocator"}
SOURCES = {".cpp", ".h", ".py", ".js", ".inc"}


def sections() -> dict[str, str]:
    """Return the text of each list by its heading."""
    parts = PAGE.read_text().split("\n## ")[1:]
    return {part.splitlines()[0]: part for part in parts}


def quoted(text: str) -> list[str]:
    """Return what stands in backquotes."""
    return re.findall(r"`([^`\n]+)`", text)


def is_path(word: str) -> bool:
    """Return whether a quoted word is a path of this project."""
    return " " not in word and ("/" in word or Path(word).suffix in SOURCES | {".md", ".toml"})


def pattern_of(word: str) -> str:
    """Return a regular expression; NAME is any name."""
    return re.escape(word).replace("NAME", r"\w+")


@pytest.fixture(scope="module")
def files() -> list[str]:
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    return listed.splitlines()


@pytest.fixture(scope="module")
def sources(files: list[str]) -> str:
    """Return the text of all sources."""
    return "\n".join(
        (ROOT / name).read_text(errors="replace") for name in files if Path(name).suffix in SOURCES
    )


def test_every_usual_change_has_a_list() -> None:
    assert sections().keys() >= CHANGES


@pytest.mark.parametrize("heading", sections())
def test_the_files_of_a_list_exist(heading: str, files: list[str]) -> None:
    folders = {f"{parent}/" for name in files for parent in Path(name).parents}
    known = "\n".join([*files, *folders])
    for word in filter(is_path, quoted(sections()[heading])):
        # `runtime/` behind its neighbour `preload/simulate/gpu/driver/` is short for its end.
        assert re.search(rf"(^|/){pattern_of(word)}/?$", known, re.MULTILINE), word


@pytest.mark.parametrize("heading", sections())
def test_the_symbols_of_a_list_exist(heading: str, sources: str) -> None:
    for word in quoted(sections()[heading]):
        found = re.fullmatch(r"(?:\w+::)?(\w*[A-Z_]\w*)(?:\(\))?", word)
        if is_path(word) or found is None or found[1] in FOREIGN:
            continue
        assert re.search(rf"\b{pattern_of(found[1])}\b", sources), word


def test_only_one_table_compares_versions_of_python(files: list[str]) -> None:
    compares = re.compile(r"python_minor|PY_VERSION_HEX|\bminor\s*[<>]=?\s*\d|\bminor\s*==\s*\d")
    folder = [
        name for name in files if name.startswith("pyhook/") and name.endswith((".cpp", ".h"))
    ]
    assert [name for name in folder if compares.search((ROOT / name).read_text())] == []

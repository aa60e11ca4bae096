"""The page's modules without drawing, against brute force: the tests of modules/, run by node."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = Path(__file__).with_name("modules")


def node() -> str:
    """The node of this machine, else the one that Playwright brings."""
    program = shutil.which("node")
    if program is not None:
        return program
    driver = pytest.importorskip("playwright._impl._driver", reason="apt-get install nodejs")
    found = driver.compute_driver_executable()
    program = found[0] if isinstance(found, tuple) else found
    return program if Path(program).is_file() else pytest.skip("no node: apt-get install nodejs")


def with_modules(folder: Path) -> Path:
    """The modules of the page as node reads them."""
    shutil.copytree(ROOT / "report" / "page", folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def said_under_node(script: str, folder: Path) -> Any:
    """Run a script beside the modules of the page; returns the JSON that it prints."""
    (with_modules(folder) / "check.js").write_text(script)
    result = subprocess.run(
        [node(), str(folder / "check.js")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_the_modules_compute(tmp_path: Path) -> None:
    folder = with_modules(tmp_path)
    shutil.copytree(TESTS, folder / "modules")
    files = sorted(str(file) for file in (folder / "modules").glob("*.test.js"))
    written = "".join((TESTS / Path(file).name).read_text() for file in files)
    result = subprocess.run(
        [node(), "--test", "--test-reporter=tap", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr
    # A file that cannot be read, or that has no test, is one test by itself.
    passed = len(re.findall(r"^ *ok \d", result.stdout, re.MULTILINE))
    assert passed >= len(re.findall(r'^test\("', written, re.MULTILINE)) > 0


def test_types_of_the_modules() -> None:
    tsc = shutil.which("tsc") or pytest.skip("no tsc: apt-get install node-typescript")
    result = subprocess.run(
        [tsc, "-p", str(ROOT / "report" / "page")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout

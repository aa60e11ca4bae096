"""`make build` installs nothing: where something is missing it names the command that does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What the script itself is made of; no compiler, no package manager.
TOOLS = ("bash", "sh", "dirname", "sed", "python3")


def check_setup(path: Path | str, python: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(path), "PYTHON": python}
    command = [shutil.which("bash") or "bash", str(ROOT / ".ci" / "setup"), "--check"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_what_is_missing_is_said_with_the_command_that_installs_it(tmp_path: Path) -> None:
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(shutil.which(tool) or tool)
    result = check_setup(tmp_path, str(tmp_path / "no-python"))
    assert result.returncode == 2
    assert "g++" in result.stderr and "a Python with torch" in result.stderr
    assert "make setup" in result.stderr


def test_installing_without_a_compiler_ends_with_the_command_to_type(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    environment.pop("PEAKLINE_COMPILED", None)
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path / "lib")]
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    *_, missing, hint, line = result.stderr.strip().splitlines()
    assert "g++, make, libunwind-dev" in missing
    assert "type this" in hint
    assert line.strip().startswith("sudo apt-get install -y g++ make libunwind-dev")
    assert not (tmp_path / "lib").exists()


def test_the_needs_are_those_that_the_pages_name() -> None:
    """setup.py has them as data; .ci/setup installs them with others."""
    text = (ROOT / "setup.py").read_text()
    needs = {*re.findall(r'^    \(.*\), "([\w+-]+)"\),$', text, re.MULTILINE), "python3-dev"}
    assert len(needs) == 6
    for page in ("README.md", "README.zh-CN.md", "docs/getting-started.md"):
        [named] = re.findall(r"^sudo apt install (.*)$", (ROOT / page).read_text(), re.MULTILINE)
        assert set(named.split()) == needs, page
    installed = re.findall(r"^need (\S+)", (ROOT / ".ci" / "setup").read_text(), re.MULTILINE)
    assert needs - {"make"} <= set(installed), "who runs .ci/setup has make"


def test_nothing_is_said_where_all_is_there() -> None:
    result = check_setup(os.environ["PATH"], sys.executable)
    assert (result.returncode, result.stderr) == (0, "")


def test_only_setup_installs() -> None:
    makefile = (ROOT / "Makefile").read_text()
    check = (ROOT / ".ci" / "check").read_text()
    lines = [line.strip() for line in (makefile + check).splitlines()]
    commands = [line for line in lines if "pip install" in line or "apt-get" in line]
    [tools] = [line for line in commands if not line.startswith(("#", "echo"))]
    assert tools.startswith("@$(@D)/bin/python -m pip install"), "a folder of their own"
    [rule] = [part for part in makefile.split("\n\n") if tools in part]
    assert "\nbuild/%-tools/installed: .ci/%-tools.txt\n" in rule
    for name in ("check", "docs"):
        assert f"\n{name.upper()}_TOOLS := build/{name}-tools\n" in makefile
        pinned = (ROOT / ".ci" / f"{name}-tools.txt").read_text().splitlines()[1:]
        assert pinned and all("==" in line for line in pinned)

"""The completion scripts: bash runs its own; zsh and fish read theirs where they are installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import NEEDS_ENGINE, ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

pytestmark = NEEDS_ENGINE
TRACE = ROOT / "tests" / "data" / "two_steps.trace"


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    from peakline.commands.completion import words_of_commands
    from peakline.commands.shared.completions import SHELLS, script_of

    commands = words_of_commands()
    return {shell: script_of(shell, commands) for shell in SHELLS}


def completed(script: str, lines: list[str]) -> list[list[str]]:
    """Return what bash offers behind each line; it splits words at blanks, = and @."""
    calls = []
    for line in lines:
        words = re.findall(r"[=@]|[^ =@]+", line) + [""] * line.endswith((" ", "=", "@"))
        quoted = " ".join(f"'{word}'" for word in words)
        calls.append(f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _peakline")
        calls.append('echo "${COMPREPLY[@]}"')
    program = "\n".join([script, *calls])
    done = subprocess.run(["bash", "-eu"], input=program, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split() for line in done.stdout.splitlines()]


def test_bash_completes_commands_options_keys_moments_and_devices(scripts: dict[str, str]) -> None:
    expected = {
        "peakline ta": ["table"],
        "peakline fl": ["fleet"],  # flamegraph is a name of html
        "peakline table --js": ["--json"],
        "peakline table --by cat": ["category"],
        "peakline table --by=cat": ["category"],
        "peakline table x.peak --at fo": ["forward"],
        "peakline table --measure al": ["allocated"],
        "peakline run --simulate h20": ["h200", "h200-nvl", "h20"],
        "peakline run --simulate li": ["list"],
        "peakline export spee": ["speedscope"],
        "peakline export speedscope ": [],  # bash completes file names
        "peakline table ": [],
        "peakline run -o ": [],
        "peakline html --tab f": ["flame"],
        "peakline completion ": ["bash", "zsh", "fish"],
    }
    assert dict(zip(expected, completed(scripts["bash"], list(expected)), strict=True)) == expected


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the shell find `peakline`."""
    command = tmp_path / "bin" / "peakline"
    command.parent.mkdir()
    package = ROOT / "pyhook"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={package} exec {sys.executable} -m peakline "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")


@pytest.mark.usefixtures("on_path")
def test_bash_completes_the_phases_of_the_trace_in_the_line(
    scripts: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("steps.peak").symlink_to(TRACE)
    expected = {
        "peakline table steps.peak --at ": [
            *("peak", "end", "oom", "step", "forward", "backward"),
            *("step@0", "step@1", "forward@0", "backward@0", "forward@1", "backward@1"),
        ],
        "peakline table steps.peak --at forward@": ["0", "1"],
        "peakline table steps.peak --at=step@1": ["1"],
        "peakline table --top 3 steps.peak --during ba": ["backward", "backward@0", "backward@1"],
        "peakline table none.peak --at op": ["optimizer"],
    }
    assert dict(zip(expected, completed(scripts["bash"], list(expected)), strict=True)) == expected


def test_the_printed_phases_are_moments_that_shells_take_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peakline import _report
    from peakline.commands import completion

    words = completion.phases_of(str(TRACE))
    for word in words:
        assert json.loads(_report.Trace(TRACE).report("table", json=True, at=word))["rows"], word

    class Hostile:
        def __init__(self, path: str) -> None:
            self.path = path

        def report(self, *_: object, **__: object) -> str:
            named = ["$(touch x)", "`x`", "a b", "a;b", "a*", "good-1.b", "a\nb"]
            rows = [{"name": name, "step": 1} for name in named]
            return json.dumps({"steps": [], "phases": rows, "named": []})

    monkeypatch.setattr(_report, "Trace", Hostile)
    assert completion.phases_of("hostile.peak") == ["good-1.b", "good-1.b@1"]


def test_the_scripts_have_every_listed_command_and_option(scripts: dict[str, str]) -> None:
    from peakline.commands.completion import words_of_commands
    from peakline.commands.shared.groups import GROUPS

    commands = words_of_commands()
    assert list(commands) == [name for names in GROUPS.values() for name in names]
    lines = [f"peakline {name} -" for name in commands]
    for words, offered in zip(commands.values(), completed(scripts["bash"], lines), strict=True):
        assert offered == [name for option in words.options for name in option.names]
        assert "--help" in offered
        for option in words.options:
            assert f"-l {option.names[-1][2:]}" in scripts["fish"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_reads_its_script(scripts: dict[str, str], tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(scripts[shell])
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_command_prints_the_script(
    scripts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    from peakline.commands import main

    for shell, script in scripts.items():
        assert main(["completion", shell]) == 0
        assert capsys.readouterr() == (script, "")

"""action.yml: its steps run in bash as GitHub runs them, with a `gh` that keeps comments in a file.

`peakline run` is replaced by recordings that were made before; all else is peakline itself.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT, Lab

yaml = pytest.importorskip("yaml")

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
TRAIN = "import torch\nlayer = torch.nn.Linear(1024, {width}, bias=False, device='cuda')\n"
NARROW, WIDE = 1024, 4096
RISE = 4 * 1024 * (WIDE - NARROW)  # float32

PEAKLINE = """#!/bin/sh
[ "$1" = run ] || exec {python} -m peakline "$@"
echo "$PWD $@" >> {folder}/runs
[ ! -e broken ] || exit 1
while [ "$1" != -o ]; do shift; done
cp {folder}/$(grep -o '[0-9]*, bias' train.py | cut -d, -f1).peak "$2"
"""
GH = """#!{python}
import json, pathlib, re, sys
store = pathlib.Path("{folder}/comments")
comments = json.loads(store.read_text())
words = sys.argv[1:]
if "--method" not in words:
    marker = re.search(r'startswith\\\\("(.*)"\\\\)', words[-1])[1]
    assert words[2] == "repos/me/project/issues/7/comments", words
    print(*[n for n, body in comments.items() if body.startswith(marker)], sep="\\\\n", end="")
    sys.exit()
method, address, body = words[3:5] + [words[-1].removeprefix("body=@")]
text = pathlib.Path(body).read_text()
assert not text.startswith("refuse")
if method == "POST":
    assert address == "repos/me/project/issues/7/comments", address
    comments[str(100 + len(comments))] = text
else:
    comments[re.fullmatch("repos/me/project/issues/comments/([0-9]+)", address)[1]] = text
store.write_text(json.dumps(comments))
"""


@dataclass
class Runner:
    """A step of a composite action, with the environment that GitHub gives it."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, event: Mapping[str, str], **given: str) -> tuple[int, str, dict[str, str]]:
        """Run the steps until one fails; return the status, what they printed, and the outputs."""
        defaults = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
        values = {f"inputs.{name}": value for name, value in (defaults | given).items()}
        values |= {"github.token": "secret", **event}
        printed = ""
        for step in ACTION["runs"]["steps"]:
            output = self.folder / "output"
            output.write_text("")
            environment = {name: filled(str(one), values) for name, one in step["env"].items()}
            done = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder / "project" / filled(step.get("working-directory", "."), values),
                env={**self.environment, **environment, "GITHUB_OUTPUT": str(output)},
                capture_output=True,
                text=True,
                check=False,
            )
            printed += done.stdout + done.stderr
            for line in output.read_text().splitlines():
                name, _, value = line.partition("=")
                values[f"steps.{step['id']}.outputs.{name}"] = value
            if done.returncode:
                break
        outputs = {name: filled(one["value"], values) for name, one in ACTION["outputs"].items()}
        return done.returncode, printed, outputs

    def comments(self) -> list[str]:
        return [*json.loads((self.folder / "comments").read_text()).values()]

    def git(self, *words: str) -> str:
        command = ["git", "-c", "user.name=Ann", "-c", "user.email=a@example.org", *words]
        folder = self.folder / "project"
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()


def filled(text: str, values: Mapping[str, str]) -> str:
    """Replace `${{ a || b }}` by the first value that is not empty."""

    def value_of(found: re.Match[str]) -> str:
        names = [one.strip() for one in found[1].split("||")]
        return next((values[one] for one in names if values.get(one)), "")

    return re.sub(r"\$\{\{(.*?)\}\}", value_of, text)


@pytest.fixture(scope="module")
def recordings(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings")
    for width in (NARROW, WIDE):
        (folder / "train.py").write_text(TRAIN.format(width=width))
        run = lab.run(folder / "train.py")
        assert run.status == 0, run.stderr
        run.trace.rename(folder / f"{width}.peak")
    return folder


@pytest.fixture
def runner(lab: Lab, recordings: Path, tmp_path: Path) -> Runner:
    programs = tmp_path / "bin"
    for folder in (programs, tmp_path / "project" / "sub"):
        folder.mkdir(parents=True)
    for name, text in (("peakline", PEAKLINE), ("gh", GH.replace("\\\\", "\\"))):
        (programs / name).write_text(text.format(python=lab.python, folder=tmp_path))
        (programs / name).chmod(0o755)
    for width in (NARROW, WIDE):
        (tmp_path / f"{width}.peak").symlink_to(recordings / f"{width}.peak")
    (tmp_path / "comments").write_text("{}")
    environment = lab.environment(
        {
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_REPOSITORY": "me/project",
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        }
    )
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    made = Runner(tmp_path, environment)
    made.git("init", "-q", "-b", "main")
    for width in (NARROW, WIDE):
        (tmp_path / "project" / "sub" / "train.py").write_text(TRAIN.format(width=width))
        made.git("add", "-A")
        made.git("commit", "-q", "-m", f"width {width}")
    return made


def pull_request(runner: Runner) -> dict[str, str]:
    return {
        "github.event.pull_request.base.sha": runner.git("rev-parse", "HEAD~1"),
        "github.event.pull_request.number": "7",
    }


ARGUMENTS = {"program": "train.py --name 'a  b' $(touch x)", "working-directory": "sub"}


def test_a_rise_fails_the_job_and_one_comment_is_updated(runner: Runner) -> None:
    event = pull_request(runner)
    status, printed, outputs = runner.run(event, options="--steps 3", **ARGUMENTS)
    assert status == 1, printed
    assert outputs["delta-bytes"] == str(RISE)
    assert Path(outputs["recording"]).is_file()
    assert re.search(r"^::error file=.*/train\.py,line=2,", printed, re.MULTILINE)
    [comment] = runner.comments()
    marker, _, text = comment.partition("\n")
    assert text == (runner.folder / "summary").read_text()
    assert "**Broken limits: 2**" in text  # of the run, and of its one phase
    assert "Peak: 4.000 MB before, 16.00 MB after: +12.00 MB (+300.0%)" in text
    runs = (runner.folder / "runs").read_text().splitlines()
    words = "run -q --simulate h200 --steps 3 -o"
    assert [words in line for line in runs] == [True, True]
    assert all(line.endswith("train.py --name a  b $(touch x)") for line in runs)
    assert [line.split(" ")[0].endswith("/sub") for line in runs] == [True, True]
    assert [*runner.folder.rglob("x")] == []
    assert len(runner.git("worktree", "list").splitlines()) == 1
    # Again with a tolerance: the same comment has the new text.
    status, printed, _ = runner.run(event, tolerance="400%", **ARGUMENTS)
    assert status == 0, printed
    [again] = runner.comments()
    assert again.startswith(marker) and "No limit is broken." in again
    # Another program has a comment of its own.
    other = {**ARGUMENTS, "program": "train.py"}
    runner.run(event, tolerance="400%", **other)
    assert len(runner.comments()) == 2


def test_a_baseline_and_limits_need_no_run_of_the_base(runner: Runner) -> None:
    sub = runner.folder / "project" / "sub"
    (sub / "limits.toml").write_text('peak = "8MB"\n')
    options = {"baseline": str(runner.folder / f"{WIDE}.peak"), "limits": "limits.toml"}
    status, printed, outputs = runner.run({}, **ARGUMENTS, **options)
    assert status == 1, printed
    assert outputs["delta-bytes"] == "0"
    assert "peak: 16.00 MB is 8.000 MB above 8.000 MB" in printed
    assert runner.comments() == []  # there is no pull request
    assert len((runner.folder / "runs").read_text().splitlines()) == 1
    (sub / "limits.toml").write_text("peek = 1\n")
    status, printed, _ = runner.run({}, **ARGUMENTS, **options)
    assert (status, "did you mean peak" in printed) == (2, True)


def test_a_base_that_does_not_run_and_a_token_without_rights_are_no_failure(
    runner: Runner,
) -> None:
    (runner.folder / "project" / "sub" / "broken").touch()
    runner.git("add", "-A")
    runner.git("commit", "-q", "-m", "broken")
    runner.git("rm", "-q", "sub/broken")
    runner.git("commit", "-q", "-m", "mended")
    (runner.folder / "bin" / "gh").write_text("#!/bin/sh\nexit 1\n")
    status, printed, outputs = runner.run(pull_request(runner), **ARGUMENTS)
    assert status == 0, printed
    assert outputs["delta-bytes"] == ""
    assert "the program does not run at the base" in printed
    assert "cannot comment: the token may not write" in printed
    assert "Max mem: 16.00 MB" in (runner.folder / "summary").read_text()


def test_the_page_lists_inputs_and_outputs() -> None:
    page = (ROOT / "docs" / "ci.md").read_text()
    for kind, heading in (("inputs", "input"), ("outputs", "output of the action")):
        [table] = re.findall(rf"^\| {heading} \|.*\n\|[ -|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
        rows = [
            [cell.strip(" `") for cell in row.strip("|\n").split(" | ")]
            for row in table.splitlines()
        ]
        assert [(name, meaning) for name, meaning, *_ in rows] == [
            (name, one["description"]) for name, one in ACTION[kind].items()
        ]
    defaults = {row[0]: row[2] for row in rows_of_inputs(page)}
    assert defaults == {
        name: str(one.get("default", "")).strip() for name, one in ACTION["inputs"].items()
    }


def rows_of_inputs(page: str) -> list[list[str]]:
    [table] = re.findall(r"^\| input \|.*\n\|[ -|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [
        [cell.strip(" `") for cell in row.strip("|\n").split(" | ")] for row in table.splitlines()
    ]


def test_no_input_is_part_of_a_script() -> None:
    scripts: list[Any] = [step["run"] for step in ACTION["runs"]["steps"]]
    assert not [text for text in scripts if "${{" in text]
    for script in (ROOT / ".ci" / "action").iterdir():
        assert "eval" not in script.read_text().split()

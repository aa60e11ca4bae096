"""``peakline diff``, ``check`` and summaries, on a program before and after changes."""

from __future__ import annotations

import json
import re
import socket
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from lab import Run

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(1024, 4096)
        self.second = nn.Linear(4096, 1024)

    def forward(self, x):
        h = self.first(x)
        h = torch.relu(h)
        return self.second(h)
"""
STEP = """
def step(net, optimizer, x):
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
IMPORTS = "import torch\nfrom torch import nn\n"
MODEL = IMPORTS + NET + STEP


def with_lines_put_in(text: str) -> str:
    """Put a comment or an empty line above some lines of functions."""
    text = text.replace("    loss = ", "    # A comment.\n    loss = ")
    for line in ("    optimizer.step()", "        self.second = ", "        h = torch.relu("):
        text = text.replace(line, "\n" + line)
    return text


# The same in another file, the function first, with lines put in.
MOVED = IMPORTS + with_lines_put_in(STEP + NET)
TRAIN = """
import json, torch, {name}
net = {name}.Net().cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(3):
    {name}.step(net, optimizer, torch.zeros(512, 1024, device="cuda"))
print(json.dumps({{"peak": torch.cuda.max_memory_allocated()}}))
"""
# Holds what the layer made in twice the bytes.
GROWN = MOVED.replace("h = torch.relu(h)\n", "h = torch.relu(h.double()).float()\n")


@pytest.fixture(scope="module")
def runs(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    base = tmp_path_factory.mktemp("diff")
    programs = {
        "before": ("model", MODEL),
        "again": ("model", MODEL),
        "moved": ("network", MOVED),
        "grown": ("network", GROWN),
    }
    found = {}
    for name, (module, text) in programs.items():
        folder = base / name / "project"
        folder.mkdir(parents=True)
        (folder / f"{module}.py").write_text(text)
        (folder / "train.py").write_text(TRAIN.format(name=module))
        # Whole stacks are compared, and a warm process has a frame below the script's own.
        run = lab.recorded(folder, "train.py", fresh=True)
        assert run.status == 0, run.stderr
        found[name] = run
    return found


def test_one_program_on_two_devices(lab: Any, runs: dict[str, Run], tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAIN.format(name="model"))
    elsewhere = lab.recorded(tmp_path, "train.py", device="l4")
    both = {"before": runs["before"], "elsewhere": elsewhere}
    peaks = differences(lab, both, "before", "elsewhere")  # workspaces differ with the device
    assert peaks["delta_bytes"] == elsewhere.said["peak"] - runs["before"].said["peak"]
    assert sum(row["delta_bytes"] for row in peaks["rows"]) == peaks["delta_bytes"]
    ends = differences(lab, both, "before", "elsewhere", "--at", "end")
    assert {row["key"]: row["delta_bytes"] for row in ends["rows"] if row["delta_bytes"]} == {}
    assert ends["after"]["total_bytes"] > 0


def differences(lab: Any, runs: dict[str, Run], before: str, after: str, *words: str) -> Any:
    paths = [str(runs[name].trace) for name in (before, after)]
    done = lab.peakline("diff", "--json", *words, *paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "words", [[], ["--by", "stack"], ["--at", "end"], ["--total"], ["--phases"]]
)
def test_code_that_only_moved_holds_the_same(
    lab: Any, runs: dict[str, Run], words: list[str]
) -> None:
    found = differences(lab, runs, "before", "moved", *words)
    assert found["delta_bytes"] == 0
    assert [row["delta_bytes"] for row in found["rows"]] == [0] * len(found["rows"])
    assert len(found["rows"]) > 1
    if not words:
        of = {Path(row["key"].split(":")[0]).name for row in found["rows"]}
        assert "network.py" in of
        assert any(row["key_before"] != row["key"] for row in found["rows"])


@pytest.mark.parametrize("by", ["line", "module", "op", "category", "stack"])
def test_rows_sum_to_the_difference_of_torchs_peaks(
    lab: Any, runs: dict[str, Run], by: str
) -> None:
    found = differences(lab, runs, "before", "grown", "--by", by)
    wanted = runs["grown"].said["peak"] - runs["before"].said["peak"]
    assert found["delta_bytes"] == wanted > 0
    assert sum(row["delta_bytes"] for row in found["rows"]) == wanted
    for row in found["rows"]:
        assert row["bytes_after"] - row["bytes_before"] == row["delta_bytes"]


def test_the_table_names_what_changed(lab: Any, runs: dict[str, Run]) -> None:
    paths = [str(runs[name].trace) for name in ("before", "grown")]
    text = lab.peakline("diff", *paths).stdout
    lines = text.splitlines()
    assert lines[0].startswith("Peak: ")
    assert lines[1].split() == ["Change", "Before", "After", "Location"]
    assert any("network.py" in line for line in lines[2:])
    assert "[was model.py:" in text
    assert "stand on another line than before." in lines[-1]


def test_a_summary_is_small_the_same_for_the_same_run_and_says_no_names(
    lab: Any, runs: dict[str, Run], tmp_path: Path
) -> None:
    texts = []
    for name in ("before", "again"):
        out = tmp_path / f"{name}.json"
        done = lab.peakline("pack", "--summary", str(runs[name].trace), "-o", str(out))
        assert done.returncode == 0, done.stderr
        texts.append(out.read_text())
    assert texts[0] == texts[1]
    assert len(texts[0]) < 5000
    assert socket.gethostname() not in texts[0]
    assert str(tmp_path.parent) not in texts[0]
    summary = json.loads(texts[0])
    assert summary["peak_bytes"] == runs["before"].said["peak"]
    assert sum(row["bytes"] for row in summary["lines"]) == summary["peak_bytes"]
    against = lab.peakline(
        "diff", "--json", str(tmp_path / "before.json"), str(runs["grown"].trace)
    )
    assert against.returncode == 0, against.stderr
    of_traces = differences(lab, runs, "before", "grown")
    assert json.loads(against.stdout)["delta_bytes"] == of_traces["delta_bytes"]


def test_the_gate_fails_with_the_lines_that_grew(
    lab: Any, runs: dict[str, Run], tmp_path: Path
) -> None:
    base, after = str(runs["before"].trace), str(runs["grown"].trace)
    assert lab.peakline("check", str(runs["moved"].trace), "--baseline", base).returncode == 0
    junit = tmp_path / "peakline.xml"
    done = lab.peakline("check", after, "--baseline", base, "--junit", str(junit), "--github")
    assert done.returncode == 1
    failed = next(line for line in done.stdout.splitlines() if line.startswith("FAIL"))
    assert f"more than in {base}" in failed
    assert "network.py:" in done.stdout.partition(failed)[2].splitlines()[1]
    assert "::error file=" in done.stdout
    suite = ElementTree.parse(junit).getroot()
    assert int(suite.get("failures") or 0) > 0
    assert lab.peakline("check", after, "--baseline", base, "--tolerance", "50%").returncode == 0


def test_limits(lab: Any, runs: dict[str, Run]) -> None:
    trace, peak = str(runs["before"].trace), runs["before"].said["peak"]
    assert lab.peakline("check", trace, "--max-peak", str(peak)).returncode == 0
    done = lab.peakline("check", trace, "--max-peak", str(peak - 1), "--json")
    assert done.returncode == 1
    [limit] = json.loads(done.stdout)["limits"]
    assert (limit["holds"], len(limit["blamed"]) > 1) == (False, True)
    assert lab.peakline("check", trace, "--max-phase", "backward=1MB").returncode == 1
    assert lab.peakline("check", trace, "--max-phase", "backward=1GB").returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give a limit"),
        (["--max-phase", "warmup=1GB"], "no phase is called 'warmup'; there are: "),
        (["--max-phase", "1GB"], "is not NAME=SIZE"),
        (["--max-peak", "much"], "'much' is not a size"),
        (["--baseline", "nowhere.peak"], "nowhere.peak"),
        (["--max-peak", "1GB", "--tolerance", "some"], "'some' is not a share"),
    ],
)
def test_bad_use_of_the_gate(lab: Any, runs: dict[str, Run], words: list[str], said: str) -> None:
    done = lab.peakline("check", str(runs["before"].trace), *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_summary_has_not_everything(lab: Any, runs: dict[str, Run], tmp_path: Path) -> None:
    summary = tmp_path / "base.json"
    lab.peakline("pack", "--summary", str(runs["before"].trace), "-o", str(summary))
    trace = str(runs["moved"].trace)
    done = lab.peakline("diff", "--by", "module", str(summary), trace)
    assert (done.returncode, "give both traces" in done.stderr) == (2, True)
    limits = tmp_path / "limits.toml"
    limits.write_text("[device.0]\npeak = 1")
    done = lab.peakline("check", str(summary), "--limits", str(limits))
    assert (done.returncode, "give the trace for the limit of device 0" in done.stderr) == (2, True)
    summary.write_text('{"other": 1}')
    done = lab.peakline("diff", str(summary), trace)
    assert (done.returncode, "neither a trace nor a summary" in done.stderr) == (2, True)
    summary.write_text('{"peakline_summary": 99}')
    done = lab.peakline("diff", str(summary), trace)
    assert (done.returncode, "version 99" in done.stderr) == (2, True)


def test_written_limits_hold_for_code_that_moved_and_name_the_line_that_grew(
    lab: Any, runs: dict[str, Run], tmp_path: Path
) -> None:
    limits = str(tmp_path / "limits.toml")
    before = str(runs["before"].trace)
    done = lab.peakline("check", before, "--write-limits", limits)
    count = len(re.findall(r"(?m)^[^#\[\n]+ = ", Path(limits).read_text()))
    assert (done.returncode, done.stdout) == (0, f"Wrote {limits} ({count} limits)\n"), done.stderr
    assert f"peakline check --limits {limits} {before}" in done.stderr
    for name in ("before", "again", "moved"):
        done = lab.peakline("check", str(runs[name].trace), "--limits", limits)
        assert done.returncode == 0, done.stdout
    assert "ok    " in done.stdout and "line network.py:" in done.stdout
    done = lab.peakline("check", str(runs["grown"].trace), "--limits", limits, "--github")
    assert done.returncode == 1
    text = (runs["grown"].folder / "network.py").read_text().splitlines()
    number = next(n for n, line in enumerate(text, 1) if "relu(h.double())" in line)
    grown = f"FAIL  {runs['grown'].trace}: line network.py:{number} (forward): "
    assert grown in done.stdout
    annotated = [line for line in done.stdout.splitlines() if line.startswith("::error file=")]
    own = [line for line in annotated if f"peakline::line network.py:{number} (forward)" in line]
    file = runs["grown"].folder / "network.py"
    assert [line.split(",title")[0] for line in own] == [f"::error file={file},line={number}"]
    kept = lab.peakline("check", before, "--write-limits", limits, "--tolerance", "50%")
    assert (kept.returncode, "exists" in kept.stderr) == (2, True)
    lab.peakline("check", before, "--write-limits", limits, "--tolerance", "400%", "--force")
    assert lab.peakline("check", str(runs["grown"].trace), "--limits", limits).returncode == 0


def test_each_kind_of_limit_is_what_the_table_shows(
    lab: Any, runs: dict[str, Run], tmp_path: Path
) -> None:
    trace, limits = str(runs["before"].trace), tmp_path / "limits.toml"

    def shown(*words: str) -> int:
        return lab.table(trace, *words)["total_bytes"]

    rows = {
        kind: lab.table(trace, "--by", kind, "--top", "1")["rows"][0]
        for kind in ("line", "function", "file", "module", "category", "op")
    }
    wanted = {"peak": shown(), "reserved": shown("--measure", "reserved")}
    for step, code in ((0, 0), (1, 1)):
        lines = [f"{name} = {size - step}" for name, size in wanted.items()]
        for kind, row in rows.items():
            lines += [f"[{kind}]", f"{json.dumps(row['key'])} = {row['bytes'] - step}"]
        limits.write_text("\n".join(lines))
        done = lab.peakline("check", trace, "--limits", str(limits), "--json")
        assert done.returncode == code, done.stderr
        found = {one["name"]: one["holds"] for one in json.loads(done.stdout)["limits"]}
        names = [*wanted, *(f"{kind} {row['key']}" for kind, row in rows.items())]
        assert found == dict.fromkeys(names, code == 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[phase]\nbackwrd = 1", "limits.toml:2: {}: no phase is called 'backwrd'"),
        (
            "[category]\nactivatoin = 1",
            "limits.toml:2: {}: no category of this run is called 'activatoin'; did you",
        ),
        ("growth-per-step = 1", "limits.toml:1: {}: growth per step: Looked at 3 steps: too few"),
    ],
)
def test_a_limit_that_this_run_cannot_have_is_named(
    lab: Any, runs: dict[str, Run], tmp_path: Path, text: str, said: str
) -> None:
    trace, limits = str(runs["before"].trace), tmp_path / "limits.toml"
    limits.write_text(text)
    done = lab.peakline("check", trace, "--limits", str(limits))
    assert done.returncode == 2
    assert said.format(trace) in done.stderr


def test_a_limit_may_name_what_only_one_of_the_traces_has(
    lab: Any, runs: dict[str, Run], tmp_path: Path
) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text('[file]\n"network.py" = "1GB"\n')
    before, moved = str(runs["before"].trace), str(runs["moved"].trace)
    both = lab.peakline("check", "--limits", str(limits), before, moved)
    assert both.returncode == 0, both.stderr
    assert both.stdout.startswith(f"ok    {moved}: file network.py: ")
    alone = lab.peakline("check", "--limits", str(limits), before)
    assert (alone.returncode, "no file of this run" in alone.stderr) == (2, True)

"""Memory that two processes share (CUDA IPC) is named in both traces, and counts in one."""

import json
from pathlib import Path
from typing import Any

import peakline
import pytest
from lab import ON_GPU, PROGRAMS, Lab, Run

MIB = 1 << 20


def line_of(program: str, text: str) -> str:
    """Where a program has this text: "shares_memory.py:33"."""
    lines = (PROGRAMS / program).read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if text in line)
    return f"{program}:{number}"


def run_of(lab: Lab, folder: Path, program: str) -> dict[str, tuple[Path, dict[str, Any]]]:
    """The trace of each role, and what that process printed."""
    run: Run = lab.recorded(folder, str(PROGRAMS / program), options=["-q", "-o", "%p.peak"])
    assert run.status == 0, run.stderr
    return {one["role"]: (folder / f"{one['pid']}.peak", one) for one in run.documents}


def shared_of(trace: Path, **how: Any) -> list[tuple[str, str, int, list[str]]]:
    ledger = peakline.open(trace).ledger(**how).document
    assert ON_GPU or ledger["unexplained_bytes"] == 0
    found = []
    for part in ledger["shared"]:
        lines = [Path(line["location"].split(" ")[0]).name for line in part["lines"]]
        found.append((part["kind"], part["name"], part["bytes"], lines))
    return found


@pytest.fixture(scope="module")
def driver(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_of(lab, tmp_path_factory.mktemp("driver"), "shares_memory.py")


def test_the_owner_names_the_process_that_opened_its_memory(lab: Lab, driver: Any) -> None:
    (trace, _), (_, opener) = driver["owner"], driver["opener"]
    name = f"shared with process {opener['pid']}"
    line = line_of("shares_memory.py", "cuda.cuMemAlloc_v2(")
    assert shared_of(trace, at="end") == [("exported", name, 80 * MIB, [line])]
    table = lab.table(trace)
    assert table["peak_bytes"] == 96 * MIB
    assert [(one["kind"], one["bytes"]) for one in table["shared"]] == [("exported", 80 * MIB)]
    assert f"At this moment 80.00 MB of the device are {name}" in lab.report("table", trace)


def test_the_opener_names_the_owner_until_the_last_close(lab: Lab, driver: Any) -> None:
    (trace, _), (_, owner) = driver["opener"], driver["owner"]
    name = f"opened from process {owner['pid']}"
    line = line_of("shares_memory.py", "cuda.cuIpcOpenMemHandle_v2(")
    assert shared_of(trace) == [("opened", name, 80 * MIB, [line])]
    assert shared_of(trace, at="end") == [("opened", name, 32 * MIB, [line])]
    table = lab.table(trace)
    assert table["peak_bytes"] == 8 * MIB
    assert "count there, not here" in lab.report("table", trace)


def test_alone_a_trace_names_no_process(lab: Lab, driver: Any, tmp_path: Path) -> None:
    for role, name in (
        ("owner", "exported; no trace here opened it"),
        ("opener", "opened from another process"),
    ):
        alone = tmp_path / role
        alone.mkdir()
        copy = alone / "copy.peak"
        copy.write_bytes(driver[role][0].read_bytes())
        assert [part[1] for part in shared_of(copy, at="end")] == [name]


def test_a_queue_of_tensors_between_two_processes(lab: Lab, tmp_path: Path) -> None:
    told = run_of(lab, tmp_path, "shares_tensors.py")
    (owner, trainer), (opener, worker) = told["trainer"], told["worker"]
    (given,) = shared_of(owner, at="end")
    assert given[:2] == ("exported", f"shared with process {worker['pid']}")
    assert given[2:] == (80 * MIB, [line_of("shares_tensors.py", "torch.empty(")])
    (taken,) = shared_of(opener)
    assert taken[:2] == ("opened", f"opened from process {trainer['pid']}")
    assert taken[2:] == (80 * MIB, [line_of("shares_tensors.py", "tensors.get()")])
    for trace, own in ((owner, trainer), (opener, worker)):
        assert json.loads(lab.report("table", trace, "--json"))["peak_bytes"] == own["max"]

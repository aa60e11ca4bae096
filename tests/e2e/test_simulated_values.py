"""Values on the simulated GPU: what is true stays true, what is guessed is listed and answered."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")
PROGRAM = "simulated_values.py"


def line_of(program: str, name: str) -> int:
    lines = (PROGRAMS / program).read_text().splitlines()
    return next(n for n, text in enumerate(lines, 1) if text.endswith(f"# read {name}"))


@pytest.fixture(scope="module")
def run(each_lab: Any) -> Any:
    assumed = f"{PROGRAM}:{line_of(PROGRAM, 'assumed')}=2.5"
    return each_lab.run(PROGRAM, options=["--assume", assumed])


@pytest.fixture(scope="module")
def reads(each_lab: Any, run: Any) -> dict[int, dict[str, Any]]:
    rows = each_lab.table(run.trace)["value_reads"]
    return {row["location"]["line"]: row for row in rows}


def test_values_that_came_from_the_host_are_exact(run: Any) -> None:
    assert run.said["exact"] == {
        "inverse": [1, 2, 0],
        "copied": 40_000,
        "known": [64 * 2048, 8],
        "edges": [99_999, 100_000],
        "infinite": False,
        "nonzero": [0, 2, 4],
        "masked": [5, 7, 9],
        "unique": [1, 3],
        "repeat": [2, 2, 3, 3, 3],
        "sum": 3,
        "half": [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5],
        "flag": True,
        "again": [5, 0, 7, 0, 9],
        "equal": True,
    }


def test_values_that_are_not_there_pass_the_checks_of_a_program(run: Any) -> None:
    assert run.said["checked"] == {
        "finite": True,
        "finite_rows": 500,
        "samples": [[500, 400], [500], [500]],
        "order": True,
        "beams": [4, 4, 4],
    }


def test_exact_values_are_not_listed(reads: dict[int, Any]) -> None:
    text = (PROGRAMS / PROGRAM).read_text().splitlines()
    first_guess = text.index("def guessed() -> dict:")
    assert min(reads) > first_guess


@pytest.mark.parametrize(
    ("name", "operator", "effect", "count"),
    [
        ("size", "aten::nonzero", "size", 1),
        ("masked", "aten::nonzero", "size", 1),
        ("unique", "aten::item", "number", 1),
        ("number", "aten::item", "number", 3),
        ("copy", "aten::copy_", "copy", 1),
        ("integer", "aten::item", "number", 3),
        ("integer_copy", "aten::copy_", "copy", 1),
        ("part", "aten::copy_", "copy", 1),
    ],
)
def test_guessed_values_are_listed_by_line_with_their_effect(
    reads: dict[int, Any], name: str, operator: str, effect: str, count: int
) -> None:
    row = reads[line_of(PROGRAM, name)]
    assert (row["operator"], row["effect"], row["count"]) == (operator, effect, count)
    assert row["assumed"] is False
    assert row["floating_point"] is (name in ("number", "copy"))
    assert row["location"]["file"].endswith(PROGRAM)
    assert row["location"]["function"] in ("guessed", "<listcomp>")


def test_what_is_only_printed_is_told_apart(reads: dict[int, Any]) -> None:
    assert reads[line_of(PROGRAM, "printed")]["effect"] == "printed"


def test_assumptions_give_sizes_and_numbers(run: Any, reads: dict[int, Any]) -> None:
    guessed = run.said["guessed"]
    assert guessed["size"] == [0, 1]
    assert guessed["masked"] == [0, 64]
    assert guessed["half"] == [500, 64]
    assert guessed["seven"] == [7, 64]
    assert guessed["all"] == [1000, 1]
    assert guessed["twelve"] == [12]
    assert guessed["number_of_line"] == 2.5
    assert reads[line_of(PROGRAM, "assumed")]["assumed"] is True
    assert reads[line_of(PROGRAM, "half")]["assumed"] is True


def test_reports_begin_with_the_simulated_device(each_lab: Any, run: Any) -> None:
    for command in ("table", "summary", "stats"):
        report = each_lab.report(command, run.trace)
        assert report.splitlines()[0].startswith("Simulated device: h200")
        assert '"simulated": "h200"' in each_lab.report(command, run.trace, "--json")
    summary = each_lab.report("summary", run.trace)
    assert "The program read these values from the GPU" in summary
    assert "\nThe peak may be too low: 2 sizes were read from the simulated GPU as 0" in summary
    assert each_lab.table(run.trace)["sizes_read_as_zero"] == 2


def test_reads_that_change_no_memory_are_one_line(each_lab: Any, run: Any, unrecorded: Any) -> None:
    line = "of floating-point numbers (a loss, a norm) or for printing, at "
    for text in (each_lab.report("table", run.trace), unrecorded.stderr):
        assert text.count(line) == 1
        assert f":{line_of(PROGRAM, 'number')} " not in text
        assert f":{line_of(PROGRAM, 'printed')} " not in text


def test_lines_of_a_library_are_rows_apart_and_assumed_apart(lab: Any, tmp_path: Path) -> None:
    boxes = pytest.importorskip("torchvision.ops.boxes")
    source = Path(boxes.__file__).read_text().splitlines()
    small = next(n for n, text in enumerate(source, 1) if "keep = torch.where(keep)[0]" in text)
    code = (
        "import os, torch\n"
        "from torchvision.ops import boxes\n"
        "found = torch.rand(100, 4, device='cuda')\n"
        "both = [boxes.remove_small_boxes(found, 0.1), found[found[:, 0] > 0.5]]\n"
        "print([len(one) for one in both], flush=True); os._exit(0)\n"
    )
    (tmp_path / "detect.py").write_text(code)
    options = ["-q", "-o", "run.peak", "--assume", f"boxes.py:{small}=7", "--assume", "gone.py:1=2"]
    done = lab.recorded(tmp_path, "detect.py", options=options)
    assert done.stdout == "[7, 0]\n", done.stderr
    rows = lab.table(tmp_path / "run.peak")["value_reads"]
    assert {(row["location"]["line"], row["assumed"]) for row in rows} == {(4, True), (4, False)}
    below = [row["library"]["line"] if row["library"] else None for row in rows]
    assert below == [None, small]
    assert f"detect.py:4 (<module>), in torchvision/ops/boxes.py:{small} (remove_small_boxes)" in (
        lab.report("table", tmp_path / "run.peak")
    )
    # A rule that matched nothing is reported with what there was to match.
    assert any("--assume gone.py:1=2 matched no value" in note for note in done.notes)
    assert any(
        f"read values at detect.py:4 (aten::nonzero), boxes.py:{small} " in note
        for note in done.notes
    )
    assert not any(f"boxes.py:{small}=7 matched" in note for note in done.notes)


def test_a_program_that_waits_for_a_value_ends_with_a_message(lab: Any, tmp_path: Path) -> None:
    words = [str(PROGRAMS / "waits_for_value.py")]
    options = ["-q", "-o", "run.peak", "--max-value-reads", "500"]
    done = lab.recorded(tmp_path, *words, options=options)
    place = f"waits_for_value.py:{line_of('waits_for_value.py', 'waiting')}"
    assert done.status == 3, done.stderr
    assert "cleaned up" in done.stdout
    said = [line for line in done.stderr.splitlines() if "seems to wait" in line]
    assert len(said) == 1
    assert re.search(rf"{place} \(wait\) read a value 500 times", said[0])
    assert f"--assume {place}=VALUE" in said[0]
    table = lab.table(tmp_path / "run.peak")
    assert table["complete"], table["problems"]
    assert table["stopped_waiting_at"] == f"{place} (wait)"


def test_the_assumption_that_the_message_names_ends_the_wait(lab: Any, tmp_path: Path) -> None:
    place = f"waits_for_value.py:{line_of('waits_for_value.py', 'waiting')}"
    words = [str(PROGRAMS / "waits_for_value.py")]
    options = ["-q", "-o", "run.peak", "--assume", f"{place}=1"]
    done = lab.recorded(tmp_path, *words, options=options)
    assert (done.status, done.stdout) == (0, "cleaned up\n"), done.stderr
    assert lab.table(tmp_path / "run.peak")["stopped_waiting_at"] is None


def test_generate_makes_the_tokens_it_was_asked_for(each_lab: Any) -> None:
    if "t211" in each_lab.python:
        pytest.importorskip("transformers")
    run = each_lab.run("generates.py")
    assert run.said == {"shape": [2, 25]}


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("train.py:57", "says no value"),
        ("train.py=3", "neither FILE:LINE nor"),
        ("nonzero=some", "not a number"),
        ("nonzero=150%", "more than everything"),
    ],
)
def test_a_wrong_assumption_is_refused_before_the_program_runs(
    lab: Any, rule: str, said: str
) -> None:
    words = ["--simulate", "h200", "--assume", rule, "-c", "print('ran')"]
    done = lab.peakline("run", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "ran" not in done.stdout


def test_assumptions_need_a_simulated_recording(lab: Any) -> None:
    done = lab.peakline("run", "--assume", "nonzero=1", "--python", sys.executable, "-c", "0")
    assert done.returncode == 2
    assert "needs --simulate" in done.stderr


@pytest.fixture(scope="module")
def unrecorded(lab: Any, tmp_path_factory: Any) -> Any:
    words = [str(PROGRAMS / PROGRAM)]
    folder = tmp_path_factory.mktemp("unrecorded")
    return lab.recorded(folder, *words, options=["--no-record"])


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("size", "aten::nonzero  1 time  a size"),
        ("unique", "aten::item  1 time  a number"),
        ("integer", "aten::item  3 times  a number"),
        ("integer_copy", "aten::copy_  1 time  copied to the host"),
    ],
)
def test_a_run_without_recording_lists_the_same_reads(unrecorded: Any, name: str, row: str) -> None:
    assert unrecorded.status == 0, unrecorded.stderr
    place = f"  {PROGRAM}:{line_of(PROGRAM, name)} ("
    listed = [line for line in unrecorded.stderr.splitlines() if line.startswith(place)]
    assert len(listed) == 1 and row in listed[0], unrecorded.stderr


def test_exact_values_are_not_listed_without_recording(unrecorded: Any, reads: Any) -> None:
    listed = re.findall(rf"^  {PROGRAM}:(\d+) ", unrecorded.stderr, re.MULTILINE)
    assert set(map(int, listed)) <= set(reads)


def test_waiting_ends_without_recording_too(lab: Any, tmp_path: Path) -> None:
    words = [str(PROGRAMS / "waits_for_value.py")]
    options = ["-q", "--no-record", "--max-value-reads", "500"]
    done = lab.recorded(tmp_path, *words, options=options)
    place = f"waits_for_value.py:{line_of('waits_for_value.py', 'waiting')}"
    assert done.status == 3, done.stderr
    assert "cleaned up" in done.stdout
    said = [line for line in done.stderr.splitlines() if "seems to wait" in line]
    assert len(said) == 1
    assert said[0].startswith(f"peakline: {place} (wait) read a value 500 times")
    assert "read these values" not in done.stderr  # -q


def test_a_kernel_of_its_own_and_a_new_block_end_what_is_known_of_their_memory_only(
    lab: Any, tmp_path: Path
) -> None:
    pytest.importorskip("triton")
    words = [str(PROGRAMS / "launches_kernels.py")]
    done = lab.recorded(tmp_path, *words, options=["-q", "--no-record"])
    assert done.status == 0, done.stderr
    known = sum(range(64))
    assert done.said == {
        "are_neighbours": True,
        # Which of its parameters a kernel writes is not known; what is not known reads as zero.
        "after_launch": [known, known, 0, known, known, 0, known, known],
        "is_given_again": True,
        "new_block": 0,
        "has_large_shared_memory": True,
    }


def test_operators_on_symbolic_sizes_are_left_alone(lab: Any) -> None:
    run = lab.run("symbolic_sizes.py")
    assert run.said == ["cuda:0", "SymInt"]
    assert "RecordFunction" not in run.stderr  # torch reports trouble of an observer there
    assert not run.notes

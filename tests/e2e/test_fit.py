"""`peakline fit`: which devices hold a program, what is left, the largest value that fits."""

from __future__ import annotations

import json
import shlex
import shutil
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS, together

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")

GIB = 1 << 30


@pytest.fixture(scope="module")
def swept(lab: Any) -> dict[str, Any]:
    shutil.copy(PROGRAMS / "fits.py", lab.folder / "fits.py")
    options = ["--device", "a100-40,h200", "--sweep", "batch=1,2,4", "--json"]
    done = lab.peakline("fit", "fits.py", *options, "--", "--batch", "{batch}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def result(document: dict[str, Any], device: str, value: str) -> dict[str, Any]:
    return next(r for r in document["results"] if (r["device"], r["value"]) == (device, value))


def test_a_sweep_finds_what_fits_on_each_device(swept: dict[str, Any]) -> None:
    assert swept["simulated"] is True
    verdicts = {(r["device"], r["value"]): r["verdict"] for r in swept["results"]}
    assert verdicts == {
        ("a100-40", "1"): "fits",
        ("a100-40", "2"): "too small",
        ("a100-40", "4"): "skipped",
        ("h200", "1"): "fits",
        ("h200", "2"): "fits",
        ("h200", "4"): "fits",
    }


def test_peaks_are_those_of_the_program_also_where_it_does_not_fit(swept: dict[str, Any]) -> None:
    for device, value in (("a100-40", "1"), ("a100-40", "2"), ("h200", "4")):
        assert result(swept, device, value)["peak_bytes"] == int(value) * 20 * GIB
    one = result(swept, "h200", "1")
    assert one["headroom_bytes"] == one["capacity_bytes"] - one["most_used_bytes"]
    assert one["most_used_bytes"] > one["peak_bytes"]
    two = result(swept, "a100-40", "2")
    assert two["headroom_bytes"] == two["capacity_bytes"] - two["most_used_bytes"] < 0


def test_the_heaviest_line_is_named(swept: dict[str, Any]) -> None:
    text = (PROGRAMS / "fits.py").read_text().splitlines()
    line = next(n for n, word in enumerate(text, 1) if word.endswith("# heaviest"))
    heaviest = result(swept, "h200", "1")["lines"][0]
    assert heaviest == {"location": f"fits.py:{line} (grow)", "bytes": 16 * GIB}


def test_values_are_only_skipped_where_larger_ones_need_more(lab: Any) -> None:
    # 3 needs less than 1: that 2 does not fit says nothing about 4.
    code = (
        "import sys, torch; gib = {'1': 30, '2': 45, '3': 10, '4': 20}[sys.argv[1]];"
        "x = torch.empty(gib << 30, dtype=torch.uint8, device='cuda')"
    )
    words = ["fit", "-c", code, "--device", "a100-40", "--sweep", "n=1,3,2,4", "--", "{n}"]
    done = lab.peakline(*words)
    assert done.returncode == 0, done.stderr
    rows = [line.split()[1:3] for line in done.stdout.splitlines() if line.startswith("a100-40 ")]
    assert rows == [["1", "yes"], ["3", "yes"], ["2", "no"], ["4", "yes"]]
    assert "a100-40: largest tried n that fits: 4" in done.stdout
    # The way on can be typed as it stands, with the largest value that fits.
    hint = shlex.split(done.stdout.splitlines()[-1].split("  ")[0])
    assert hint == ["Next:", "peakline", "run", "--simulate", "a100-40", "-c", code, "4"]


def test_what_was_not_tried_is_said(lab: Any) -> None:
    code = "import sys, torch; torch.empty(int(sys.argv[1]) << 30, device='cuda')"
    words = ["fit", "-c", code, "--device", "l4", "--sweep", "n=8,16", "--", "{n}"]
    assert "Not tried: every n above one that did not fit" in lab.peakline(*words).stdout
    tried = lab.peakline(*words[:-2], "--try-all", *words[-2:])
    assert "not tried" not in tried.stdout.lower()
    assert tried.stdout.count("  no  ") == 2


def test_the_largest_value_is_searched_and_proved(lab: Any) -> None:
    code = "import sys, torch; torch.empty(int(sys.argv[1]) << 27, device='cuda')"
    words = ["fit", "-c", code, "--device", "l4", "--largest", "n", "--json", "--", "{n}"]
    done = lab.peakline(*words)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    [largest] = said["largest"].values()
    verdicts = {int(one["value"]): one["verdict"] for one in said["results"]}
    assert (verdicts[largest["fits"]], verdicts[largest["too_much"]]) == ("fits", "too small")
    assert largest["too_much"] == largest["fits"] + 1
    assert len(verdicts) <= 6
    best = result(said, "l4", str(largest["fits"]))
    assert 0 <= best["headroom_bytes"] < GIB // 2
    assert best["peak_bytes"] == largest["fits"] * GIB // 2


@pytest.fixture(scope="module")
def evaluated(lab: Any) -> dict[str, Any]:
    """Return what was said of a program whose evaluation needs more than its training."""
    shutil.copy(PROGRAMS / "evaluates.py", lab.folder / "evaluates.py")
    words = ["fit", "evaluates.py", "--device", "l4"]
    ways = {
        "steps": ["--sweep", "batch=3", "--steps", "1", "--", "--batch", "{batch}"],
        "whole": ["--sweep", "batch=1,3", "--", "--batch", "{batch}"],
        "saving": ["--", "--save"],
    }
    done = together(
        {way: lambda more=more: lab.peakline(*words, *more) for way, more in ways.items()}
    )
    assert [one.returncode for one in done.values()] == [0, 0, 0], done
    return {way: one.stdout for way, one in done.items()}


def line_of_program(end: str) -> int:
    text = (PROGRAMS / "evaluates.py").read_text().splitlines()
    return next(number for number, line in enumerate(text, 1) if line.endswith(end))


def test_an_evaluation_that_steps_left_out_is_named(evaluated: dict[str, Any]) -> None:
    # Logits of float32 and their softmax, of 4 times the batch: 8 GiB for batch 1.
    assert "largest tried batch that fits: 3" in evaluated["steps"]
    assert "largest tried batch that fits: 1" in evaluated["whole"]
    said = "--steps ended the program after 1 optimizer step: an evaluation or a checkpoint after"
    assert said in evaluated["steps"]
    assert "--steps" not in evaluated["whole"] + evaluated["saving"]


@pytest.mark.parametrize(("way", "place"), [("whole", "evaluation"), ("saving", "saving")])
def test_a_peak_after_the_last_step_is_placed(
    evaluated: dict[str, Any], way: str, place: str
) -> None:
    end = {"whole": "# evaluation", "saving": "# gathered"}[way]
    said = f"evaluates.py:{line_of_program(end)} ({'evaluate' if way == 'whole' else 'save'})"
    [placed] = [
        one for one in evaluated[way].splitlines() if "after the last optimizer step" in one
    ]
    assert said in placed and f"({place}, after the last optimizer step)" in placed


def test_a_library_that_finds_no_memory_for_itself_is_out_of_memory(lab: Any) -> None:
    code = (
        "import torch; free, _ = torch.cuda.mem_get_info();"
        "x = torch.empty(free // (1 << 21) * (1 << 21), dtype=torch.uint8, device='cuda');"
        "one = x[:4096].view(torch.float32).view(32, 32); torch.mm(one, one)"
    )
    done = lab.peakline("fit", "-c", code, "--device", "l4", "--json")
    assert [one["verdict"] for one in json.loads(done.stdout)["results"]] == ["too small"]


def test_a_program_that_fits_nowhere_fails_the_gate(lab: Any) -> None:
    code = "import torch; torch.empty(1 << 33, device='cuda')"
    done = lab.peakline("fit", "-c", code, "--device", "l4")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Simulated devices")
    assert lines[2].split()[:4] == ["l4", "no", "32.00", "GB"]


def test_a_program_that_fails_otherwise_shows_its_last_words(lab: Any) -> None:
    done = lab.peakline("fit", "-c", "raise ValueError('broken')", "--device", "l4")
    assert done.returncode == 2
    assert "ValueError: broken" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["missing.py"], "does not exist"),
        ([], "name one program"),
        (["-c", "0", "--device", "banana"], "no device profile"),
        (["-c", "0", "--sweep", "batch=1,2"], "have no {batch}"),
        (["-c", "0", "--sweep", "batch"], "NAME=VALUE"),
        (["-c", "0", "--largest", "batch"], "have no {batch}"),
        (["-c", "0", "--largest", "batch=0"], "multiples of STEP"),
        (["-c", "0", "--largest", "n", "--sweep", "n=1"], "--sweep or --largest"),
    ],
)
def test_bad_use_is_refused(lab: Any, words: list[str], said: str) -> None:
    done = lab.peakline("fit", *words)
    assert done.returncode == 2
    assert said in done.stderr

"""`--assume routing=...`: the experts that tokens choose on a simulated GPU.

The oracles are arithmetic, and a run of the same program on the CPU, whose routing is real.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lab import ON_GPU, PROGRAMS

pytestmark = pytest.mark.skipif(ON_GPU, reason="about the simulated GPU")
PROGRAM = "experts.py"
TOKENS, EXPERTS, CHOICES = 8192, 32, 4
OF_FOUR = ("by_mask", "by_sort", "by_map", "by_groups")


def said(lab: Any, routing: str, *options: str) -> Any:
    return lab.once(PROGRAM, options=["--assume", f"routing={routing}", *options])


def test_balanced_experts_get_the_same_number_of_tokens(lab: Any) -> None:
    found = said(lab, "balanced").said
    assert {way: found[way] for way in OF_FOUR} == {
        way: [TOKENS * CHOICES // EXPERTS] * EXPERTS for way in OF_FOUR
    }
    assert found["by_best"] == [TOKENS // 8] * 8


def test_the_worst_routing_gives_all_tokens_to_the_first_experts(lab: Any) -> None:
    found = said(lab, "worst").said
    assert {way: found[way] for way in OF_FOUR} == {
        way: [TOKENS] * CHOICES + [0] * (EXPERTS - CHOICES) for way in OF_FOUR
    }
    assert found["by_best"] == [TOKENS] + [0] * 7


def test_a_measured_routing_is_that_of_the_cpu(lab: Any, tmp_path: Path) -> None:
    file = tmp_path / "tokens.txt"
    subprocess.run([sys.executable, str(PROGRAMS / PROGRAM), str(file)], check=True)
    measured = [[int(n) for n in line.split(",")] for line in file.read_text().splitlines()]
    assert [sum(line) for line in measured] == [TOKENS * CHOICES] * 3 + [TOKENS]
    assert len(set(measured[0])) > EXPERTS // 4, "a real routing is uneven"
    found = lab.run(PROGRAM, options=["--assume", f"routing=measured:{file}"]).said
    assert [found[way] for way in ("by_mask", "by_sort", "by_map", "by_best")] == measured


def test_ranks_send_as_many_tokens_as_others_receive(lab: Any) -> None:
    run = said(lab, "balanced", "--world", "8", "--rank", "3")
    assert run.said == {"sent": TOKENS * CHOICES, "received": TOKENS * CHOICES}


def test_the_report_lists_the_choice_and_no_size_that_is_zero(lab: Any) -> None:
    run = said(lab, "balanced")
    table = lab.table(run.trace)
    assert (table["sizes_read_as_zero"], table["too_low"]) == (0, None)
    lines = (PROGRAMS / PROGRAM).read_text().splitlines()
    assumed = [row for row in table["value_reads"] if row["assumed"]]
    assert assumed
    for row in assumed:
        text = lines[row["location"]["line"] - 1]
        assert "topk" in text or "argmax" in text, text


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("routing=even", "'even' is no routing: balanced, worst or measured:FILE"),
        ("routing=measured:none.txt", "none.txt: the routing cannot be read (No such file or"),
        ("routing=measured:words.txt", "words.txt:2: 'many' is no number of tokens"),
        ("routing=measured:empty.txt", "empty.txt: no line with the tokens of each expert"),
    ],
)
def test_a_wrong_routing_is_refused_before_the_program_runs(
    rule: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from peakline.api.assumptions import problem_of

    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("1, 2, 3\n4 many 5\n")
    Path("empty.txt").write_text("\n")
    assert problem in problem_of(rule)


def test_a_program_that_needs_no_routing_says_so(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "plain.py"
    program.write_text("import torch\ntorch.zeros(8, device='cuda')\n")
    run = lab.run(program, options=["--assume", "routing=worst"])
    assert "--assume routing=worst matched no value" in run.stderr, run.stderr

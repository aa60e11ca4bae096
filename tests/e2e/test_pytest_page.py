"""docs/pytest.md: its examples do what it says, and it names every option."""

from __future__ import annotations

import re

from lab import ROOT
from pytest_runs import PytestRuns, summary_of

PAGE = (ROOT / "docs" / "pytest.md").read_text()


def test_the_examples_pass_and_fail_as_the_page_says(run_pytest: PytestRuns) -> None:
    examples = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    run_pytest.write(test_scale=examples)
    done = run_pytest("--peakline", "--junitxml", "junit.xml")
    said = dict(re.findall(r"def (test_\w+)\(.*\):  # (passes|fails)", examples))
    assert len(said) == 5
    seen = {
        name: "passes" if case.outcome == "passed" else "fails"
        for name, case in run_pytest.cases().items()
    }
    assert seen == said
    shown = PAGE.partition("GPU memory (peakline) =")[2].splitlines()[1:]
    lines = [line.removeprefix("    ") for line in shown[: shown.index("")]]
    assert len(lines) == 4
    assert summary_of(done)[: len(lines)] == lines


def test_the_table_has_every_option_as_help_says(run_pytest: PytestRuns) -> None:
    shown = run_pytest("--help").stdout.partition("GPU memory of tests")[2]
    text = " ".join(shown.partition("\n\n")[0].partition(":\n")[2].split())
    options = dict(re.findall(r"(--peakline\S*) (.*?)(?= --peakline|$)", text))
    rows = re.findall(r"^\| `(--peakline\S*)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 9
    assert dict(rows) == options

"""What options take is stated once: --help and the tables of the docs agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "pyhook" / "peakline" / "_report.abi3.so"
DOCS = [path for path in ROOT.rglob("*.md") if not {"build", ".venv"} & set(path.parts)]

pytestmark = pytest.mark.skipif(not ENGINE.exists(), reason="not built: make build")
sys.path.insert(0, str(ROOT / "pyhook"))


@pytest.fixture(scope="module")
def choices() -> dict[str, dict[str, str]]:
    from peakline import _report

    return _report.CHOICES


def peakline(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line; it finds the package because this process does."""
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'pyhook')!r})\n"
    program += "from peakline.commands import main\nsys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def table_rows(document: str, heading: str) -> list[list[str]]:
    """Return the cells of the table whose first heading is this one."""
    lines = (ROOT / document).read_text().splitlines()
    [begin] = [i for i, line in enumerate(lines) if line.startswith(f"| {heading} |")]
    rows = []
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def first_words(document: str, heading: str) -> list[str]:
    """Return the words in backquotes that begin each row of a table."""
    words = []
    for row in table_rows(document, heading):
        words += re.findall(r"`([^`]+)`", row[0])
    return words


def test_the_readme_lists_what_the_options_take(choices: dict[str, dict[str, str]]) -> None:
    rows = {row[0].split(",")[0].strip("`"): row[1] for row in table_rows("README.md", "option")}
    assert rows["--by"].split(", ") == list(choices["by"])
    for option in ("frame", "at", "measure"):
        named = re.findall(r"[a-z]+", re.sub(r"\(.*?\)", "", rows[f"--{option}"]))
        assert set(choices[option]) <= set(named), option


def test_every_key_has_a_row_in_the_description_of_json(choices: dict[str, dict[str, str]]) -> None:
    assert first_words("report/render/JSON.md", "`by`") == list(choices["by"])


def test_the_page_on_frames_lists_the_choices(choices: dict[str, dict[str, str]]) -> None:
    assert first_words("report/attribute/FRAMES.md", "`--frame`") == list(choices["frame"])


def test_no_document_names_a_key_that_does_not_exist(choices: dict[str, dict[str, str]]) -> None:
    named = {key for path in DOCS for key in re.findall(r"--by ([a-z][a-z-]*)", path.read_text())}
    assert len(named) > 5
    # "`--by` says": no key, but a word of the sentence.
    assert named - {"and", "is"} <= set(choices["by"])


def test_help_lists_every_word(choices: dict[str, dict[str, str]]) -> None:
    text = " ".join(peakline("table", "--help").stdout.split()).replace("- ", "-")
    by = text[text.index("--by KEY Group") : text.index("--depth N Keep")]
    for name, meaning in choices["by"].items():
        assert f"{name} ({meaning})" in by
        assert meaning
    for option in ("frame", "measure"):
        assert "{" + ",".join(choices[option]) + "}" in text


def test_help_needs_no_engine_but_that_of_a_report_does(tmp_path: Path) -> None:
    package = tmp_path / "peakline"
    shutil.copytree(
        ROOT / "pyhook" / "peakline", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    command = [sys.executable, "-m", "peakline"]
    for words in (["--help"], ["run", "--help"], ["doctor", "--help"]):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run(
        [*command, "table", "--help"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "the report engine is not built" in done.stderr and "make build" in done.stderr


def test_every_report_of_the_engine_is_a_command_of_its_name() -> None:
    from peakline import _report
    from peakline.commands._reports import REPORTS

    trace = _report.Trace(ROOT / "tests" / "data" / "two_steps.trace")
    with pytest.raises(_report.TraceError) as caught:
        trace.report("?")
    _, listed = str(caught.value).split("there are: ")
    assert sorted(listed.split(", ")) == sorted(one.name for one in REPORTS)


def test_the_documents_name_the_commands_that_exist() -> None:
    from peakline.commands import all_commands

    known = {command.name for command in all_commands()}
    rows = set(first_words("README.md", "command"))
    use = re.findall(r"peakline ([a-z]+)", (ROOT / "README.md").read_text())
    assert rows <= known <= rows | set(use)
    named = {name for path in DOCS for name in re.findall(r"`peakline ([a-z]+)", path.read_text())}
    assert named <= known


def names_in(file: str, table: str) -> list[str]:
    """Return the strings of a table of names in a C++ file of the report."""
    [path] = (ROOT / "report").rglob(file)
    text = path.read_text()
    begin = text.index(f"{table}[]")
    return re.findall(r'"([^"]*)"', text[begin : text.index("};", begin)])


def test_the_rules_of_categories_and_phases_are_those_of_the_engine() -> None:
    categories = set(names_in("by_category.cpp", "kNames")) - {"not asked", "unknown"}
    assert set(first_words("report/attribute/RULES.md", "category")) == categories
    # The text below the table says where zero_grad belongs.
    phases = set(names_in("phase.h", "kPhaseNames")) - {"unknown", "named", "zero_grad"}
    assert set(first_words("report/attribute/RULES.md", "phase")) == phases

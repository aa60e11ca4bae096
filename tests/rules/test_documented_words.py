"""What is stated once, in C++ or in one table: --help, the docs and other files agree with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = [ROOT / "pyhook" / "peakline" / f"{name}.abi3.so" for name in ("_report", "_recorder")]
DOCS = [path for path in ROOT.rglob("*.md") if not {"build", ".venv"} & set(path.parts)]

pytestmark = pytest.mark.skipif(
    not all(library.exists() for library in BUILT), reason="not built: make build"
)
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
    return [word for row in table_rows(document, heading) for word in quoted(row[0])]


def quoted(text: str) -> list[str]:
    """Return the words in backquotes."""
    return re.findall(r"`([^`]+)`", text)


def listed_commands() -> list[str]:
    """Return the commands in the tables of docs/reading.md, one table for each group."""
    page = (ROOT / "docs" / "reading.md").read_text()
    tables = re.findall(r"^\| command \|.*\n\|[ -|]+\n((?:\|.*\n)+)", page, re.MULTILINE)
    return [
        word
        for table in tables
        for row in table.splitlines()
        for word in quoted(row.split(" | ")[0])
    ]


def test_the_page_lists_what_the_options_take(choices: dict[str, dict[str, str]]) -> None:
    page = "docs/reading.md"
    rows = {row[0].split(",")[0].strip("`"): row[1] for row in table_rows(page, "option")}
    assert rows["--by"].split(", ") == list(choices["by"])
    for option in ("frame", "at", "every-measure"):
        row = rows[f"--{option.removeprefix('every-')}"]
        named = re.findall(r"[a-z]+", re.sub(r"\(.*?\)", "", row))
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
    for option in ("frame", "every-measure"):
        assert "{" + ",".join(choices[option]) + "}" in text


def test_help_needs_no_engine_but_that_of_a_report_does(tmp_path: Path) -> None:
    package = tmp_path / "peakline"
    shutil.copytree(
        ROOT / "pyhook" / "peakline", package, ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )
    command = [sys.executable, "-m", "peakline"]
    for words in (["--help"], ["pack", "--help"], ["doctor", "--help"]):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    for name, missing in (("table", "the report engine"), ("run", "the recorder")):
        done = subprocess.run(
            [*command, name, "--help"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert f"{missing} is not built" in done.stderr and "make build" in done.stderr


def test_the_python_versions_are_those_whose_frames_are_read() -> None:
    from peakline import _recorder

    versions = [f"{major}.{minor}" for major, minor in _recorder.PYTHON_VERSIONS]
    project = (ROOT / "pyproject.toml").read_text()
    assert re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project) == versions
    assert f'requires-python = ">={versions[0]}"' in project
    for page in ("README.md", "docs/limits.md"):
        text = (ROOT / page).read_text()
        assert re.findall(r"CPython (3\.\d+) to (3\.\d+)", text) == [(versions[0], versions[-1])]
    tested = (ROOT / "tests" / "unit" / "pyhook" / "interpreters.py").read_text()
    assert re.findall(r'"(3\.\d+)"', tested) == versions


def test_every_report_of_the_engine_is_a_command_of_its_name() -> None:
    from peakline import _report
    from peakline.commands import advise, plan
    from peakline.commands.shared.reports import REPORTS

    trace = _report.Trace(ROOT / "tests" / "data" / "two_steps.trace")
    with pytest.raises(_report.TraceError) as caught:
        trace.report("?")
    _, listed = str(caught.value).split("there are: ")
    assert sorted(listed.split(", ")) == sorted(
        [advise.NAME, plan.NAME, *(one.name for one in REPORTS)]
    )


def test_the_documents_name_the_commands_that_exist() -> None:
    from peakline.commands import all_commands

    known = {command.name for command in all_commands()}
    rows = listed_commands()
    assert len(rows) == len(set(rows))
    assert set(rows) == known
    named = {name for path in DOCS for name in re.findall(r"`peakline ([a-z]+)", path.read_text())}
    assert named <= known


def names_in(file: str, table: str) -> list[str]:
    """Return the strings of a table of names in a C++ file of the report."""
    [path] = (path for path in (ROOT / "report").rglob("*") if path.as_posix().endswith(f"/{file}"))
    text = path.read_text()
    begin = text.index(f"{table}[]")
    return re.findall(r'"([^"]*)"', text[begin : text.index("};", begin)])


def test_the_rules_of_categories_and_phases_are_those_of_the_engine() -> None:
    from peakline._report import CATEGORIES

    categories = {name for name, *_ in CATEGORIES} - {"untraced", "unknown"}
    assert set(first_words("report/attribute/RULES.md", "category")) == categories
    # The text below the table says where zero_grad belongs.
    phases = set(names_in("phase.h", "kPhaseNames")) - {"unknown", "named", "zero_grad"}
    assert set(first_words("report/attribute/RULES.md", "phase")) == phases


def test_the_formats_of_export_are_documented() -> None:
    from peakline.exports import FORMATS

    rows = table_rows("docs/exports.md", "format")
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        (one.name, one.help) for one in FORMATS.values()
    ]


def test_the_kinds_of_limits_are_documented_and_group_rows_as_tables_do(
    choices: dict[str, dict[str, str]],
) -> None:
    from peakline.differences.limits.limit import LEVELS, PHASE, TABLES

    rows = table_rows("docs/ci.md", "limit")
    kinds = {**LEVELS, **{f"[{name}]": meaning for name, meaning in TABLES.items()}}
    assert [(row[0].strip("`"), row[1]) for row in rows] == [*kinds.items()]
    assert TABLES.keys() - {PHASE} <= choices["by"].keys()


def test_the_metrics_are_documented() -> None:
    from peakline.monitor.metrics import METRICS, PREFIX

    rows = table_rows("examples/monitoring/README.md", "metric")
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        (PREFIX + name, meaning) for name, meaning in METRICS.items()
    ]


def test_the_tables_of_a_fleet_are_documented() -> None:
    from peakline.fleet.schema import TABLES

    for name, columns in TABLES.items():
        rows = table_rows("docs/fleet.md", f"column of `{name}`")
        assert [(row[0].strip("`"), *row[1:]) for row in rows] == [
            (column.name, column.type, column.meaning) for column in columns
        ]


def test_the_questions_about_a_fleet_are_documented() -> None:
    from peakline.fleet.questions import QUESTIONS

    rows = table_rows("docs/fleet.md", "question")
    assert [(row[0].strip("`"), row[1]) for row in rows] == [
        (one.name, one.asks) for one in QUESTIONS.values()
    ]


def test_findings_have_an_entry_for_each_cause() -> None:
    source = (ROOT / "report/views/advice/rules/causes.cpp").read_text()
    causes = re.findall(r'\{"(\w+)", CauseKind::k(\w+)', source)
    page = (ROOT / "docs/findings.md").read_text()
    told = []
    for part in page.split("\n## ")[1:]:
        kind = part.splitlines()[0].removesuffix("s")
        told += [(name, kind) for name in re.findall(r"^### (\w+)$", part, re.MULTILINE)]
    assert sorted(told) == sorted(causes)
    schema = (ROOT / "report/render/JSON.md").read_text()
    [row] = [line for line in schema.splitlines() if line.startswith("| `.rule` | its stable name")]
    names = set(re.findall(r"`(\w+)`", row.split("its stable name")[1]))
    assert names == {name for name, _ in causes}


def test_the_kinds_of_the_ledger_are_documented() -> None:
    page = (ROOT / "report/render/JSON.md").read_text()
    [section] = [part for part in page.split("\n## ") if part.startswith("`peakline ledger")]
    kinds = names_in("views/ledger/ledger.cpp", "kNames")
    assert [kind for kind in kinds if f"`{kind}`" not in section] == []


def test_rules_name_causes_of_the_list() -> None:
    folder = ROOT / "report/views/advice/rules"
    listed = set(re.findall(r'\{"(\w+)", CauseKind', (folder / "causes.cpp").read_text()))
    said = set()
    for path in (*folder.glob("*.cpp"), *(folder.parent / "layers").glob("*.cpp")):
        text = path.read_text()
        said |= set(re.findall(r'\.?rule = (?:is_kept \? )?"(\w+)"', text))
        said |= {name for name in listed if f'"{name}"' in text and path.name != "causes.cpp"}
    assert said == listed

"""README and docs: command lines are those of the program, and relative links lead to files."""

from __future__ import annotations

import dataclasses
import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("README*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").rglob("README.md")),
    *sorted((ROOT / "skills").rglob("*.md")),
]
BUILT = [ROOT / "pyhook" / "peakline" / f"{name}.abi3.so" for name in ("_report", "_recorder")]
# Blocks of other languages: "text" is the output of a command.
SHELLS = {"", "sh", "bash", "console"}
# Pages that teach: a reader finishes them in one sitting.
TUTORIALS = (
    "getting-started",
    "job-died",
    "what-grows",
    "torch-compile",
    "will-it-fit",
    "a-plan-that-fits",
    "many-gpus",
    "long-runs",
    "notebooks",
    "ci",
    "troubleshooting",
    "glossary",
)

sys.path.insert(0, str(ROOT / "pyhook"))


def fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Return language and content of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands_of(line: str) -> Iterator[list[str]]:
    """Split a line of a shell into its commands, without its comment and the prompt `$ `."""
    words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    command: list[str] = []
    for word in words:
        if set(word) <= set("();<>|&"):
            yield command
            command = []
        # Settings of variables, and the `$` of `$(...)`.
        elif command or not re.match(r"[A-Z_]+=|\$$", word):
            command.append(word)
    yield command


def peakline_commands(text: str) -> Iterator[list[str]]:
    """Return the words behind `peakline` for each of its command lines in the fenced blocks."""
    for language, block in fenced_blocks(text):
        if language in SHELLS:
            for line in block.replace("\\\n", " ").splitlines():
                if re.search(r"\bpeakline [a-z-]", line) and "Next:" not in line:
                    for words in commands_of(line):
                        # Launchers stand before it: srun, docker run, sudo.
                        if "peakline" in words[:-1]:
                            yield words[words.index("peakline") + 1 :]


def parse(words: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Parse the words as the program does, without a run; return the error, or ''."""
    from peakline import commands

    find = commands.commands_for
    with monkeypatch.context() as patch:
        patch.setattr(commands, "_find_traces", lambda _: None)
        patch.setattr(
            commands,
            "commands_for",
            lambda words: [dataclasses.replace(one, run=lambda _: 0) for one in find(words)],
        )
        said = io.StringIO()
        try:
            with redirect_stderr(said), redirect_stdout(said):
                status = commands.main(words)
        except SystemExit as end:
            status = int(end.code or 0)
    return said.getvalue() or f"status {status}" if status else ""


def broken_links(page: Path, text: str) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)\s]+)\)", prose)
    targets += re.findall(r'\b(?:src|href)="([^"\s]+)"', prose)
    for listed in re.findall(r'\bsrcset="([^"]+)"', prose):
        targets += [one.split()[0] for one in listed.split(",")]
    broken = []
    for target in targets:
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = page.parent / path if path else page
        is_there = file.exists()
        if is_there and anchor:
            is_there = anchor in anchors(text if not path else file.read_text())
        if not is_there:
            broken.append(target)
    return broken


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


needs_engine = pytest.mark.skipif(
    not all(library.exists() for library in BUILT), reason="not built: make build"
)


@needs_engine
@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_command_lines_of_pages_are_those_of_the_program(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        f"peakline {shlex.join(words)}: {fault}"
        for words in peakline_commands(page.read_text())
        if (fault := parse(words, monkeypatch))
    ]
    assert not found, "\n".join(found)


def test_the_readme_and_every_tutorial_have_command_lines() -> None:
    counts = {page: len(list(peakline_commands(page.read_text()))) for page in PAGES}
    taught = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in TUTORIALS[:-1])]
    assert not {page.name: counts[page] for page in taught if counts[page] < 3}
    assert sum(counts.values()) > 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_relative_links_of_pages_lead_to_files(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_tutorials_are_short() -> None:
    lengths = {
        name: len((ROOT / "docs" / f"{name}.md").read_text().splitlines()) for name in TUTORIALS
    }
    assert not {name: length for name, length in lengths.items() if length > 150}


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert 600 <= len((ROOT / "README.md").read_text().split()) <= 900


def without_comments(block: str) -> list[str]:
    """Return the command lines of a block: comments are in the language of the page."""
    return [re.sub(r"\s+# .*", "", line) for line in block.splitlines()]


def test_the_chinese_readme_has_the_commands_of_the_english_pages() -> None:
    chinese, english, job_died = (
        [without_comments(block) for _, block in fenced_blocks((ROOT / page).read_text())]
        for page in ("README.zh-CN.md", "README.md", "docs/job-died.md")
    )
    assert chinese[: len(english)] == english
    first_ten_minutes = chinese[len(english) :]
    assert len(first_ten_minutes) > 3
    assert [block for block in first_ten_minutes if block not in job_died] == []


def test_the_chinese_readme_has_the_links_and_headings_of_the_english_one() -> None:
    chinese, english = ((ROOT / page).read_text() for page in ("README.zh-CN.md", "README.md"))
    links = re.compile(r"\]\(([^)\s]+)\)")
    assert set(links.findall(english)) <= set(links.findall(chinese))
    assert chinese.count("\n## ") == english.count("\n## ") + 1


def test_the_list_of_pages_is_complete() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs" / "README.md").read_text())
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages == set(listed)
    assert len(listed) == len(set(listed))


@needs_engine
@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("peakline tabel run.peak", "no command 'tabel'"),
        ("peakline table --wat run.peak", "no option --wat"),
        ("$ peakline table --frame lines run.peak", "lines"),
        ("A=1 peakline run --simulate h200 --wat train.py", "--wat"),
        ("python -c 1 && peakline ledger --native run.peak  # words", "no option --native"),
        ("docker run -v $PWD:/app IMAGE peakline html --wat a.peak", "html has no option --wat"),
        ("X=$(peakline preload --wat) python train.py", "no option --wat"),
        ("peakline fit train.py --sweep batch=1 --wat 1 -- --batch {batch}", "no option --wat"),
    ],
)
def test_the_rule_finds_a_planted_fault(
    line: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [words] = peakline_commands(f"Text.\n\n```\n{line}\n```\n")
    assert fault in parse(words, monkeypatch)


@needs_engine
@pytest.mark.parametrize(
    "line",
    [
        "peakline run train.py --epochs 1  # words --wat",
        "peakline run -- torchrun --nproc-per-node 2 train.py",
        "peakline fit train.py --sweep batch=1,2 -- --batch {batch}",
        "peakline advise --try train.py --simulate h200 -- --wat",
        "LD_PRELOAD=$(peakline preload) python train.py",
        "peakline table a.peak | head -3; peakline leaks a.peak > leaks.txt",
    ],
)
def test_the_rule_lets_good_lines_pass(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(peakline_commands(f"```\n{line}\n```\n"))
    assert found
    assert not [fault for words in found if (fault := parse(words, monkeypatch))]


def test_output_and_python_are_no_command_lines() -> None:
    text = "```text\npeakline tabel\n```\n```python\npeakline.open()\n```\n`peakline tabel`\n"
    assert list(peakline_commands(text)) == []


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[a](docs/README.md) [b](README.md#peakline)", []),
        ("[a](docs/none.md)", ["docs/none.md"]),
        ("[a](README.md#none)", ["README.md#none"]),
        ("# A b\n[a](#a-b) [b](#a-c)", ["#a-c"]),
        ('<img src="docs/pictures/none.png">', ["docs/pictures/none.png"]),
        (
            '<img srcset="docs/pictures/table-dark.png 1x, docs/pictures/none.png 2x">',
            ["docs/pictures/none.png"],
        ),
        ("[a](https://example.com/none) `[a](b)`", []),
    ],
)
def test_the_rule_finds_broken_links(text: str, broken: list[str]) -> None:
    assert broken_links(ROOT / "README.md", text) == broken

"""Comments, docstrings and documents are plain English: subject, verb, object, the field's words.

Run this file as a program to list the findings of some rooms:
python tests/rules/test_plain_english.py preload/hooks report/views
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("allocator", "preload", "pyhook", "report", "docs")
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md")
CODE = {".cpp", ".h", ".js", ".py"}
SKIPPED = {"build", "__pycache__", "node_modules", ".venv", "peakline.egg-info"}
BUILT = ("pyhook/peakline/page/", "pyhook/peakline/_native/")  # made by make, not in git
# These folders are too large for one room: each folder in them is a room.
SPLIT = ("preload/simulate", "preload/simulate/gpu")

# Uses per 1,000 words: twice the rate in the comments of memray and heaptrack, 0.3 where they have
# none. One use is free, so that a short room is not judged by one word.
BOUNDS = {
    "what": 1.2,
    "asked": 0.3,
    "says": 0.3,
    "said": 0.3,
    "whose": 0.3,
    "stands": 0.3,
    "place": 0.6,
}
OPENING = re.compile(r"(?:^|[.!?:]\s+)((?:What|Of|Who|That|Whose|Between)\b[^.!?]*(?:[.!?]|$))")
NAMES = re.compile(r"_?(?:tell|told|said)_\w+|\w+_(?:told|said)_?|Told\w*|said\w*|told")

# Rooms that are not rewritten yet, each with its number of findings. The numbers may only fall.
NOT_YET: dict[str, int] = {}

C_TOKENS = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)
    |R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`
    |(?<=[=(,:!&|?])\s*/(?![/*])(?:\\.|\[[^\]\n]*\]|[^/\\\n])+/
    |(?P<name>[A-Za-z_]\w*)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass
class Text:
    """The prose and the identifiers of one file."""

    paragraphs: list[str] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)


def join_lines(lines: list[tuple[int, bool, str]]) -> Iterator[str]:
    """Join comments of lines in a row to paragraphs; a comment behind code is one by itself."""
    paragraph: list[str] = []
    after = -1
    for number, alone, text in lines:
        if paragraph and not (alone and number == after and text):
            yield " ".join(paragraph)
            paragraph = []
        if text:
            paragraph.append(text)
        after = number + 1 if alone else -1
    if paragraph:
        yield " ".join(paragraph)


def read_c(source: str) -> Text:
    text = Text()
    lines = []
    for match in C_TOKENS.finditer(source):
        if match["name"]:
            text.names[match["name"]] += 1
        comment = match["line"] or match["block"]
        if comment and not comment.startswith("// NOLINT"):
            number = source.count("\n", 0, match.start())
            before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
            bare = re.sub(r"^(?://|/\*+)\s?|\*+/$|^\s*\*\s?", "", comment, flags=re.MULTILINE)
            lines.append((number, not before.strip(), " ".join(bare.split())))
    text.paragraphs += join_lines(lines)
    return text


def read_python(source: str) -> Text:
    text = Text()
    lines = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            text.names[token.string] += 1
        elif token.type == tokenize.COMMENT and not token.string.startswith(("# type:", "# noqa")):
            row, column = token.start
            alone = not token.line[:column].strip()
            lines.append((row, alone, token.string.lstrip("#! ")))
    text.paragraphs += join_lines(lines)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(source)):
        docstring = ast.get_docstring(node) if isinstance(node, documented) else None
        text.paragraphs += (docstring or "").split("\n\n")
    return text


def read_document(source: str) -> Text:
    prose = re.sub(r"^ *```.*?^ *```", "\n", source, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"`[^`\n]+`", "`code`", prose)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|]|\d+\.)\s?)|\|", prose)
    return Text([part.strip(" #*-\n") for part in parts])


def room_of(path: Path) -> str:
    """Return the folder below which a file is counted: two levels, one more in large folders."""
    folders = path.parent.as_posix().split("/")
    depth = 2
    while "/".join(folders[:depth]) in SPLIT and len(folders) > depth:
        depth += 1
    return "/".join(folders[:depth])


def files() -> Iterator[Path]:
    for top in PRODUCT:
        for path in sorted((ROOT / top).rglob("*")):
            relative = path.relative_to(ROOT)
            is_source = path.suffix in CODE | {".md"} and not str(relative).startswith(BUILT)
            if is_source and not SKIPPED & set(relative.parts):
                yield relative
    yield from map(Path, DOCUMENTS)


def read(path: Path, source: str) -> Text:
    if path.suffix == ".py":
        return read_python(source)
    return read_document(source) if path.suffix == ".md" else read_c(source)


def faults_of(texts: dict[Path, Text]) -> list[str]:
    """Return what is wrong in a room: one line for each finding."""
    found = []
    uses: dict[str, list[str]] = defaultdict(list)
    words = 0
    for path, text in texts.items():
        for paragraph in text.paragraphs:
            flat = " ".join(paragraph.split())
            openings = [one for one in OPENING.findall(flat) if not one.endswith("?")]
            found += [f"{path}: begins: {opening}" for opening in openings]
            for match in re.finditer(r"[A-Za-z']+", flat):
                words += 1
                if (word := match[0].lower()) in BOUNDS:
                    around = flat[max(0, match.start() - 50) : match.end() + 50]
                    uses[word].append(f"{path}: {word}: {around}")
        found += [f"{path}: name: {name}" for name in text.names if NAMES.fullmatch(name)]
    for word, bound in BOUNDS.items():
        free = max(1, int(bound * words / 1000))
        found += uses[word][free:]
    return found


@cache
def rooms() -> dict[str, list[str]]:
    texts: dict[str, dict[Path, Text]] = defaultdict(dict)
    for path in files():
        texts[room_of(path)][path] = read(path, (ROOT / path).read_text())
    return {room: faults_of(of_room) for room, of_room in texts.items()}


def test_every_room_is_plain_english() -> None:
    worse = {room: found for room, found in rooms().items() if len(found) > NOT_YET.get(room, 0)}
    lines = [
        f"{room}: {len(found)} findings, {NOT_YET.get(room, 0)} allowed:\n  " + "\n  ".join(found)
        for room, found in worse.items()
    ]
    assert not worse, "\n".join(lines)


def test_the_list_names_only_rooms_that_need_it() -> None:
    clean = {room for room in NOT_YET if not rooms().get(room)}
    assert not clean, f"plain now: take them off NOT_YET: {sorted(clean)}"


@pytest.mark.parametrize(
    ("name", "source", "finding"),
    [
        ("a.h", "// What is left.\nint a;\n", "begins: What is left."),
        ("a.h", "// It ends. Of\n// those, two.\n", "begins: Of those, two."),
        ("a.js", "const a = `// What`;  // Who asks.\n", "begins: Who asks."),
        ("a.py", 'def f():\n    """Ends. Whose it is."""\n', "begins: Whose it is."),
        ("a.py", "x = 1\n# Between\n# two.\n", "begins: Between two."),
        ("a.md", "A table:\n\n| a | That one. |\n", "begins: That one."),
        ("a.h", "// As he says.\n// It says so.\n", "says: As he says. It says so."),
        ("a.cpp", "int told_bytes = 0;\n", "name: told_bytes"),
        ("a.cpp", "TellTale a; ToldNames b;\n", "name: ToldNames"),
        ("a.py", "said = tell_size()\n", "name: said"),
        ("a.py", "def tell_size(): ...\n", "name: tell_size"),
    ],
)
def test_the_rule_finds_planted_text(name: str, source: str, finding: str) -> None:
    path = Path(name)
    assert f"{name}: {finding}" in faults_of({path: read(path, source)})


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.h", '#include "what.h"\nconst char* a = "What // Who";\n// It uses what it has.\n'),
        ("a.py", "# It works.\nx = 'What'  # per event\ny = file.tell()\n"),
        ("a.md", "## What does it cost?\n\n    code\n```\nWhat is here\n```\n"),
    ],
)
def test_the_rule_lets_plain_text_pass(name: str, source: str) -> None:
    path = Path(name)
    assert faults_of({path: read(path, source)}) == []


def test_the_rule_reads_every_kind_of_file() -> None:
    assert {path.suffix for path in files()} == CODE | {".md"}
    assert len(rooms()) > 30
    assert NOT_YET.keys() <= rooms().keys()


if __name__ == "__main__":
    for room, found in sorted(rooms().items()):
        chosen = not sys.argv[1:] or any(room.startswith(part) for part in sys.argv[1:])
        if chosen and sys.argv[1:]:
            print("\n".join(found))
        if chosen and found:
            print(f'    "{room}": {len(found)},')

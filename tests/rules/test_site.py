"""The documentation site: all its pages are in the navigation, links stay inside, and commands are
described as their parsers have them. `make docs` builds it, which needs tools that tests do not.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_pages import needs_engine, parse, peakline_commands

ROOT = Path(__file__).resolve().parents[2]
CONFIG = (ROOT / "mkdocs.yml").read_text()
MADE = {"api.md", "commands/index.md"}

sys.path.insert(0, str(ROOT / "docs" / "site"))

import assemble  # noqa: E402
import links  # noqa: E402


def pages_in_navigation() -> list[str]:
    return re.findall(r"^ +- (?:.*: )?(\S+\.md)$", CONFIG, re.MULTILINE)


def test_the_navigation_has_every_page_once() -> None:
    listed = pages_in_navigation()
    assert len(listed) == len(set(listed))
    assert set(listed) == {*assemble.site_names().values(), *MADE}


def test_the_site_loads_nothing_and_fails_on_dead_links() -> None:
    assert "\n  font: false\n" in CONFIG
    assert "\nstrict: true\n" in CONFIG
    checked = re.findall(
        r"^  (omitted_files|absolute_links|\w+_links|anchors): warn$", CONFIG, re.M
    )
    assert len(checked) == 4


def test_links_between_copied_pages_lead_to_their_names_on_the_site() -> None:
    names = assemble.site_names()
    pages = dict(assemble.pages_of_repository())
    assert pages.keys() == set(names.values())
    for name, text in pages.items():
        prose = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", prose):
            file = target.partition("#")[0]
            if file and "://" not in file:
                aimed = (Path("/") / name).parent / file
                assert str(aimed.resolve()).lstrip("/") in {*pages, *MADE}, f"{name}: {target}"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("README.md", "[a](docs/limits.md#x)", "[a](limits.md#x)"),
        ("README.md", 'src="docs/pictures/a.png"', 'src="pictures/a.png"'),
        (
            "README.md",
            'srcset="docs/pictures/a.png 1x, docs/pictures/b.png 2x"',
            'srcset="pictures/a.png 1x, pictures/b.png 2x"',
        ),
        ("docs/limits.md", "[all](README.md) [a](#b)", "[all](pages.md) [a](#b)"),
        ("docs/limits.md", "[`a`](../report/render/JSON.md)", "[`a`](json.md)"),
        ("docs/limits.md", "[the rule](../report/views/a.h)", "the rule"),
        ("docs/limits.md", "[a](https://example.com/a.md)", "[a](https://example.com/a.md)"),
        ("docs/limits.md", "```\n[a](../b.h)\n```\n", "```\n[a](../b.h)\n```\n"),
        ("examples/README.md", "[a](../docs/limits.md)", "[a](../limits.md)"),
    ],
)
def test_links_are_moved(path: str, text: str, expected: str) -> None:
    assert assemble.with_links_of_site(text, path, assemble.site_names()) == expected


@pytest.mark.parametrize(
    ("html", "faults"),
    [
        ('<a href="b.html">b</a> <a href="b.html#x">x</a> <a href="#top">t</a>', []),
        ('<a href="c.html">c</a>', ["dead link c.html"]),
        ('<a href="b.html#y">y</a>', ["dead link b.html#y"]),
        ('<img src="none.png">', ["dead link none.png"]),
        ('<img srcset="b.html 1x, none.png 2x">', ["dead link none.png"]),
        ('<a href="https://example.com/">e</a>', []),
        ('<script src="https://example.com/a.js"></script>', ["loads https://example.com/a.js"]),
        ('<link rel="stylesheet" href="//example.com/a.css">', ["loads //example.com/a.css"]),
    ],
)
def test_the_check_of_the_site_finds_planted_faults(
    tmp_path: Path, html: str, faults: list[str]
) -> None:
    (tmp_path / "a.html").write_text(f'<h1 id="top">a</h1>{html}')
    (tmp_path / "b.html").write_text('<h2 id="x">b</h2>')
    assert links.faults_of(tmp_path) == [f"a.html: {fault}" for fault in faults]


@needs_engine
def test_the_page_of_a_command_has_all_that_help_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    import command_pages
    import manual
    from peakline.commands import all_commands
    from worked import BEFORE, PARSED, RECORDINGS, WORKED

    commands = manual.manuals()
    assert [one.name for one in commands] == [one.name for one in all_commands()]
    assert {one.name for one in commands} == {"run", *WORKED, *PARSED}
    for one in commands:
        page = command_pages.page_of(one, {})
        for entry in (entry for entries in one.sections.values() for entry in entries):
            assert all(form.replace("|", "\\|") in page for form in entry.forms), one.name
        assert one.usage in page and all(example in page for example in one.examples)
        faults = [parse(words, monkeypatch) for words in peakline_commands(page)]
        assert not any(faults), faults
    lines = [*RECORDINGS, *BEFORE.values(), *(one.words for one in WORKED.values())]
    [*words] = peakline_commands(
        "```\n" + "\n".join(f"peakline {one}" for one in lines) + "\n```\n"
    )
    assert len(words) == len(lines)
    assert not any(parse(one, monkeypatch) for one in words)
    index = command_pages.index_of(commands, "")
    assert all(f"]({one.name}.md)" in index for one in commands)


@needs_engine
def test_every_command_has_a_manual_page(tmp_path: Path) -> None:
    import man_pages
    import manual

    man_pages.main(tmp_path)
    commands = manual.manuals()
    names = {"peakline.1", *(f"peakline-{one.name}.1" for one in commands)}
    assert {path.name for path in tmp_path.iterdir()} == names
    if groff := shutil.which("groff"):
        command = [
            groff,
            "-man",
            "-ww",
            "-Tutf8",
            "-P-cbou",
            "-rLL=300n",
            *sorted(tmp_path.iterdir()),
        ]
        read = subprocess.run(command, capture_output=True, text=True)
        assert (read.returncode, read.stderr) == (0, "")
        text = " ".join(read.stdout.replace("\u2010", "-").replace("\u2212", "-").split())
        for one in commands:
            assert f"peakline-{one.name} - {one.short.rstrip('.')}" in text
            for entry in (entry for entries in one.sections.values() for entry in entries):
                assert f"{', '.join(entry.forms)} {entry.help}" in text, (one.name, entry)

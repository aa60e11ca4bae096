"""Collects the pages of the documentation site in one folder, with links that lead inside it.

    python docs/site/assemble.py FOLDER

The pages of docs/ and a few others of the repository are copied, those of the commands and of the
Python API are made. A link to a file that is no page of the site becomes plain text: the site is
read without the repository. mkdocs.yml has the order of the pages.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).resolve().parents[2]
# Pages that have another name on the site; all others of docs/ keep theirs.
ELSEWHERE = {
    "README.md": "index.md",
    "README.zh-CN.md": "zh-CN.md",
    "docs/README.md": "pages.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "report/render/JSON.md": "json.md",
    "report/attribute/FRAMES.md": "frames.md",
    "report/attribute/RULES.md": "rules.md",
    "preload/VISIBLE.md": "visible.md",
    "tests/bench/RESULTS.md": "results-cost.md",
    "tests/fidelity/RESULTS.md": "results-fidelity.md",
    "tests/fidelity/PLANS.md": "results-plans.md",
    "tests/reference/COVERAGE.md": "coverage.md",
    "examples/README.md": "examples/index.md",
}
API_HEAD = """# Python API: reference

[In Python](python.md) describes the ways to use these names. They are all in the module `peakline`.
"""
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
SOURCE = re.compile(r'\b(src|href)="([^"\s]+)"')
SOURCES = re.compile(r'\bsrcset="([^"]+)"')  # "a.png 1x, a-2x.png 2x"
FENCED = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


def site_names() -> dict[str, str]:
    """Return the name of each page on the site, by its path in the repository."""
    docs = {f"docs/{path.name}": path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    examples = {
        f"examples/{path.parent.name}/README.md": f"examples/{path.parent.name}.md"
        for path in sorted((ROOT / "examples").glob("*/README.md"))
    }
    return {**docs, **examples, **ELSEWHERE}


def pages_of_repository() -> Iterator[tuple[str, str]]:
    """Return the name and text of each page that is copied."""
    names = site_names()
    for path, name in names.items():
        yield name, with_links_of_site((ROOT / path).read_text(), path, names)


def with_links_of_site(text: str, path: str, names: Mapping[str, str]) -> str:
    """Return the text of a page with links from its new name to those of the others."""

    def link(found: re.Match[str]) -> str:
        moved = moved_target(found[2], path, names)
        return found[1] if moved is None else f"[{found[1]}]({moved})"

    def source(found: re.Match[str]) -> str:
        return f'{found[1]}="{moved_target(found[2], path, names) or found[2]}"'

    def sources(found: re.Match[str]) -> str:
        listed = [one.split() for one in found[1].split(",")]
        moved = [[moved_target(file, path, names) or file, *rest] for file, *rest in listed]
        return f'srcset="{", ".join(" ".join(one) for one in moved)}"'

    parts = FENCED.split(text)
    prose = "".join(
        part if number % 2 else SOURCES.sub(sources, SOURCE.sub(source, part))
        for number, part in enumerate(parts)
    )
    # The text of a link may hold code; only fenced blocks have none.
    blocks = re.split(r"(^ *```.*?^ *```)", prose, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if number % 2 else LINK.sub(link, part) for number, part in enumerate(blocks)
    )


def moved_target(target: str, path: str, names: Mapping[str, str]) -> str | None:
    """Return the target of a link on the site; None if it is not on it."""
    file, hash_sign, anchor = target.partition("#")
    if not file or re.match(r"[a-z]+:", target):
        return target
    aimed = normpath(PurePosixPath(path).parent / file)
    picture = re.sub(r"^docs/(?=pictures/)", "", aimed)
    name = names.get(aimed, picture if picture != aimed else "")
    if not name:
        return None
    start = PurePosixPath(names[path]).parent.as_posix()
    return relpath(name, start) + hash_sign + anchor


def api_page() -> str:
    """Return the page of the Python API; mkdocstrings fills it from the docstrings."""
    sys.path.insert(0, str(ROOT / "pyhook"))
    import peakline

    names = sorted({*peakline.__all__, "open"}, key=str.lower)
    return "\n".join([API_HEAD, *(f"::: peakline.{name}\n" for name in names)])


def assemble(folder: Path) -> None:
    """Write all pages and pictures into a new folder."""
    import command_pages

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "pictures", folder / "pictures")
    program = (ROOT / "docs" / "site" / "train.py").read_text()
    commands = {f"commands/{name}": text for name, text in command_pages.pages(program).items()}
    for name, text in (*pages_of_repository(), ("api.md", api_page()), *commands.items()):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    print(f"assembled {len(list(folder.rglob('*.md')))} pages in {folder}")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))

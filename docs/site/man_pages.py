"""Writes a manual page of section 1 for peakline and each command: `make man`.

    python docs/site/man_pages.py FOLDER

The pages are made from the parsers of the commands (manual.py); `man -l FOLDER/peakline-table.1`
shows one. Nothing installs them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from manual import Entry, Manual, manuals
from peakline import __version__
from peakline.commands.shared.groups import EXAMPLES, GROUPS

DESCRIPTION = "show which lines of a PyTorch program hold the GPU memory at its peak"


def escaped(text: str) -> str:
    """Return text that roff prints as it is, also where a line begins with a control character."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", plain, flags=re.MULTILINE)


def page_of(manual: Manual) -> str:
    """Return the page of a command."""
    name = f"peakline-{manual.name}"
    lines = [*_head(name, manual.short.rstrip(".")), *_synopsis(manual.usage)]
    lines += [".SH DESCRIPTION", escaped(manual.help)]
    for title, entries in manual.sections.items():
        lines += [f".SH {title.upper()}", *(line for one in entries for line in _entry(one))]
    lines += _examples(manual.examples)
    lines += _see_also(["peakline", *(f"peakline-{one}" for one in manual.related)])
    return "\n".join(lines) + "\n"


def overview_of(commands: Sequence[Manual]) -> str:
    """Return the page of `peakline`, which lists the commands in groups."""
    lines = [*_head("peakline", DESCRIPTION), *_synopsis("peakline COMMAND ...")]
    lines += [".SH DESCRIPTION"]
    lines.append("Each command has a page of its own, such as " + _reference("peakline-table"))
    for group, names in GROUPS.items():
        lines.append(f".SS {escaped(group)}")
        for manual in commands:
            if manual.name in names:
                lines += [".TP", f"\\fB{escaped(manual.name)}\\fR", escaped(manual.short)]
    lines += [*_examples(EXAMPLES), *_see_also([f"peakline-{one.name}" for one in commands])]
    return "\n".join(lines) + "\n"


def _head(name: str, meaning: str) -> Iterator[str]:
    title = name.upper().replace("-", "\\-")
    yield f'.TH "{title}" "1" "" "peakline {__version__}" "User Commands"'
    yield ".nh\n.ad l"  # no hyphens in options, no wide gaps
    yield ".SH NAME"
    yield f"{escaped(name)} \\- {escaped(meaning)}"


def _synopsis(usage: str) -> Iterator[str]:
    words = escaped(" ".join(usage.split())).split(" ")
    yield ".SH SYNOPSIS"
    yield f"\\fB{' '.join(words[:2])}\\fR {' '.join(words[2:])}".rstrip()


def _entry(entry: Entry) -> Iterator[str]:
    forms = (form.partition(" ") for form in entry.forms)
    yield ".TP"
    yield ", ".join(
        f"\\fB{escaped(name)}\\fR {escaped(value)}".rstrip() for name, _, value in forms
    )
    yield escaped(entry.help)


def _examples(lines: Sequence[str]) -> Iterator[str]:
    yield from (".SH EXAMPLES", ".nf", *map(escaped, lines), ".fi")


def _see_also(names: Sequence[str]) -> Iterator[str]:
    yield ".SH SEE ALSO"
    yield ",\n".join(map(_reference, names))


def _reference(name: str) -> str:
    return f"\\fB{escaped(name)}\\fR(1)"


def main(folder: Path) -> None:
    """Write the pages."""
    commands = manuals()
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"peakline": overview_of(commands)}
    pages |= {f"peakline-{one.name}": page_of(one) for one in commands}
    for name, text in pages.items():
        (folder / f"{name}.1").write_text(text)
    print(f"wrote {len(pages)} pages; read one with: man -l {folder}/peakline-table.1")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

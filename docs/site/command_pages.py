"""Makes the page of each command: its usage, options and examples, and a worked example.

The parsers of the commands (manual.py) are the source of all but the worked example (worked.py).
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from manual import Entry, Manual, manuals
from peakline.commands.shared.groups import GROUPS
from worked import BEFORE, PARSED, RECORDINGS, WORKED, output_of, record, shown

RUN_LINES = 24
PROGRAM_NOTE = (
    "The recording is that of [a small training](index.md#the-recording-of-the-examples)."
)


def pages(program: str) -> dict[str, str]:
    """Return the name and text of each page; `program` is the one that the examples record."""
    commands = manuals()
    outputs = worked_outputs()
    made = {f"{one.name}.md": page_of(one, outputs) for one in commands}
    return {"index.md": index_of(commands, program), **made}


def worked_outputs() -> dict[str, tuple[str, str]]:
    """Record, run each worked example, and return its words and output by command.

    Raises:
        RuntimeError: an example failed.
    """
    found = {}
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        found["run"] = RECORDINGS[0], shown(record(Path(folder)), RUN_LINES)
        os.chdir(folder)
        try:
            for name, worked in WORKED.items():
                if worked.can_run:
                    found[name] = worked.words, shown(_output(name), worked.lines)
        finally:
            os.chdir(home)
    return found


def _output(name: str) -> str:
    worked = WORKED[name]
    before = [(BEFORE[name], 0)] if name in BEFORE else []
    output = ""
    for words, expected in (*before, (worked.words, worked.status)):
        status, output = output_of(shlex.split(words))
        if status != expected:
            raise RuntimeError(f"peakline {words}: status {status}\n{output}")
    return output


def index_of(commands: Sequence[Manual], program: str) -> str:
    """Return the page that lists the commands in the groups of --help."""
    lines = ["# Commands", "", "`peakline COMMAND --help` prints the options of a command.", ""]
    for group, names in GROUPS.items():
        lines += [f"## {group}", "", "| command | does |", "| --- | --- |"]
        rows = [one for one in commands if one.name in names]
        lines += [f"| [{one.name}]({one.name}.md) | {_cell(one.short)} |" for one in rows]
        lines.append("")
    others = [one for one in commands if one.related and one.name not in _listed()]
    lines += ["## Other names", "", "| command | a part of |", "| --- | --- |"]
    lines += [f"| [{one.name}]({one.name}.md) | {one.related[0]} |" for one in others]
    lines += ["", "## The recording of the examples", ""]
    lines += [
        "Examples with output read recordings of this program, made on a simulated GPU:",
        "",
        _fenced("python", program),
        "",
        _fenced("", "\n".join(f"peakline {words}" for words in RECORDINGS)),
    ]
    return "\n".join(lines) + "\n"


def _listed() -> list[str]:
    return [name for names in GROUPS.values() for name in names]


def page_of(manual: Manual, outputs: Mapping[str, tuple[str, str]]) -> str:
    """Return the page of a command."""
    parts = [f"# peakline {manual.name}", _prose(manual.help), _fenced("text", manual.usage)]
    if manual.related:
        links = ", ".join(f"[peakline {one}]({one}.md)" for one in manual.related)
        parts.append(f"See also: {links}")
    if manual.name in outputs:
        words, output = outputs[manual.name]
        lines = [f"peakline {one}" for one in (BEFORE.get(manual.name), words) if one]
        parts += ["## Example", PROGRAM_NOTE, _fenced("", "\n".join(lines))]
        parts.append(_fenced("text", output))
    elif manual.name in PARSED:
        parts += ["## Example", _fenced("", f"peakline {PARSED[manual.name]}")]
    for title, entries in manual.sections.items():
        parts += [f"## {title}", _table(entries)]
    parts += ["## More examples", _fenced("", "\n".join(manual.examples))]
    return "\n\n".join(parts) + "\n"


def _table(entries: Sequence[Entry]) -> str:
    rows = ["| | meaning |", "| --- | --- |"]
    for entry in entries:
        forms = "<br>".join(f"`{_cell_code(form)}`" for form in entry.forms)
        rows.append(f"| {forms} | {_cell(entry.help)} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")


def _cell_code(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(text: str) -> str:
    """Return text whose signs mean nothing in Markdown or HTML; code in backquotes stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([\\*_<\[])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"

"""The help of all commands: groups, one screen, and every command reachable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from command_line import NEEDS_ENGINE, ROOT

sys.path.insert(0, str(ROOT / "pyhook"))

pytestmark = NEEDS_ENGINE


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    from peakline.commands import main

    try:
        status = main(words)
    except SystemExit as error:
        status = int(error.code or 0)
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    return out


def test_the_help_is_one_screen_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    from peakline.commands.shared.groups import GROUPS

    text = printed(capsys, "--help")
    lines = text.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == list(GROUPS)
    assert sum(line.startswith("  peakline ") for line in lines) == 3
    assert printed(capsys) == printed(capsys, "help") == text


def test_every_command_is_listed_once_or_named_by_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from peakline.commands import all_commands
    from peakline.commands.shared.groups import GROUPS, HIDDEN

    text = printed(capsys, "--help")
    listed = re.findall(r"^    ([a-z]+)  +[A-Z]", text, re.MULTILINE)
    assert listed == [name for names in GROUPS.values() for name in names]
    assert sorted([*listed, *HIDDEN]) == sorted(command.name for command in all_commands())
    for hidden, parent in HIDDEN.items():
        assert f"See also: peakline {hidden}\n" in printed(capsys, parent, "--help")


def test_every_command_ends_its_help_with_its_examples(capsys: pytest.CaptureFixture[str]) -> None:
    from peakline.commands import all_commands

    for command in all_commands():
        examples = printed(capsys, command.name, "--help").split("\nExample:\n")[1].splitlines()
        assert examples == [f"  {line}" for line in command.examples.splitlines()]
        assert all(f"peakline {command.name}" in line for line in examples)


def test_a_flame_graph_is_a_tab_of_the_page() -> None:
    from peakline.commands import _make_parser, commands_for

    def tab(*words: str) -> Any:
        return _make_parser(commands_for(words)).parse_args([*words, "x.peak"]).tab

    assert [tab("html"), tab("html", "--tab", "flame"), tab("flamegraph")] == [
        "summary",
        "flame",
        "flame",
    ]


def imported(*words: str) -> set[str]:
    """Return the modules of peakline that this command line imports."""
    script = "import sys\nfrom peakline.commands import main\ntry:\n    main(sys.argv[1:])\n"
    script += "except SystemExit:\n    pass\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "pyhook")},
        check=True,
    )
    return {name for name in done.stderr.split() if name.startswith("peakline.")}


def test_the_version_and_a_command_import_only_their_own_modules() -> None:
    of_version = imported("--version")
    for package in ("launch", "builds", "pages", "fleet", "exports", "commands.running"):
        assert f"peakline.{package}" not in of_version | imported("table", "--help")
    assert not {"peakline.recording", "peakline._report", "peakline.text"} & of_version

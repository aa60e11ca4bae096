"""`peakline tree`, driven by textual; the rows of `table --by stack --json` must add up to it."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lab import ROOT
from terminal import on_terminal

sys.path.insert(0, str(ROOT / "pyhook"))
pytest.importorskip("textual")
from textual.pilot import Pilot  # noqa: E402
from textual.widgets import Static, Tree  # noqa: E402

Way = tuple[tuple[str, int, str], ...]
_FOLDED = ("folded", 0, "")


@pytest.fixture(scope="module")
def trace(lab: Any) -> Path:
    return lab.once("life_training.py").trace


def view_of(trace: Path, **options: Any) -> Any:
    from peakline import _report
    from peakline.terminal.tree_view import TreeView

    opened = _report.Trace(trace)
    parts = opened.document("table", by="stack,category", cwd=str(trace.parent), **options)
    return TreeView(parts)


def drive(view: Any, steps: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    async def all_steps() -> None:
        async with view.run_test(size=(140, 40)) as pilot:
            await pilot.pause()
            await steps(pilot)

    # In a thread of its own: a browser of other tests may run a loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(all_steps())).result()


async def open_all(pilot: Pilot[None], node: Any) -> None:
    """Open every node as a user does."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.allow_expand:
            one.expand()
            await pilot.pause()
        waiting += one.children


def ways_of(view: Any) -> dict[Way, tuple[int, int]]:
    """Return the bytes and blocks of every way from the root in the widget."""
    found: dict[Way, tuple[int, int]] = {}
    waiting = [(view.query_one(Tree).root, ())]
    while waiting:
        node, way = waiting.pop()
        shown = view.shown.nodes[node.data]
        frame = view.shown.frame_of(node.data)
        if node.data != 0:
            file = frame["file"] if frame else "folded"
            way = (
                *way,
                (file, frame["number"] if frame else 0, frame["function"] if frame else ""),
            )
        assert way not in found
        found[way] = (shown["bytes"], shown["count"])
        assert shown["held"] in str(node.label) and f" {shown['percent']}%" in str(node.label)
        waiting += [(child, way) for child in node.children]
    return found


def test_every_node_has_the_bytes_of_the_stacks_through_it(lab: Any, trace: Path) -> None:
    expected: dict[Way, list[int]] = defaultdict(lambda: [0, 0])
    for row in lab.table(trace, "--by", "stack")["rows"]:
        frames = [(one["file"], one["line"], one["function"]) for one in reversed(row["stack"])]
        if not frames:
            frames = [("", 0, row["key"])]
        for depth in range(len(frames) + 1):
            sums = expected[tuple(frames[:depth])]
            sums[0] += row["bytes"]
            sums[1] += row["count"]
    view = view_of(trace)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("u")
        await open_all(pilot, view.query_one(Tree).root)
        found = ways_of(view)
        assert found == {way: tuple(sums) for way, sums in expected.items()}
        assert any("/torch/" in way[-1][0] for way in found if way)

    drive(view, steps)


def test_library_frames_are_folded_until_they_are_asked_for(trace: Path) -> None:
    view = view_of(trace)

    async def steps(pilot: Pilot[None]) -> None:
        def files() -> Counter[str]:
            return Counter(way[-1][0] for way in ways_of(view) if way)

        await open_all(pilot, view.query_one(Tree).root)
        folded = files()
        assert folded["folded"] and not [file for file in folded if "/torch/" in file]
        await pilot.press("u")
        await open_all(pilot, view.query_one(Tree).root)
        assert [file for file in files() if "/torch/" in file] and not files()["folded"]
        await pilot.press("u")
        await open_all(pilot, view.query_one(Tree).root)
        assert files() == folded

    drive(view, steps)


def text_of(view: Any, name: str) -> str:
    shown = view.query_one(name, Static).content
    return str(getattr(shown, "code", shown))


def test_the_details_are_of_the_node_under_the_cursor(lab: Any, trace: Path) -> None:
    view = view_of(trace)
    categories = lab.table(trace, "--by", "category")["rows"]

    async def steps(pilot: Pilot[None]) -> None:
        root = text_of(view, "#facts")
        for row in categories:
            assert f"  {row['key']}\n" in root
        await pilot.press("down")
        await pilot.pause()
        node = view.query_one(Tree).cursor_node
        frame = view.shown.frame_of(node.data)
        facts, source = text_of(view, "#facts"), text_of(view, "#source")
        assert f"File: {frame['file']}\nLine: {frame['number']}\n" in facts
        assert f"Held: {view.shown.nodes[node.data]['held']}, " in facts
        line = Path(frame["file"]).read_text().splitlines()[frame["number"] - 1]
        assert line in source.splitlines()
        await pilot.press("q")

    drive(view, steps)
    assert view.return_code == 0


def test_a_file_that_changed_since_is_not_shown(lab: Any, tmp_path: Path) -> None:
    program = tmp_path / "small.py"
    program.write_text("import torch\nx = torch.zeros(1 << 20, device='cuda')\n")
    recorded = lab.run(program, options=["--no-source"])
    program.write_text("import torch\nthis_is_new = 1\n")
    os.utime(program, (4e9, 4e9))
    view = view_of(recorded.trace)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("down")
        await pilot.pause()
        assert "changed after the program began" in text_of(view, "#source")

    drive(view, steps)


def test_a_branch_opens_to_where_it_branches(trace: Path) -> None:
    view = view_of(trace)

    async def steps(pilot: Pilot[None]) -> None:
        tree = view.query_one(Tree)
        tree.root.collapse_all()
        await pilot.press("u", "e")
        await pilot.pause()
        node = tree.root
        while node.is_expanded and len(node.children) == 1:
            node = node.children[0]
        assert len(node.children) != 1

    drive(view, steps)


def test_names_cannot_drive_the_terminal_from_the_view(lab: Any) -> None:
    recorded = lab.once("hostile_names.py")
    view = view_of(recorded.trace)

    async def steps(pilot: Pilot[None]) -> None:
        await open_all(pilot, view.query_one(Tree).root)
        waiting = [view.query_one(Tree).root]
        while waiting:
            node = waiting.pop()
            view._show_details(node.data)
            shown = f"{node.label}{text_of(view, '#facts')}"
            for character in "\x1b\x07\x9b\x85\r\u202e\u2066":
                assert character not in shown
            waiting += node.children

    drive(view, steps)


def test_where_there_is_no_terminal_the_tree_is_text(lab: Any, trace: Path) -> None:
    text = lab.report("tree", trace, "--top", "0")
    assert "\x1b" not in text and "Stack\n" in text
    assert max(map(len, text.splitlines())) <= max(100, len(str(trace)) + 60)
    peak = lab.table(trace, "--by", "stack")
    functions = {row["stack"][-1]["function"] for row in peak["rows"] if row["stack"]}
    assert all(re.search(rf" {re.escape(one)}(\n|  )", text) for one in functions)
    plain = on_terminal("tree", "--plain", "--top", "0", trace.name, cwd=trace.parent)
    assert plain.status == 0 and "\x1b" not in plain.written and "Stack" in plain.text


def test_on_a_terminal_q_ends_it(trace: Path) -> None:
    pid, master = pty.fork()
    if pid == 0:
        os.environ |= {"PYTHONPATH": str(ROOT / "pyhook"), "TERM": "xterm-256color"}
        os.environ |= {"LC_ALL": "C.UTF-8"}
        os.execv(sys.executable, [sys.executable, "-m", "peakline", "tree", str(trace)])
    written = b""
    pressed = False
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:
            break
        written += part
        if not pressed and b"all blocks" in written:
            os.write(master, b"q")
            pressed = True
        if not part:
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, written[-500:]
    assert pressed and b"\x1b[?1049h" in written and b"\x1b[?1049l" in written

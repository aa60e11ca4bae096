"""The view of `peakline tree`: call stacks of the live set on the left, one frame on the right.

The engine supplies all texts (`Trace.parts`); children are added when a node is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from rich.syntax import Syntax
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Footer, Static, Tree
from textual.widgets.tree import TreeNode

from peakline.text.code_lines import CodeLine, fitted
from peakline.text.document import facts_of, table_of
from peakline.text.terminal import Marks
from peakline.text.tree import children_of, line_of_frame

_WIDEST_LABEL = 200
_LARGE_SHARE = 0.25
_MARKS = Marks("…", "├ ", "└ ", "│ ", "utf-8")


class StackTree:
    """The nodes under one folding, and the choice of shown ones."""

    def __init__(self, tree: Mapping[str, Any], folding: str) -> None:
        """Take the engine's tree and the name of the folding."""
        self.frames: list[Mapping[str, Any]] = tree["frames"]
        self.nodes: list[Mapping[str, Any]] = tree[folding]
        self._children = children_of(self.nodes)
        self.hides_imports = False

    def frame_of(self, index: int) -> Mapping[str, Any] | None:
        """Return the frame of a node; the root and folded ends of stacks have none."""
        frame = self.nodes[index]["frame"]
        return None if frame is None else self.frames[frame]

    def shown_children(self, index: int) -> list[int]:
        """Return the children, the largest first; a hidden child is replaced by its children."""
        shown: list[int] = []
        waiting = list(self._children[index])
        while waiting:
            child = waiting.pop()
            frame = self.frame_of(child)
            if self.hides_imports and frame is not None and frame["is_import"]:
                waiting += self._children[child]
            else:
                shown.append(child)
        return sorted(shown, key=lambda child: -int(self.nodes[child]["bytes"]))

    def label(self, index: int) -> Text:
        """Return the numbers and the frame of a node, on one line."""
        node = self.nodes[index]
        text = Text(no_wrap=True)
        text.append(node["held"], "bold red" if node["share"] >= _LARGE_SHARE else "bold")
        text.append(f" {node['percent']}%  ", "dim")
        frame = self.frame_of(index)
        if frame is not None:
            for piece, style in fitted(
                _without_folders(line_of_frame(frame)), _WIDEST_LABEL, _MARKS
            ):
                text.append(piece, style)
        elif index == 0:
            text.append("all blocks")
        else:
            text.append(f"… {node['folded']}", "dim")
        return text


def _without_folders(line: CodeLine) -> CodeLine:
    """Return the line without folders; the details show the whole path."""
    return replace(line, path=line.path.rpartition("/")[2])


class TreeView(App[None]):
    """Browses the tree; shared functions have the keys of `memray tree`."""

    CSS = """
    Tree { width: 3fr; scrollbar-gutter: stable; }
    #details { width: 2fr; min-width: 30; border-left: solid $primary; padding: 0 1; }
    #facts { height: auto; }
    #source { height: auto; margin-top: 1; }
    """
    TITLE = "peakline tree"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("e", "open_branch", "Open the branch"),
        Binding("u", "fold", "Fold or show library frames"),
        Binding("i", "imports", "Hide or show imports"),
        Binding("ctrl+z", "suspend_process", show=False),
    ]

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Take `Trace.document("table", by="stack,category")`."""
        super().__init__()
        tree = table_of(document)["tree"]
        self._facts = "   ".join(f"{name}: {value}" for name, value in facts_of(document))
        self._foldings = {name: StackTree(tree, name) for name in ("folded", "whole")}
        self._folding = "folded"

    @property
    def shown(self) -> StackTree:
        """The tree that is shown."""
        return self._foldings[self._folding]

    def compose(self) -> ComposeResult:
        """Make the widgets."""
        yield Static(Text(self._facts, "bold", no_wrap=True), id="head")
        with Horizontal():
            yield Tree[int]("", data=0, id="tree")
            with VerticalScroll(id="details", can_focus=False):
                yield Static(id="facts")
                yield Static(id="source")
        yield Footer()

    def on_mount(self) -> None:
        """Show the largest branch first."""
        self._refill()
        self._tree.focus()

    @property
    def _tree(self) -> Tree[int]:
        return self.query_one("#tree", Tree)

    def _refill(self) -> None:
        tree = self._tree
        tree.guide_depth = 3
        tree.reset(self.shown.label(0), 0)
        self._open(tree.root)
        node = tree.root
        while node.children:
            node = node.children[0]
            self._open(node)
        tree.move_cursor(tree.root)
        self._show_details(0)

    def _open(self, node: TreeNode[int]) -> None:
        self._fill(node)
        if node.children:
            node.expand()

    def _fill(self, node: TreeNode[int]) -> None:
        if node.children or node.data is None:
            return
        for child in self.shown.shown_children(node.data):
            has_more = bool(self.shown.shown_children(child))
            node.add(self.shown.label(child), child, allow_expand=has_more)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[int]) -> None:
        """Add the children of a node when it is opened."""
        self._fill(event.node)

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[int]) -> None:
        """Show the node under the cursor."""
        if event.node.data is not None:
            self._show_details(event.node.data)

    def action_open_branch(self) -> None:
        """Open the node, and the nodes below it up to the next branching."""
        node = self._tree.cursor_node
        while node is not None:
            self._open(node)
            node = node.children[0] if len(node.children) == 1 else None

    def action_fold(self) -> None:
        """Show every frame, or fold those that only pass calls on."""
        self._folding = "whole" if self._folding == "folded" else "folded"
        self._refill()

    def action_imports(self) -> None:
        """Hide or show frames of Python's import system."""
        for tree in self._foldings.values():
            tree.hides_imports = not tree.hides_imports
        self._refill()

    def _show_details(self, index: int) -> None:
        self.query_one("#facts", Static).update(_details_of(self.shown, index))
        source = _source_of(self.shown.frame_of(index))
        self.query_one("#source", Static).update(source)


def _details_of(tree: StackTree, index: int) -> Text:
    node, frame = tree.nodes[index], tree.frame_of(index)
    facts: list[tuple[str, str]] = []
    if frame is not None and frame["path"]:
        facts.append(("Function", frame["qualified_name"] or frame["function"]))
        facts.append(("File", frame["file"]))
        facts.append(("Line", str(frame["number"])))
    elif frame is not None:
        facts.append(("Frame", frame["text"]))
    if node["folded"]:
        facts.append(("Folded before it", node["folded"]))
    facts.append(("Held", f"{node['held']}, {node['percent']} %"))
    facts.append(("Blocks", node["blocks"]))
    facts.append(("Of stacks that end here", node["own"]))
    text = Text()
    for name, value in facts:
        text.append(f"{name}: ", "dim").append(_MARKS.shown(value), "bold").append("\n")
    if node["split"]:
        text.append("\nBy category\n", "dim")
    for part in node["split"]:
        text.append(f"{part['held']:>9}  {_MARKS.shown(part['name'])}\n")
    return text


def _source_of(frame: Mapping[str, Any] | None) -> Syntax | Text:
    source = frame["source"] if frame is not None else None
    if source is None:
        is_line = frame is not None and frame["file"]
        return Text(
            "The file is not here, and the trace has no line of it." if is_line else "", "dim"
        )
    if not source["lines"]:
        return Text("The file was changed after the program began.", "dim")
    return Syntax(
        "\n".join(source["lines"]),
        "python",
        line_numbers=True,
        start_line=source["first"],
        highlight_lines={frame["number"]} if frame is not None else set(),
    )

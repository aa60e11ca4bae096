"""The screen of ``peakline live``: one moment of a running program, for a terminal of any width."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from peakline.base.output import printable
from peakline.base.sizes import share_of, size_of
from peakline.recording.live_state import duration_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from peakline.recording.live_state import LiveLine, LiveState

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = " .:-=+*%#"
_CHART_ROWS = 4
_NARROWEST = 40


def screen_of(state: LiveState, width: int, *, is_ascii: bool = False) -> RenderableType:
    """Return the screen, at most `width` columns wide."""
    width = max(width, _NARROWEST)
    parts: list[RenderableType] = [_head(state), _numbers(state), Text()]
    parts += _chart(state, width, _ASCII_BLOCKS if is_ascii else _BLOCKS)
    parts.append(_lines(state) if state.lines else Text("Nothing is held now", style="dim"))
    if state.line_count > len(state.lines):
        more = state.line_count - len(state.lines)
        parts.append(Text(f"{more:,} more line{'s' * (more != 1)}: --top 0", style="dim"))
    parts += [Text(printable(problem), style="yellow") for problem in state.problems]
    return Group(*parts)


def _head(state: LiveState) -> Text:
    simulated = " (simulated)" if state.is_simulated else ""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(printable(Path(state.path).name), style="bold")
    if state.is_being_written:
        text.append(f"  process {state.pid}, running for {duration_of(state.seconds)}")
    else:
        text.append(f"  ended after {duration_of(state.seconds)}", style="bold")
    return text.append(f"  {printable(state.device_name)}{simulated}", style="dim")


def _numbers(state: LiveState) -> Text:
    text = Text()
    where = ", ".join(
        part
        for part in ("" if state.step is None else f"step {state.step}", printable(state.phase))
        if part
    )
    now = "Now " if state.is_being_written else "End "
    text.append(f"{now} {size_of(state.level_bytes):>9}", style="bold")
    text.append(f"{_of_device(state.level_bytes, state)}  {where}\n")
    text.append(f"Peak {size_of(state.peak_bytes):>9}", style="bold")
    place = f", {printable(state.peak_place)}" if state.peak_place else ""
    text.append(
        f"{_of_device(state.peak_bytes, state)}  at {duration_of(state.peak_seconds)}{place}"
    )
    return text


def _of_device(count: int, state: LiveState) -> str:
    return f"  {share_of(count, state.device_bytes):>6} of {size_of(state.device_bytes)}" * bool(
        state.device_bytes
    )


def _chart(state: LiveState, width: int, blocks: str) -> list[RenderableType]:
    """Return the levels as columns; each shows the highest level of its time."""
    columns = _squeezed(state.levels, width)
    top = max([1, *columns])
    rows: list[RenderableType] = []
    for row in reversed(range(_CHART_ROWS)):
        filled = ""
        for level in columns:
            part = level / top * _CHART_ROWS - row
            filled += blocks[round(min(1.0, max(0.0, part)) * (len(blocks) - 1))]
        rows.append(Text(filled, style="cyan", no_wrap=True))
    return [*rows, Text()] if columns else []


def _squeezed(levels: list[int], width: int) -> list[int]:
    """Return at most `width` levels; joined ones become their maximum."""
    count = min(len(levels), width)
    return [
        max(levels[i * len(levels) // count : (i + 1) * len(levels) // count]) for i in range(count)
    ]


def _lines(state: LiveState) -> Table:
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
    table.add_column("Held now", justify="right", no_wrap=True)
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("Blocks", justify="right", no_wrap=True)
    table.add_column("Line", ratio=1, no_wrap=True, overflow="ellipsis")
    for line in state.lines:
        share = share_of(line.held_bytes, state.level_bytes).removesuffix(" %")
        table.add_row(size_of(line.held_bytes), share, f"{line.block_count:,}", _line_text(line))
    return table


def _line_text(line: LiveLine) -> Text:
    key = printable(line.key)
    folder, slash, name = key.partition(" (")[0].rpartition("/")
    short = f"{Path(folder).name}/" if slash and folder else ""
    text = Text(f"{short}{name}" if slash else key)
    if slash:
        text.append(key[len(folder) + 1 + len(name) :], style="dim")
    if line.via:
        text.append(f"  via {printable(line.via)}", style="dim")
    return text

"""Makes the HTML page of a trace: one file that loads nothing. `peakline html` uses it.

The engine gives names and columns, report/page the script and the style. Everything that comes
from the program goes into the page as text: escaped in the summary, set by the script elsewhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

_ASSETS = Path(__file__).parent / "page"
_LONGEST_NAME = 300
_LINES_SHOWN = 6
_SMALLEST_PART = 0.004  # of the bar of categories that can be seen
_CONTEXT_LINES = 3
_LONGEST_LINE = 200
_MOST_SOURCES = 400


@dataclass(frozen=True)
class PageOptions:
    """What the page is to be like beside its data."""

    with_source: bool = True
    tab: str = "summary"  # the one it opens at
    is_part: bool = False  # of the run: the data begin later, or end before it


def make_page(names: str, columns: bytes, options: PageOptions) -> str:
    """Return the page. `names` and `columns` are those of `_report.Trace.page()`."""
    page = json.loads(names)
    page["sources"] = _sources(page) if options.with_source else {}
    page["is_part"] = options.is_part
    script = (_ASSETS / "page.js").read_text(encoding="utf-8")
    style = (_ASSETS / "page.css").read_text(encoding="utf-8")
    title = _title(page)
    body = _fill(
        (_ASSETS / "page.html").read_text(encoding="utf-8"),
        {
            "title": _text(title),
            "facts": _text(" · ".join(_facts(page))),
            "summary": _summary(page),
            "footer": _text(_footer(page)),
        },
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    peak = _size(page["peak"]["bytes"])
    packed_names = _pack(json.dumps(page, separators=(",", ":"), ensure_ascii=False).encode())
    return (
        '<!doctype html>\n<html lang=en><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{_text(title)}: {peak} {_at_the_peak(page)} - peakline</title>"
        f'<style>{style}</style></head>\n<body data-tab="{_text(options.tab)}">\n{body}'
        f'<script type="application/octet-stream;base64" id="names">{packed_names}</script>\n'
        f'<script type="application/octet-stream;base64" id="columns">{_pack(columns)}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def _hash(text: str) -> str:
    """Of the exact text between the tags, as the policy wants it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _pack(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def _fill(template: str, values: dict[str, str]) -> str:
    """One pass: a value that looks like a placeholder stays as it is."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _text(text: str) -> str:
    """The only way of a name into the markup: short, without controls, escaped."""
    if len(text) > _LONGEST_NAME:
        text = f"{text[: _LONGEST_NAME // 2]} … {text[-_LONGEST_NAME // 3 :]}"
    return html.escape("".join(one if one.isprintable() else " " for one in text), quote=True)


def _name(text: str) -> str:
    """A name in a sentence: its direction of writing ends with it."""
    return f"<bdi>{_text(text)}</bdi>"


def _size(count: int) -> str:
    """As the terminal shows it: four digits and a unit of 1024."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        digits = 0 if unit == "B" else 3 if size < 9.9995 else 2 if size < 99.995 else 1
        if unit == "TB" or size < (1024 if unit == "B" else 1023.5):
            return f"{size:.{0 if size >= 999.95 else digits}f} {unit}"
        size /= 1024
    return ""


def _share(part: int, whole: int) -> str:
    share = part / whole if whole else 0.0
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{share * 100:.0f} %" if share >= 0.0995 or share == 0 else f"{share * 100:.1f} %"


def _title(page: dict[str, Any]) -> str:
    meta = page["run"]["meta"]
    return str(meta.get("script") or Path(page["run"]["file"]).name)


def _device_name(page: dict[str, Any]) -> str:
    meta = page["run"]["meta"]
    name = str(meta.get(f"device.{page['device']}.name", f"device {page['device']}"))
    return name + (", simulated" if page["simulated"] else "")


def _facts(page: dict[str, Any]) -> list[str]:
    steps = len(page["phases"]["steps"])
    facts = [_device_name(page)]
    if steps:
        facts.append(f"{steps:,} step{'s' * (steps != 1)}")
    torch_version = page["run"]["meta"].get("torch_version", "").split("+")[0]
    if torch_version:
        facts.append(f"torch {torch_version}")
    facts.append(f"{page['event_count']:,} events")
    started = page["run"]["start_realtime_ns"]
    if started:
        moment = datetime.fromtimestamp(started / 1e9, tz=timezone.utc)
        facts.append(f"{moment:%d %b %Y, %H:%M} UTC")
    return facts


def _footer(page: dict[str, Any]) -> str:
    notes = [f"Peak: {page['peak']['bytes']:,} bytes ({page['measure']})."]
    if page["simulated"]:
        notes.append("The device was simulated: sizes are real, the numbers in tensors are not.")
    notes.append("This page loads nothing from the network.")
    return " ".join(notes)


def _summary(page: dict[str, Any]) -> str:
    parts = [
        _warning(page),
        f"<div class=hero><div>{_answer(page)}</div>{_run_panel(page)}</div>",
        "<div id=summary-time hidden><h2>Memory over the run<small>by category; the highest moment"
        ' of every pixel</small></h2><canvas id=summary-timeline role=img aria-label="Memory over'
        ' the run, by category"></canvas></div>',
        _largest_lines(page),
    ]
    return "\n".join(parts)


def _warning(page: dict[str, Any]) -> str:
    lines = [_text(problem) for problem in page["problems"]]
    if page["refused"]:
        last = page["refused"][-1]
        lines.append(
            f"<b>Out of memory</b> at {last['seconds']:.3f} s: <code>{_name(last['key'])}</code>"
            f" asked the device for {_size(last['requested_bytes'])}, {_size(last['free_bytes'])}"
            " was free."
        )
    if page["records_dropped"]:
        lines.append(f"{page['records_dropped']:,} records were dropped: figures may be low.")
    shown = f"<p class=warn>{'<br>'.join(lines)}</p>" if lines else ""
    return f"{shown}<p class=warn id=failure hidden></p>"


def _place(page: dict[str, Any]) -> str:
    """The step and phase of the peak; empty when there are none."""
    at = page["peak"]["seconds"]
    inside = [
        one
        for one in page["phases"]["phases"]
        if one["depth"] == 0 and one["begin_seconds"] <= at <= one["end_seconds"]
    ]
    if not inside:
        return ""
    step = "" if inside[-1]["step"] is None else f"step {inside[-1]['step']} "
    return f"{step}{inside[-1]['name']}"


def _at_the_peak(page: dict[str, Any]) -> str:
    return "at most in this part of the run" if page["is_part"] else "at the peak"


def _answer(page: dict[str, Any]) -> str:
    peak = page["peak"]
    facts = [_text(_place(page))] if _place(page) else []
    facts.append(f"{peak['seconds']:.3f} s")
    total = int(page["run"]["meta"].get(f"device.{page['device']}.total_bytes", 0))
    if total:
        facts.append(f"{_text(_share(peak['bytes'], total))} of the device&rsquo;s {_size(total)}")
    facts.append(f"{peak['bytes']:,} bytes")
    return (
        f"<h2 class=big>{_size(peak['bytes'])} {_at_the_peak(page)}</h2>"
        f"<p class=sub>{' · '.join(facts)}</p>{_lead(page)}{_bar(page)}"
    )


def _line_text(page: dict[str, Any], row: dict[str, Any]) -> str:
    return str(page["lines"][row["line"]]["key"])


def _lead(page: dict[str, Any]) -> str:
    """Which lines hold most of it, in words."""
    peak = page["peak"]
    sentences = []
    for row in peak["lines"][:2]:
        if row["bytes"] < 0.05 * peak["bytes"]:
            break
        blocks = f"{row['count']:,} block{'s' * (row['count'] != 1)}"
        sentences.append(
            f"<b>{_text(_share(row['bytes'], peak['bytes']))}</b> is held by"
            f" <code>{_name(_line_text(page, row))}</code>, in {blocks}."
        )
    return f"<p class=lead>{' '.join(sentences)}</p>" if sentences else ""


def _class_of(category: str) -> str:
    return category.replace(" ", "-") if re.fullmatch(r"[a-z ]+", category) else "unknown"


def _parts(levels: list[int], categories: list[str]) -> list[tuple[str, int]]:
    parts = [(categories[i], level) for i, level in enumerate(levels) if level > 0]
    return sorted(parts, key=lambda part: -part[1])


def _rectangles(parts: list[tuple[str, int]], whole: int) -> str:
    """Parts of 1,000 units; style attributes are not allowed by the policy, these are."""
    left = 0.0
    shapes = []
    for category, level in parts:
        width = 1000 * level / max(whole, 1)
        if level >= _SMALLEST_PART * whole:
            shapes.append(
                f'<rect class="{_class_of(category)}" x="{left:.1f}" y="0"'
                f' width="{max(width - 1.5, 0.5):.1f}" height="10"/>'
            )
        left += width
    return "".join(shapes)


def _bar(page: dict[str, Any]) -> str:
    peak = page["peak"]
    parts = _parts(peak["categories"], page["categories"])
    said = ", ".join(f"{name} {_share(level, peak['bytes'])}" for name, level in parts)
    legend = "".join(
        f'<li><i class="{_class_of(name)}"></i>{_text(name)} <b>{_size(level)}</b>'
        f" {_text(_share(level, peak['bytes']))}</li>"
        for name, level in parts
    )
    return (
        f'<svg class=split viewBox="0 0 1000 10" preserveAspectRatio="none" role=img'
        f' aria-label="{_text(said)}">{_rectangles(parts, peak["bytes"])}</svg>'
        f"<ul class=legend>{legend}</ul>"
    )


def _run_panel(page: dict[str, Any]) -> str:
    phases = page["phases"]
    rows = [("Device", _device_name(page))]
    by_peak = sorted(phases["totals"], key=lambda one: -one["peak_bytes"])[:4]
    for one in by_peak:
        step = "" if one["peak_step"] is None else f", step {one['peak_step']}"
        rows.append((f"Peak of {one['name']}", f"{_size(one['peak_bytes'])}{step}"))
    rows.append(("Allocated in all", _size(page["total_allocated_bytes"])))
    end = page["phases"]["devices"]
    held = [one["level_bytes"] for one in end if one["device"] == page["device"]]
    if held:
        rows.append(("Held at the end", _size(held[0])))
    cells = "".join(f"<dt>{_name(name)}</dt><dd>{_name(value)}</dd>" for name, value in rows)
    return f"<div class=panel><h2>The run</h2><dl>{cells}</dl></div>"


def _largest_lines(page: dict[str, Any]) -> str:
    peak = page["peak"]
    rows = []
    most = peak["lines"][0]["bytes"] if peak["lines"] else 1
    for row in peak["lines"][:_LINES_SHOWN]:
        parts = _parts(row["categories"], page["categories"])
        bar = _rectangles(parts, most)
        rows.append(
            f"<tr><td class=right>{_size(row['bytes'])}</td><td class=share><svg class=mix"
            f' viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">{bar}</svg></td>'
            f"<td class=right>{_text(_share(row['bytes'], peak['bytes']))}</td>"
            f'<td class="right wide">{row["count"]:,}</td>'
            f"<td class=place>{_name(_line_text(page, row))}</td></tr>"
        )
    rest = len(peak["lines"]) - len(rows)
    more = (
        f"<p><button class=link type=button data-opens=lines hidden>All {len(peak['lines']):,}"
        " lines</button></p>"
        if rest > 0
        else ""
    )
    heads = "".join(
        f'<th class="{kind}" scope=col>{word}</th>'
        for word, kind in (
            ("Memory", "right"),
            ("Share", "share"),
            ("of all", "right"),
            ("Blocks", "right wide"),
            ("Line", ""),
        )
    )
    return (
        "<h2>Largest lines<small>at the peak</small></h2>"
        f"<table class=rows><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"{more}"
    )


def _sources(page: dict[str, Any]) -> dict[str, Any]:
    """A few lines around the user's own lines, of files as they were when the program ran."""
    wanted: dict[str, set[int]] = {}
    own = {frame["path"] for frame in page["frames"] if frame["is_users"] and frame["line"]}
    for line in page["lines"]:
        if line.get("path") in own and line.get("line"):
            wanted.setdefault(line["path"], set()).add(line["line"])
    sources: dict[str, Any] = {}
    for path, numbers in wanted.items():
        text = _read_unchanged(path, page["run"]["start_realtime_ns"])
        for number in sorted(numbers):
            if 1 <= number <= len(text) and len(sources) < _MOST_SOURCES:
                first = max(1, number - _CONTEXT_LINES)
                shown = text[first - 1 : number + _CONTEXT_LINES]
                lines = [line[:_LONGEST_LINE] for line in shown]
                sources[f"{path}:{number}"] = {"first": first, "lines": lines}
    return sources


def _read_unchanged(path: str, start_ns: int) -> list[str]:
    """Lines of a Python file; none when it is gone or younger than the run."""
    file = Path(path)
    try:
        if file.suffix != ".py" or file.stat().st_mtime_ns > start_ns:
            return []
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

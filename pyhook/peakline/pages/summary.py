"""The summary of a page: static HTML, so that it shows at once, without script, and in print.

Names come from the program: they enter the markup only through text.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from peakline.base.device_names import is_gpu, memory_of_device, name_of_device
from peakline.base.sizes import share_of, size_of
from peakline.pages.categories import class_of
from peakline.pages.text import name_of, text_of

_LINES_SHOWN = 6
_ADVICE_SHOWN = 6
_SMALLEST_PART = 0.004  # smallest visible part of the bar of categories


def title_of(page: dict[str, Any]) -> str:
    """Return the name of the program."""
    meta = page["run"]["meta"]
    return str(meta.get("script") or Path(page["run"]["file"]).name)


def _device_name(page: dict[str, Any]) -> str:
    meta = page["run"]["meta"]
    is_sum = page["device"] == "all"
    other = "all devices" if is_sum else name_of_device(page["device"])
    name = str(meta.get(f"device.{page['device']}.name", other))
    gpus = [one for one in page["phases"]["devices"] if is_gpu(one["device"])]
    if len(gpus) > 1 and not is_sum and is_gpu(page["device"]):
        name = f"device {page['device']}: {name}"
    return name + (", simulated" if page["simulated"] and is_gpu(page["device"]) else "")


def facts_of(page: dict[str, Any]) -> list[str]:
    """Return the facts beside the name: device, steps, versions."""
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


def footer_of(page: dict[str, Any]) -> str:
    """Return the line below the page."""
    notes = [f"Peak: {page['peak']['bytes']:,} bytes ({page['measure']})."]
    if page["simulated"]:
        notes.append("The device was simulated: sizes are real, the numbers in tensors are not.")
    notes.append("This page loads nothing from the network.")
    return " ".join(notes)


def growth_of(sentences: Sequence[str]) -> str:
    """Return the markup of growth from step to step: a paragraph each, above the answer."""
    return "".join(f"<p class=warn>{text_of(one[0].upper() + one[1:])}</p>\n" for one in sentences)


def summary_of(pages: Sequence[dict[str, Any]], growth: str = "") -> str:
    """Return the markup of the tab: an answer per device; the first one is visible.

    `growth` is of the first file: it stands above the answers about this file.
    """
    first = pages[0]["file"]
    answers = [
        f"<div class=answer{' hidden' * (i > 0)}>{growth if page['file'] == first else ''}"
        f"{_answer_of(page, [one for one in pages if one['file'] == page['file']], i == 0)}</div>"
        for i, page in enumerate(pages)
    ]
    return "\n".join(answers)


def _answer_of(page: dict[str, Any], pages: Sequence[dict[str, Any]], has_drawing: bool) -> str:
    # The script moves the drawing of the first answer into the visible one.
    drawing = (
        "<div id=summary-time hidden><h2>Memory over the run<small>by category; the highest moment"
        ' of every pixel</small></h2><canvas id=summary-timeline role=img aria-label="Memory over'
        ' the run, by category"></canvas><div id=summary-more></div></div>'
    )
    parts = [
        _warning(page),
        f"<div class=hero><div>{_answer(page)}</div>{_run_panel(page, pages)}</div>",
        drawing if has_drawing else "",
        _advice(page),
        _largest_lines(page),
    ]
    return "\n".join(parts)


def _warning(page: dict[str, Any]) -> str:
    too_low = [page["too_low"]] if page["too_low"] else []
    lines = [text_of(problem) for problem in [*too_low, *page["problems"]]]
    if page["refused"]:
        last = page["refused"][-1]
        times = f" {count:,} times, the last" if (count := len(page["refused"])) > 1 else ""
        lines.append(
            f"<b>Out of memory</b>{times} at {last['seconds']:.3f} s:"
            f" <code>{name_of(last['key'])}</code> asked the device for"
            f" {size_of(last['requested_bytes'])},"
            f" {size_of(last['room_bytes'])} {text_of(last['room'])}."
            " <button class=link type=button data-opens=oom hidden>Why</button>"
        )
    if page["records_dropped"]:
        lines.append(f"{page['records_dropped']:,} records were dropped: figures may be low.")
    return f"<p class=warn>{'<br>'.join(lines)}</p>" if lines else ""


def step_and_phase(page: dict[str, Any]) -> str:
    """Return the step and phase of the peak; empty if there are none."""
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


def at_the_peak(page: dict[str, Any]) -> str:
    """Return the name of the moment that the page calls the peak."""
    return "at most in this part of the run" if page["is_part"] else "at the peak"


def _answer(page: dict[str, Any]) -> str:
    peak = page["peak"]
    facts = [text_of(step_and_phase(page))] if step_and_phase(page) else []
    facts.append(f"{peak['seconds']:.3f} s")
    total = memory_of_device(page["run"]["meta"], page["device"])
    if total:
        facts.append(
            f"{text_of(share_of(peak['bytes'], total))} of the device&rsquo;s {size_of(total)}"
        )
    facts.append(f"{peak['bytes']:,} bytes")
    return (
        f"<h2 class=big>{size_of(peak['bytes'])} {at_the_peak(page)}</h2>"
        f"<p class=sub>{' · '.join(facts)}</p>{_lead(page)}{_bar(page)}"
    )


def _line_text(page: dict[str, Any], row: dict[str, Any]) -> str:
    return str(page["lines"][row["line"]]["key"])


def _lead(page: dict[str, Any]) -> str:
    """Return a sentence that names the lines with most memory."""
    peak = page["peak"]
    sentences = []
    for row in peak["lines"][:2]:
        if row["bytes"] < 0.05 * peak["bytes"]:
            break
        blocks = f"{row['count']:,} block{'s' * (row['count'] != 1)}"
        sentences.append(
            f"<b>{text_of(share_of(row['bytes'], peak['bytes']))}</b> is held by"
            f" <code>{name_of(_line_text(page, row))}</code>{_called_from(row)}, in {blocks}."
            f"{_code_of(page['lines'][row['line']])}"
        )
    return f"<p class=lead>{' '.join(sentences)}</p>" if sentences else ""


def _called_from(row: dict[str, Any]) -> str:
    """Name the line of the program that called a library's line for most of its bytes."""
    caller = row.get("called_from")
    return f", called from <code>{name_of(caller)}</code>" if caller else ""


def _parts(levels: list[int], categories: list[str]) -> list[tuple[str, int]]:
    parts = [(categories[i], level) for i, level in enumerate(levels) if level > 0]
    return sorted(parts, key=lambda part: -part[1])


def _rectangles(parts: list[tuple[str, int]], whole: int) -> str:
    """Return rectangles for the parts of 1,000 units; the policy forbids style attributes."""
    left = 0.0
    shapes = []
    for category, level in parts:
        width = 1000 * level / max(whole, 1)
        if level >= _SMALLEST_PART * whole:
            shapes.append(
                f'<rect class="{class_of(category)}" x="{left:.1f}" y="0"'
                f' width="{max(width - 1.5, 0.5):.1f}" height="10"/>'
            )
        left += width
    return "".join(shapes)


def _bar(page: dict[str, Any]) -> str:
    peak = page["peak"]
    parts = _parts(peak["categories"], page["categories"])
    label = ", ".join(f"{name} {share_of(level, peak['bytes'])}" for name, level in parts)
    legend = "".join(
        f'<li data-category="{text_of(name)}"><i class="{class_of(name)}"></i>{text_of(name)}'
        f" <b>{size_of(level)}</b> {text_of(share_of(level, peak['bytes']))}</li>"
        for name, level in parts
    )
    return (
        f'<svg class=split viewBox="0 0 1000 10" preserveAspectRatio="none" role=img'
        f' aria-label="{text_of(label)}">{_rectangles(parts, peak["bytes"])}</svg>'
        f"<ul class=legend>{legend}</ul>"
    )


def _run_panel(page: dict[str, Any], pages: Sequence[dict[str, Any]]) -> str:
    phases = page["phases"]
    rows = [("Device", _device_name(page))]
    by_peak = sorted(phases["totals"], key=lambda one: -one["peak_bytes"])[:4]
    for one in by_peak:
        step = "" if one["peak_step"] is None else f", step {one['peak_step']}"
        rows.append((f"Peak of {one['name']}", f"{size_of(one['peak_bytes'])}{step}"))
    rows.append(("Allocated in all", size_of(page["total_allocated_bytes"])))
    end = page["phases"]["devices"]
    held = [one["level_bytes"] for one in end if one["device"] == page["device"]]
    if held:
        rows.append(("Held at the end", size_of(held[0])))
    rows += [
        (f"Peak of {name_of_device(other['device'])}", size_of(other["peak"]["bytes"]))
        for other in pages
        if other is not page
    ]
    cells = "".join(f"<dt>{name_of(name)}</dt><dd>{name_of(value)}</dd>" for name, value in rows)
    return f"<div class=panel><h2>The run</h2><dl>{cells}</dl></div>"


def _advice(page: dict[str, Any]) -> str:
    """Return the advice of `peakline advise` for lowering the peak; often empty."""
    if page["is_part"]:
        return ""
    if page["advice"] is None:
        return "<p class=note>What would lower it: <code>peakline advise FILE</code></p>"
    rows = "".join(map(_advice_row, page["advice"][:_ADVICE_SHOWN]))
    if not rows:
        return ""
    check = "peakline html before.peak after.peak -o both.html"
    return (
        "<h2>What would lower it<small>each alone: this run, replayed with the change</small></h2>"
        f"<table><tbody>{rows}</tbody></table>"
        f"<p class=note><code>peakline advise --try</code> measures what needs no edit."
        f" <code>{check}</code> shows what differs after a change.</p>"
    )


def _advice_row(one: dict[str, Any]) -> str:
    saves = one["saves_bytes"]
    figure = f"&minus;{size_of(saves)}" if saves else f"holds {size_of(one['held_bytes'])}"
    cell = [f"<b>{text_of(one['title'])}</b>"]
    cell += [text_of(one[key]) for key in ("evidence", "change") if one[key]]
    if one["key"]:
        cell.append(f"<code>{text_of(one['key'])}</code>")
    return (
        f'<tr class="advice" data-rule="{one["rule"]}" data-bytes="{saves or 0}">'
        f"<td class=right>{figure}</td><td>{'<br>'.join(cell)}</td></tr>"
    )


def _code_of(line: dict[str, Any]) -> str:
    code = line.get("code", "")
    return f"<code class=code>{text_of(code)}</code>" if code else ""


def _caller_below(row: dict[str, Any]) -> str:
    caller = row.get("called_from")
    return f"<div class=more>called from {name_of(caller)}</div>" if caller else ""


def _largest_lines(page: dict[str, Any]) -> str:
    peak = page["peak"]
    rows = []
    most = peak["lines"][0]["bytes"] if peak["lines"] else 1
    for row in peak["lines"][:_LINES_SHOWN]:
        parts = _parts(row["categories"], page["categories"])
        bar = _rectangles(parts, most)
        rows.append(
            f"<tr><td class=right>{size_of(row['bytes'])}</td><td class=share><svg class=mix"
            f' viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">{bar}</svg></td>'
            f"<td class=right>{text_of(share_of(row['bytes'], peak['bytes']))}</td>"
            f'<td class="right wide">{row["count"]:,}</td>'
            f"<td class=place><div data-line={row['line']}>{name_of(_line_text(page, row))}</div>"
            f"{_code_of(page['lines'][row['line']])}{_caller_below(row)}</td></tr>"
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

"""Checks runs against limits: ``peakline check``, and its output for CI systems."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass

from peakline.base.output import joined, printable
from peakline.base.sizes import size_of
from peakline.differences.compare import Comparison, compare
from peakline.differences.side import Row, Side
from peakline.differences.text import signed, too_low_lines

_LINES = 10  # named lines below a limit


@dataclass(frozen=True)
class Blamed:
    """A line to inspect: it holds memory, or holds more than before."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class Verdict:
    """The result of one limit for one run."""

    name: str  # "peak", "phase backward", "baseline"
    run: str
    holds: bool
    sentence: str
    blamed: tuple[Blamed, ...] = ()
    # sentences about runs with sizes that may be too low
    too_low: tuple[str, ...] = ()


def check_limit(name: str, run: Side, found: int, limit: int, lines: Iterable[Row]) -> Verdict:
    """Check a peak against a limit in bytes; `lines` hold the peak."""
    too_low = (*too_low_lines(run),)
    if found <= limit:
        sentence = f"{size_of(found)} is at most {size_of(limit)}"
        return Verdict(name, run.name, True, sentence, too_low=too_low)
    over = f"{size_of(found)} is {size_of(found - limit)} above {size_of(limit)}"
    largest = sorted(lines, key=lambda row: -row.bytes)[:_LINES]
    blamed = tuple(
        Blamed(f"{size_of(row.bytes)}  {row.at.key}", row.at.file, row.at.line) for row in largest
    )
    return Verdict(name, run.name, False, over, blamed, too_low)


def check_baseline(name: str, before: Side, after: Side, tolerance: float) -> Verdict:
    """Check a run against a baseline; it may hold more by the fraction `tolerance`."""
    found = after.total_bytes
    too_low = (*too_low_lines(before, after),)
    sentence = _than(found, before.total_bytes, before.name)
    if tolerance:
        sentence += f"; {tolerance:.4g} of it more is allowed"
    if _is_allowed(found, before.total_bytes, tolerance):
        return Verdict(name, after.name, True, sentence, too_low=too_low)
    return Verdict(name, after.name, False, sentence, _grown(compare(before, after)), too_low)


def check_phases(before: Side, after: Side, tolerance: float) -> list[Verdict]:
    """Check each phase that both runs have."""
    too_low = (*too_low_lines(before, after),)
    old = {row.at.key: row.bytes for row in before.rows}
    verdicts = []
    for row in after.rows:
        if row.at.key not in old:
            continue
        was = old[row.at.key]
        sentence = _than(row.bytes, was, before.name)
        holds = _is_allowed(row.bytes, was, tolerance)
        name = f"phase {row.at.key}"
        verdicts.append(Verdict(name, after.name, holds, sentence, too_low=too_low))
    return verdicts


def _is_allowed(found: int, was: int, tolerance: float) -> bool:
    return found <= int(was * (1 + tolerance))


def _than(found: int, was: int, name: str) -> str:
    if found == was:
        return f"{size_of(found)}, as in {name}"
    word = "more" if found > was else "less"
    return f"{size_of(found)}, {size_of(abs(found - was))} {word} than in {name}"


def _grown(comparison: Comparison) -> tuple[Blamed, ...]:
    rows = [row for row in comparison.rows if row.delta_bytes > 0][:_LINES]
    return tuple(
        Blamed(
            f"{signed(row.delta_bytes)}  {row.at.key}"
            + (f" [was {size_of(row.bytes_before)}]" if row.before else " [new]"),
            row.at.file,
            row.at.line,
        )
        for row in rows
    )


def text_of(verdicts: Iterable[Verdict]) -> list[str]:
    """Return a line for each limit; failed limits list the lines to inspect.

    Runs with sizes that may be too low come last.
    """
    lines: list[str] = []
    warnings: dict[str, None] = {}
    for verdict in verdicts:
        word = "ok  " if verdict.holds else "FAIL"
        lines.append(f"{word}  {verdict.run}: {verdict.name}: {verdict.sentence}")
        lines += [f"      {one.text}" for one in verdict.blamed]
        warnings |= dict.fromkeys(verdict.too_low)
    return [*lines, *warnings]


def annotations_of(verdicts: Iterable[Verdict]) -> list[str]:
    """Return GitHub workflow commands, one per line to inspect; GitHub shows them at that line.

    Source: GitHub's documentation, "Workflow commands for GitHub Actions".
    """
    lines = []
    for verdict in verdicts:
        if verdict.holds:
            continue
        sentence = f"{verdict.name}: {verdict.sentence}"
        for one in verdict.blamed or (Blamed(sentence, "", 0),):
            location = (
                f"file={_escaped(printable(one.file), ':,')},line={one.line}," if one.file else ""
            )
            text = _escaped(joined([sentence, one.text] if one.text != sentence else [sentence]))
            lines.append(f"::error {location}title=peakline::{text}")
    return lines


def _escaped(text: str, more: str = "") -> str:
    escaped = printable(text, keep="\n").replace("%", "%25").replace("\n", "%0A")
    for character in more:
        escaped = escaped.replace(character, f"%{ord(character):02X}")
    return escaped


def junit_of(verdicts: list[Verdict]) -> bytes:
    """Return the verdicts as JUnit XML, a test case for each limit."""
    failed = sum(not verdict.holds for verdict in verdicts)
    suite = ElementTree.Element(
        "testsuite",
        name="peakline",
        tests=str(len(verdicts)),
        failures=str(failed),
        errors="0",
        skipped="0",
    )
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", classname=printable(verdict.run), name=printable(verdict.name)
        )
        if verdict.too_low:
            output = ElementTree.SubElement(case, "system-out")
            output.text = joined([*verdict.too_low])
        if not verdict.holds:
            failure = ElementTree.SubElement(case, "failure", message=printable(verdict.sentence))
            failure.text = joined([one.text for one in verdict.blamed])
    text: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return text

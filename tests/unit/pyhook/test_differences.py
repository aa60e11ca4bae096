"""Lines of two runs are matched: programs are made up, changed in a known way, and compared."""

from __future__ import annotations

import itertools
import random
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from peakline.differences.compare import compare
from peakline.differences.compiled import NO_BUFFER, NOT_SAVED, SAVED, SAVED_LESS
from peakline.differences.gate import (
    Blamed,
    Verdict,
    annotations_of,
    check_baseline,
    check_limit,
    check_phases,
    junit_of,
    text_of,
)
from peakline.differences.matching import align, match, match_files
from peakline.differences.side import Kept, Line, Row, Side
from peakline.differences.text import comparison_text, signed

OPERATORS = [f"aten::op{number}" for number in range(40)]


def line(file: str, number: int, function: str) -> Line:
    return Line(f"{file}:{number} ({function})", file, number, function)


def make_rows(choose: random.Random) -> list[Row]:
    """A program: files with functions with lines, each asking through operators of its own."""
    rows = []
    for file in range(choose.randrange(1, 5)):
        number = 1
        for function in range(choose.randrange(1, 6)):
            for _ in range(choose.randrange(1, 6)):
                number += choose.randrange(1, 9)
                via = tuple(sorted(choose.sample(OPERATORS, choose.randrange(1, 4))))
                at = line(f"/old/file{file}.py", number, f"C{file}.f{function}")
                size = choose.randrange(1, 1000)
                rows.append(Row(at, size, choose.randrange(1, 9), via))
            number += 5
    return rows


def moved(rows: list[Row], choose: random.Random) -> dict[Line, Line]:
    """Where each line stands after a refactoring that changes no memory."""
    places = {}
    files = {row.at.file for row in rows}
    folders = {file: choose.choice(["/old", "/new/deep"]) for file in sorted(files)}
    for file in sorted(files):
        of_file = [row.at for row in rows if row.at.file == file]
        functions = list(dict.fromkeys(at.function for at in of_file))
        choose.shuffle(functions)
        number = choose.randrange(1, 50)
        name = folders[file] + "/" + file.rpartition("/")[2]
        for function in functions:
            for at in (at for at in of_file if at.function == function):
                number += choose.randrange(1, 6)
                places[at] = line(name, number, function)
    return places


def side(rows: list[Row], *, knows_all: bool = True) -> Side:
    total = sum(row.bytes for row in rows)
    return Side("x", 0, total, tuple(rows), lines=tuple(rows) if knows_all else ())


@pytest.mark.parametrize("knows_all", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_a_refactoring_that_only_moves_lines_shows_no_growth(seed: int, knows_all: bool) -> None:
    choose = random.Random(seed)
    rows = make_rows(choose)
    places = moved(rows, choose)
    after = [replace(row, at=places[row.at]) for row in rows]
    choose.shuffle(after)
    found = compare(side(rows, knows_all=knows_all), side(after, knows_all=knows_all))
    assert found.changed == []
    assert {row.before.at: row.after.at for row in found.rows if row.before and row.after} == places


@pytest.mark.parametrize("seed", range(60))
def test_a_known_change_is_the_difference(seed: int) -> None:
    choose = random.Random(seed)
    rows = make_rows(choose)
    places = moved(rows, choose)
    wanted: dict[Line, int] = {}
    after = []
    for row in rows:
        what = choose.random()
        if what < 0.15:
            wanted[row.at] = -row.bytes  # the line is gone
            continue
        size = row.bytes + choose.randrange(1, 500) if what < 0.4 else row.bytes
        if size != row.bytes:
            wanted[places[row.at]] = size - row.bytes
        after.append(replace(row, at=places[row.at], bytes=size))
    for number in range(choose.randrange(3)):
        near = choose.choice(list(places.values()))
        at = line(near.file, 10_000 + number, near.function)
        new = Row(at, choose.randrange(1, 900), 1, (f"aten::new{number}",))
        wanted[at] = new.bytes
        after.append(new)
    found = compare(side(rows), side(after))
    assert {row.at: row.delta_bytes for row in found.changed} == wanted
    assert sum(row.delta_bytes for row in found.rows) == found.delta_bytes


def best_by_force(before: list[Row], after: list[Row]) -> float:
    from peakline.differences.matching import likeness

    best = 0.0
    for count in range(min(len(before), len(after)) + 1):
        for old in itertools.combinations(before, count):
            for new in itertools.combinations(after, count):
                best = max(best, sum(map(likeness, old, new)))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_lines_of_a_function_are_aligned_as_well_as_they_can_be(seed: int) -> None:
    from peakline.differences.matching import likeness

    choose = random.Random(seed)

    def some() -> list[Row]:
        numbers = sorted(choose.sample(range(1, 30), choose.randrange(6)))
        return [
            Row(line("m.py", number, "f"), choose.randrange(9), 1, (choose.choice(OPERATORS[:4]),))
            for number in numbers
        ]

    before, after = some(), some()
    pairs = align(before, after)
    reached = sum(likeness(old, new) for old, new in pairs if old and new)
    assert reached == pytest.approx(best_by_force(before, after))
    assert sorted(old.at.line for old, _ in pairs if old) == [row.at.line for row in before]
    assert sorted(new.at.line for _, new in pairs if new) == [row.at.line for row in after]


def test_lines_of_compiled_and_eager_code_match_by_their_numbers() -> None:
    eager = [
        Row(line("m.py", 16, "f"), 64, 2, ("aten::addmm",)),
        Row(line("m.py", 17, "f"), 64, 2, ("aten::gelu",)),
    ]
    compiled = [
        Row(line("m.py", 16, "f"), 64, 2, ("triton_poi_fused_0",)),
        Row(line("m.py", 17, "f"), 64, 2, ("aten::addmm",)),
    ]
    pairs = align(eager, compiled)
    assert [(old and old.at.line, new and new.at.line) for old, new in pairs] == [
        (16, 16),
        (17, 17),
    ]


def test_a_line_of_compiled_code_has_the_reason_of_its_change() -> None:
    def run(is_compiled: bool, saved: dict[int, int], held: dict[int, int]) -> Side:
        places = {number: line("m.py", number, "f") for number in (1, 2, 3, 4, 5)}
        kept = {places[number].key: size for number, size in saved.items()}
        rows = [Row(places[at], size, 1, (OPERATORS[at],)) for at, size in held.items()]
        return replace(side(rows), kept=Kept(is_compiled, kept))

    eager = run(False, {1: 64, 2: 64, 3: 8, 5: 8}, {1: 64, 2: 64, 3: 8, 4: 32, 5: 8})
    # The fifth line holds more, although less of it is saved: no reason explains that.
    compiled = run(True, {2: 16, 3: 64}, {1: 8, 2: 16, 3: 64, 5: 16})
    expected = {1: NOT_SAVED, 2: SAVED_LESS, 3: SAVED, 4: NO_BUFFER, 5: ""}
    for before, after in ((eager, compiled), (compiled, eager)):
        found = {row.at.line: row.why for row in compare(before, after).rows}
        assert found == expected
    assert not any(row.why for row in compare(eager, eager).rows)


def test_a_method_that_torch_compiled_has_lost_its_class() -> None:
    eager = [
        Row(line("m.py", 16, "Block.forward"), 64, 2, ("aten::addmm",)),
        Row(line("m.py", 27, "Net.forward"), 64, 2, ("aten::mean",)),
        Row(line("m.py", 40, "load"), 8, 1, ("aten::ones",)),
    ]
    compiled = [
        Row(line("m.py", 16, "forward"), 32, 2, ("aten::addmm",)),
        Row(line("m.py", 27, "Net.forward"), 64, 2, ("fused: mean, mul",)),
        Row(line("m.py", 40, "load"), 8, 1, ("aten::ones",)),
    ]
    for before, after in ((eager, compiled), (compiled, eager)):
        pairs = match(side(before), side(after))
        assert sorted((old.at.line, new.at.line) for old, new in pairs if old and new) == [
            (16, 16),
            (27, 27),
            (40, 40),
        ]
        assert len(pairs) == 3


def test_a_function_is_no_method_of_its_name_in_both_runs() -> None:
    rows = [
        Row(line("m.py", 3, "forward"), 64, 2, ("aten::addmm",)),
        Row(line("m.py", 9, "Net.forward"), 64, 2, ("aten::addmm",)),
    ]
    pairs = match(side(rows), side(rows[1:]))
    assert [(old and old.at.line, new and new.at.line) for old, new in pairs] == [
        (3, None),
        (9, 9),
    ]


def test_a_renamed_file_is_known_by_its_functions() -> None:
    names = ("Net.forward", "Net.__init__", "step")
    old = [Row(line("/a/model.py", n, name), 5, 1) for n, name in enumerate(names, 1)]
    old += [Row(line("/a/other.py", 1, "load"), 5, 1)]
    new = [Row(line("/b/network.py", n + 9, name), 5, 1) for n, name in enumerate(names, 1)]
    new += [Row(line("/b/loading.py", 1, "read"), 5, 1)]
    assert match_files(side(old), side(new)) == {"/a/model.py": "/b/network.py"}


def test_two_files_alike_are_no_pair() -> None:
    old = [Row(line("/a/one.py", 1, "main"), 5, 1)]
    new = [Row(line(f"/b/{name}.py", 1, "main"), 5, 1) for name in ("two", "three")]
    assert match_files(side(old), side(new)) == {}
    assert len(match(side(old), side(new))) == 3


def test_a_gate_names_the_lines_that_grew() -> None:
    before = side([Row(line("m.py", 3, "f"), 100, 1, ("a",)), Row(line("m.py", 9, "g"), 50, 1)])
    after = side([Row(line("m.py", 4, "f"), 130, 1, ("a",)), Row(line("m.py", 9, "g"), 50, 1)])
    verdict = check_baseline("peak", before, after, 0.1)
    assert not verdict.holds
    assert verdict.blamed == (Blamed("+30 B  m.py:4 (f) [was 100 B]", "m.py", 4),)
    assert check_baseline("peak", before, after, 0.2).holds
    assert check_limit("peak", after, 180, 180, after.rows).holds
    over = check_limit("peak", after, 180, 179, after.rows)
    assert (over.holds, over.blamed[0].line) == (False, 4)


def named(**sizes: int) -> Side:
    return side([Row(Line(name), size, 1) for name, size in sizes.items()])


def test_a_phase_may_grow_by_the_tolerance_and_no_byte_more() -> None:
    before = named(forward=100, backward=50, gone=9)
    holds = check_phases(before, named(forward=110, backward=40, new=900), 0.1)
    assert [(one.name, one.holds, one.sentence) for one in holds] == [
        ("phase forward", True, "110 B, 10 B more than in x"),
        ("phase backward", True, "40 B, 10 B less than in x"),
    ]
    [fails] = check_phases(before, named(forward=111), 0.1)
    assert (fails.holds, fails.sentence) == (False, "111 B, 11 B more than in x")
    [same] = check_phases(before, named(forward=100), 0.0)
    assert (same.holds, same.sentence) == (True, "100 B, as in x")


def test_a_limit_names_the_ten_largest_lines() -> None:
    rows = [Row(line("m.py", number, "f"), number, 1) for number in range(1, 13)]
    verdict = check_limit("peak", side(rows), 78, 70, rows)
    assert verdict.sentence == "78 B is 8 B above 70 B"
    assert [one.line for one in verdict.blamed] == list(range(12, 2, -1))
    assert text_of([verdict])[:2] == [
        "FAIL  x: peak: 78 B is 8 B above 70 B",
        "      12 B  m.py:12 (f)",
    ]
    assert text_of([check_limit("peak", side(rows), 78, 78, rows)]) == [
        "ok    x: peak: 78 B is at most 78 B"
    ]


def test_a_baseline_blames_what_grew_and_says_how_much_is_allowed() -> None:
    verdict = check_baseline("peak", named(a=10, b=20, c=5), named(a=36, b=1, d=1), 0.05)
    assert verdict.sentence == "38 B, 3 B more than in x; 0.05 of it more is allowed"
    assert [one.text for one in verdict.blamed] == ["+26 B  a [was 10 B]", "+1 B  d [new]"]


def test_the_text_of_a_comparison_has_sums_rows_and_the_rest() -> None:
    found = compare(named(a=100, b=50, c=7, gone=40), named(a=160, b=20, c=7, new=30))
    assert comparison_text(found, "peak", 0, lambda text, _: text) == [
        "peak: 197 B before, 217 B after: +20 B (+10.2%)",
        "Change  Before  After  Location",
        " +60 B   100 B  160 B  a",
        " -40 B    40 B      -  gone",
        " +30 B       -   30 B  new",
        " -30 B    50 B   20 B  b",
        "1 row is the same.",
    ]
    assert comparison_text(found, "peak", 3, lambda text, _: text)[-1] == (
        "1 more row differs (--top 0 shows them); 1 row is the same."
    )
    same = compare(named(a=1, b=1), named(a=1, b=1))
    assert comparison_text(same, "end", 0, lambda text, _: text) == [
        "end: 2 B before, 2 B after: the same",
        "2 rows are the same.",
    ]
    sizes = (1536, 1, 0, -1)
    assert [signed(size) for size in sizes] == ["+1.500 KB", "+1 B", "0 B", "-1 B"]


def test_a_stack_has_a_line_per_frame_and_the_room_behind_the_numbers() -> None:
    found = compare(named(), named(**{"a <- b <- c": 10}))
    assert comparison_text(found, "peak", 0, lambda text, used: f"{text} behind {used}") == [
        "peak: 0 B before, 10 B after: +10 B",
        "Change  Before  After  Location behind 23",
        " +10 B       -   10 B  a behind 23",
        f"{' ' * 25}b",
        f"{' ' * 25}c",
    ]


def test_a_line_that_moved_says_where_it_was() -> None:
    before = side([Row(line("/a/m.py", 3, "f"), 10, 1)])
    for at, ending in (
        (line("/a/m.py", 8, "f"), "/a/m.py:8 (f) [was line 3]"),
        (line("/b/n.py", 3, "f"), "/b/n.py:3 (f) [was m.py:3]"),
    ):
        text = comparison_text(compare(before, side([Row(at, 12, 1)])), "peak", 0, lambda t, _: t)
        assert text[2].endswith(ending)
        assert text[-1] == "1 stands on another line than before."


def test_every_limit_and_every_line_is_in_the_answer() -> None:
    verdicts = [
        Verdict(
            "peak", "run", False, "much", [Blamed("3 B  a", "m.py", 3), Blamed("2 B  b", "", 0)]
        ),
        Verdict("end", "run", False, "more"),
        Verdict("phase x", "run", True, "fine", too_low=["run: low"]),
    ]
    assert text_of(verdicts) == [
        "FAIL  run: peak: much",
        *("      3 B  a", "      2 B  b"),
        "FAIL  run: end: more",
        "ok    run: phase x: fine",
        "run: low",
    ]
    assert annotations_of(verdicts) == [
        "::error file=m.py,line=3,title=peakline::peak: much%0A3 B  a",
        "::error title=peakline::peak: much%0A2 B  b",
        "::error title=peakline::end: more",
    ]
    assert junit_of(verdicts).startswith(b"<?xml")
    suite = ElementTree.fromstring(junit_of(verdicts))
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert [case.findtext("system-out") for case in suite] == [None, None, "run: low"]


def test_answers_for_ci_hold_any_name() -> None:
    hostile = 'a,b:c%\n"<&>\x01é'
    verdicts = [
        Verdict("peak", hostile, False, hostile, [Blamed(hostile, hostile, 7)]),
        Verdict("phase x", "run", True, "fine"),
    ]
    suite = ElementTree.fromstring(junit_of(verdicts))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    first, second = suite.findall("testcase")
    assert first.find("failure") is not None
    assert second.find("failure") is None
    assert first.get("classname") == 'a,b:c%?"<&>?é'
    [annotation] = annotations_of(verdicts)
    properties, _, message = annotation.removeprefix("::error ").partition("::")
    assert properties == 'file=a%2Cb%3Ac%25?"<&>?é,line=7,title=peakline'
    assert "%0A" in message

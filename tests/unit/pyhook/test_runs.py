"""Which processes form a run, and what the comparison of its ranks says, by brute force."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import peakline._report as engine
import pytest
from peakline.imports.writing import TRACING_STARTED, end_trace
from peakline.runs.compare import compare_coordinates, compare_rows, find_outliers, process_of
from peakline.runs.coordinates import MeshError, found_coordinates, given_coordinates
from peakline.runs.find import Run, grouped, runs_of, traces_in
from peakline.runs.members import Group, Member, read_ranks
from peakline.runs.outlines import read_outline, read_outlines, store_outlines
from peakline.runs.report import compare_run, document_of
from peakline.runs.text import comparison_text, listed_ranks
from peakline.torch_objects.process_groups import written_ranks

SECOND = 10**9


def write_trace(
    path: Path, lines: dict[int, int], second: int = 0, *, is_whole: bool = True, **meta: object
) -> Path:
    """Write a trace of a program that allocates so many bytes at each line of train.py."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = engine.TraceWriter(str(path), (1_000_000 + second) * SECOND)
    for key, value in meta.items():
        writer.meta(key, str(value))
    writer.mark(0, TRACING_STARTED, 0)
    for number, (line, size) in enumerate(lines.items()):
        context = writer.context(writer.node(0, "/w/train.py", line, "step"), 0)
        writer.alloc(number + 1, context, 0, 0, size, size, (1 << 40) + number * (1 << 32))
    if is_whole:
        end_trace(writer, len(lines) + 1)
    else:
        writer.finish()
    return path


def write_run(folder: Path, job: str, ranks: dict[int, dict[int, int]], second: int = 0) -> None:
    for rank, lines in ranks.items():
        write_trace(
            folder / f"{job}-{second}-{rank}.peak",
            lines,
            second,
            rank=rank,
            job=job,
            world_size=8,
            script="train",
            host=f"n{rank // 4}",
        )


def ids(runs: list[Run]) -> list[list[int]]:
    return [list(run.ranks) for run in runs]


def test_a_job_of_several_machines_is_one_run(tmp_path: Path) -> None:
    write_run(tmp_path, "a", {rank: {1: 100} for rank in range(8)})
    [run] = runs_of(traces_in(tmp_path))
    assert (list(run.ranks), run.world_size, run.missing, run.name) == (
        list(range(8)),
        8,
        [],
        "train",
    )


def test_two_runs_of_one_job_do_not_mix(tmp_path: Path) -> None:
    write_run(tmp_path, "a", {rank: {1: 100} for rank in range(4)})
    write_run(tmp_path, "a", {rank: {1: 200} for rank in range(6)}, second=60)
    write_run(tmp_path / "deep", "b", {7: {1: 5}}, second=30)
    runs = runs_of(traces_in(tmp_path))
    assert ids(runs) == [list(range(6)), [7], list(range(4))]  # the newest first
    assert runs[2].missing == [4, 5, 6, 7]
    assert len({run.id for run in runs}) == 3


def test_the_last_attempt_is_compared_and_children_are_not_ranks(tmp_path: Path) -> None:
    for attempt, second in ((0, 0), (1, 50)):
        write_trace(
            tmp_path / f"{attempt}.peak",
            {1: 10 + attempt},
            second,
            rank=0,
            job="a",
            attempt=attempt,
        )
    write_trace(tmp_path / "helper.peak", {1: 9}, 55, job="a")
    [run] = runs_of(traces_in(tmp_path))
    assert [one.path.name for one in run.compared] == ["1.peak"]
    assert {one.path.name for one in run.others} == {"0.peak", "helper.peak"}


def test_processes_are_grouped_by_what_they_have_in_common() -> None:
    def member(rank: int | None, started: float, **fields: Any) -> Member:
        one = made_member(rank or 0)
        fields = {"run_uuid": "", **fields}
        return replace(one, rank=rank, started=started, file_uuid=f"{rank} {started}", **fields)

    def groups(*members: Member) -> list[list[float]]:
        return [[one.started for one in group] for group in grouped(members)]

    # Two machines, each with a `peakline run` of its own; then the same again.
    twice = [
        member(rank, start + rank, run_uuid=f"{start}{rank // 2}", job="j", host=f"n{rank // 2}")
        for start in (0.0, 10.0)
        for rank in range(4)
    ]
    assert groups(*twice) == [[0, 1, 2, 3], [10, 11, 12, 13]]
    # A child has the rank of its parent, and is no second run.
    assert groups(member(0, 1, job="j"), member(0, 2, job="j", parent_pid=100)) == [[1, 2]]
    assert groups(member(0, 1, job="j"), member(0, 2, job="j")) == [[1], [2]]
    # One `peakline run` is one run, whatever its processes say.
    assert groups(member(0, 1, run_uuid="r"), member(0, 2, run_uuid="r")) == [[1, 2]]
    # Preloaded by hand: ranks of one parent, and processes that have nothing in common.
    assert groups(member(0, 1), member(1, 2), member(2, 3, parent_pid=7)) == [[1, 2], [3]]
    assert groups(member(None, 1), member(None, 2)) == [[1], [2]]


def test_a_file_that_is_no_trace_is_told(tmp_path: Path) -> None:
    write_run(tmp_path, "a", {0: {1: 100}})
    (tmp_path / "broken.peak").write_bytes(b"not a trace")
    [run] = runs_of(traces_in(tmp_path))
    assert len(run.unreadable) == 1
    assert "broken.peak" in run.unreadable[0]


@pytest.mark.parametrize("seed", range(50))
def test_ranks_are_read_as_they_were_written(seed: int) -> None:
    choose = random.Random(seed)
    ranks = sorted(choose.sample(range(40), choose.randint(1, 12)))
    assert read_ranks(written_ranks(ranks)) == tuple(ranks)
    start, step, count = choose.randint(0, 9), choose.randint(1, 9), choose.randint(1, 200)
    regular = list(range(start, start + step * count, step))
    assert read_ranks(written_ranks(regular)) == tuple(regular)
    assert len(written_ranks(regular)) < 16


def made_member(rank: int, groups: tuple[Group, ...] = ()) -> Member:
    return Member(
        path=Path(f"{rank}.peak"),
        file_uuid=str(rank),
        run_uuid="r",
        job="",
        script="train",
        host="n",
        pid=100 + rank,
        parent_pid=1,
        rank=rank,
        local_rank=rank,
        world_size=8,
        attempt=0,
        started=float(rank),
        is_being_written=False,
        groups=groups,
    )


def test_a_mesh_that_is_given_is_that_of_the_groups() -> None:
    mesh = {"pp": 2, "dp": 2, "tp": 2}
    given = given_coordinates("pp=2,dp=2,tp=2", 8)

    def peers(rank: int, dimension: str) -> tuple[int, ...]:
        rest = {name: place for name, place in given[rank].items() if name != dimension}
        return tuple(r for r in range(8) if rest.items() <= given[r].items())

    names = {"pp": "PIPELINE_MODEL_PARALLEL_GROUP", "dp": "mesh_dp", "tp": "mesh_tp"}
    members = [
        made_member(
            rank,
            (Group("default_pg", tuple(range(8))),)
            + tuple(Group(names[one], peers(rank, one)) for one in mesh),
        )
        for rank in range(8)
    ]
    assert found_coordinates(members) == given
    assert given[5] == {"pp": 1, "dp": 0, "tp": 1}


@pytest.mark.parametrize("mesh", ["pp", "pp=x", "=2", "pp=0", "pp=3", ""])
def test_a_mesh_of_another_size_is_refused(mesh: str) -> None:
    with pytest.raises(MeshError, match="mesh|ranks"):
        given_coordinates(mesh, 8)


def outline(rows: dict[str, int]) -> dict[str, Any]:
    return {
        "chosen": {
            "device": 0,
            "peak_bytes": sum(rows.values()),
            "peak_seconds": 1.0,
            "phases": [],
        },
        "rows": {"line": [{"key": key, "bytes": size} for key, size in rows.items()]},
        "complete": True,
    }


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_those_of_brute_force(seed: int) -> None:
    choose = random.Random(seed)
    held = [
        {f"line {n}": choose.randint(1, 99) for n in range(6) if choose.random() < 0.7}
        for _ in range(choose.randint(1, 9))
    ]
    processes = [process_of(made_member(n), outline(rows), {}) for n, rows in enumerate(held)]
    rows = compare_rows(processes, "line")
    assert {row.key for row in rows} == {key for one in held for key in one}
    for row in rows:
        sizes = [one.get(row.key, 0) for one in held]
        assert (row.min_bytes, row.median_bytes, row.max_bytes) == (
            min(sizes),
            int(median(sizes)),
            max(sizes),
        )
        assert sizes[row.heaviest.rank or 0] == row.max_bytes
        assert row.count == sum(size > 0 for size in sizes)
    assert rows == sorted(rows, key=lambda row: (-row.spread_bytes, -row.max_bytes, row.key))


def test_who_stands_out_among_its_peers_and_why() -> None:
    def process(rank: int, stage: int, **rows: int) -> Any:
        return process_of(made_member(rank), outline(rows), {"pp": stage})

    stages = [process(rank, rank // 4, a=1000 * (1 + rank // 4), b=50 + rank) for rank in range(8)]
    assert find_outliers(stages, "line") == []  # the second stage holds twice as much, all of it
    stages[6] = process(6, 1, a=2000, b=56, leak=900)
    stages[1] = process(1, 0, a=200, b=51)
    found = find_outliers(stages, "line")
    assert [(one.process.member.rank, one.rows) for one in found] == [
        (6, (("leak", 900),)),
        (1, (("a", -800),)),
    ]
    assert [one.bytes_above > 0 for one in found] == [True, False]


def peers(*peaks: int) -> list[Any]:
    return [process_of(made_member(n), outline({"a": peak}), {}) for n, peak in enumerate(peaks)]


def test_an_outlier_is_above_a_twentieth_and_four_times_the_usual_deviation() -> None:
    def odd(*peaks: int) -> list[tuple[int, int, int]]:
        found = find_outliers(peers(*peaks), "line")
        return [(one.process.peak_bytes, one.peers_bytes, one.bytes_above) for one in found]

    assert odd(1000, 1000, 1050) == []
    assert odd(1000, 1000, 1051) == [(1051, 1000, 51)]
    assert odd(1000, 1100, 1200, 1300, 1600) == []
    assert odd(1000, 1100, 1200, 1300, 1601) == [(1601, 1200, 401)]
    assert odd(1000, 1601) == []  # either may be the odd one
    assert odd(1000, 1000, 1000, 900, 1200) == [(1200, 1000, 200), (900, 1000, -100)]


def test_an_outlier_is_explained_by_its_three_largest_rows_above_a_tenth() -> None:
    def reasons(**rows: int) -> Any:
        usual = [process_of(made_member(n), outline({"base": 1000}), {}) for n in range(4)]
        [found] = find_outliers(
            [*usual, process_of(made_member(9), outline({"base": 1000, **rows}), {})], "line"
        )
        return found.rows

    four = reasons(d=120, b=300, a=500, c=150)
    assert four == (("a", 500), ("b", 300), ("c", 150))
    assert reasons(a=900, b=100) == (("a", 900),)
    assert reasons(a=899, b=101) == (("a", 899), ("b", 101))
    assert reasons(e=300, d=300, c=300, b=300, a=300) == (("a", 300), ("b", 300), ("c", 300))


def test_an_outlier_below_its_peers_is_explained_by_the_rows_it_lacks() -> None:
    usual = {"base": 1000, "a": 900, "b": 100}
    group = [process_of(made_member(n), outline(usual), {}) for n in range(4)]
    group.append(process_of(made_member(9), outline({"base": 1000}), {}))
    [found] = find_outliers(group, "line")
    assert (found.bytes_above, found.rows) == (-1000, (("a", -900),))


def test_indexes_are_compared_along_dimensions_that_have_several() -> None:
    processes = [
        process_of(made_member(n), outline({"a": peak}), {"dp": n // 2, "cp": 0, "tp": n % 2})
        for n, peak in enumerate((10, 20, 7, 7))
    ]
    found = compare_coordinates(processes)
    assert [(one.dimension, one.index, one.count) for one in found] == [
        *(("dp", 0, 2), ("dp", 1, 2), ("tp", 0, 2), ("tp", 1, 2))
    ]
    assert [(one.median_bytes, one.max_bytes) for one in found] == [
        *((15, 20), (7, 7), (8, 10), (13, 20))
    ]


def test_a_phase_is_named_if_the_peak_is_in_it() -> None:
    def phase(peak: int) -> tuple[Any, ...]:
        one = outline({"a": peak})
        one["chosen"]["phases"] = [
            {"name": name, "peak_bytes": size, "peak_step": step}
            for name, size, step in (("forward", 5, 1), ("backward", 9, 2))
        ]
        process = process_of(made_member(3), one, {})
        return process.phase, process.step, process.peak_at

    assert phase(9) == ("backward", 2, 4.0)  # it started at 3, and peaked a second later
    assert phase(10) == ("", None, 4.0)


def test_the_document_names_the_ranks_at_both_ends_and_the_median(tmp_path: Path) -> None:
    ranks = {0: {1: 300}, 1: {1: 100}, 2: {1: 150, 2: 50}, 3: {1: 400}}
    write_run(tmp_path, "a", ranks)
    write_trace(tmp_path / "cut.peak", {1: 100}, 0, is_whole=False, rank=4, job="a", world_size=8)
    [run] = runs_of(traces_in(tmp_path))
    outlines = read_outlines([one.path for one in run.compared])
    outlines[2]["chosen"]["peak_seconds"] = -1.0
    outlines[2]["too_low"] = "a size was read from the device"
    outlines[3]["chosen"]["phases"] = [{"name": "forward", "peak_bytes": 400, "peak_step": 6}]
    outlines[4]["chosen"]["phases"] = []
    comparison = compare_run(run, outlines, "line")
    document = document_of(comparison)
    named = [document[name]["rank"] for name in ("heaviest", "lightest", "first_to_peak")]
    assert named == [3, 1, 2]
    assert (document["schema_version"], document["job"]) == (1, "a")
    assert document["median_bytes"] == 200
    phases = [(one["phase"], one["step"]) for one in document["processes"]]
    assert phases == [("other", None)] * 3 + [("forward", 6), (None, None)]
    assert [one.member.rank for one in comparison.cut] == [4]
    first, second = document["rows"]
    assert (first["min_bytes"], first["median_bytes"], first["max_bytes"]) == (100, 150, 400)
    assert (first["spread_bytes"], first["heaviest"]["rank"], first["process_count"]) == (300, 3, 5)
    assert (second["spread_bytes"], second["heaviest"]["rank"], second["process_count"]) == (
        50,
        2,
        1,
    )
    assert [one["peak_bytes"] for one in document["processes"]] == [300, 100, 200, 400, 100]
    assert [one["rank"] for one in document["processes"] if one["too_low"]] == [2]


def test_stored_outlines_are_those_of_the_events(tmp_path: Path) -> None:
    write_run(tmp_path, "a", {rank: {1: 100 + rank, 2: 7} for rank in range(3)})
    paths = traces_in(tmp_path)
    before = read_outlines(paths)
    reports = [engine.Trace(str(path)).report("table", json=True) for path in paths]
    store_outlines(paths)
    assert all(engine.Trace(str(path)).stored_outline() for path in paths)
    assert read_outlines(paths) == before
    assert [engine.Trace(str(path)).report("table", json=True) for path in paths] == reports
    assert [engine.Trace(str(path)).info()["problems"] for path in paths] == [[], [], []]
    sizes = [path.stat().st_size for path in paths]
    store_outlines(paths)  # once is enough
    assert [path.stat().st_size for path in paths] == sizes


def test_an_outline_that_is_damaged_is_made_of_the_events(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "one.peak", {1: 100, 2: 7})
    whole = read_outline(path)
    store_outlines([path])
    data = bytearray(path.read_bytes())
    data[-5] ^= 0xFF
    path.write_bytes(data)
    assert read_outline(path)["rows"] == whole["rows"]
    assert "checksum differs" in engine.Trace(str(path)).info()["problems"][0]


def test_a_packed_trace_takes_no_outline_and_keeps_the_one_it_has(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "one.peak", {1: 100})
    bare, full = str(tmp_path / "bare.peak.zst"), str(tmp_path / "full.peak.zst")
    engine.pack(str(path), bare)
    assert engine.store_outline(bare, "{}") is False
    store_outlines([path])
    engine.pack(str(path), full)
    assert engine.Trace(bare).stored_outline() is None
    assert engine.Trace(full).stored_outline() == engine.Trace(str(path)).stored_outline()
    engine.pack(str(path), f"{path}.zst")
    assert traces_in(tmp_path) == [Path(bare), Path(full), path]  # a packed twin is no second one


def test_the_text_lists_missing_and_cut_ranks_together(tmp_path: Path) -> None:
    write_run(tmp_path, "a", {rank: {1: 1000} for rank in (0, 1, 4, 5)})
    for rank in (4, 5):
        path = tmp_path / f"a-0-{rank}.peak"
        path.unlink()
        write_trace(path, {1: 1000}, is_whole=False, rank=rank, job="a", world_size=8)
    [run] = runs_of(traces_in(tmp_path))
    comparison = compare_run(run, read_outlines([one.path for one in run.compared]), "line")
    text = "\n".join(comparison_text(comparison, 10, lambda text, _: text))
    assert "4 of 8 ranks on 2 hosts" in text
    assert "Missing: ranks 2-3, 6-7 left no trace" in text
    assert "Cut: ranks 4-5 killed or interrupted" in text


def test_neighbours_are_listed_together() -> None:
    assert listed_ranks([3]) == "rank 3"
    assert listed_ranks([0, 1, 2, 7, 9, 10]) == "ranks 0-2, 7, 9-10"


def test_a_trace_that_cannot_be_read_is_left_out_and_told(tmp_path: Path) -> None:
    write_run(tmp_path, "a", {0: {1: 100}, 1: {1: 200}})
    [run] = runs_of(traces_in(tmp_path))
    outlines: list[Any] = read_outlines([one.path for one in run.compared])
    outlines[0] = engine.TraceError("gone")
    comparison = compare_run(run, outlines, "line")
    assert [one.member.rank for one in comparison.processes] == [1]
    assert comparison.unreadable == ("gone",)
    with pytest.raises(ValueError, match="gone"):
        compare_run(replace(run), [engine.TraceError("gone")] * 2, "line")
    assert json.dumps(outlines[1])  # a plain document

"""Growth, as the public asks about it: what grows, by how much, and what only looks like it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from asking import PROGRAMS, Thread, cause_of, judge_recorded, traces_of

SAYS_NOTHING = (r"peakline: grows", r"rose from", r"reserved memory grows")
RESERVED = "reserved memory grows from .* while allocated is never above "

THREADS = (
    Thread("leak_uneven", (r"grows 5\.000 MB per step at \S*{cause}",), never=SAYS_NOTHING[1:]),
    Thread(
        "leak_uneven",
        (r"5\.000 MB  .*1 per step .*{cause}", "1 row grows"),
        "leaks",
    ),
    Thread("leak_every_fourth", (r"grows 1\.000 MB per step \(every 4 steps\) at \S*{cause}",)),
    Thread("leak_under_lengths", (r"grows 1\.000 MB per step at \S*{cause}",)),
    Thread("leak_beside_rising_lengths", (r"grows 4\.000 MB per step at \S*{cause}",)),
    Thread(
        "lengths_rise",
        (r"lengths rose from 68 to 1,489 tokens: 15\.63 KB per token .*{cause}", "its inputs do"),
        never=("peakline: grows",),
    ),
    Thread(
        "lengths_rise",
        ("nothing grows", r"lengths rose from 68 to 1,489 tokens: 15\.63 KB per token.*{cause}"),
        "leaks",
    ),
    Thread(
        "lengths_rise_evenly",
        (r"lengths rose from 64 to 1,444 tokens: 15\.63 KB per token .*{cause}",),
        never=("peakline: grows",),
    ),
    Thread("streams_new", (RESERVED + r"320\.0 MB, cached on 24 streams: .*{cause}",)),
    Thread(
        "streams_new",
        ("Reserved memory grows", r"24 streams .*{cause}"),
        "leaks",
    ),
    Thread("streams_of_threads", (RESERVED + r"97\.02 MB, cached on 1[12] streams: .*{cause}",)),
    Thread("graph_pools", (RESERVED + r".*, cached in 16 private pools: .*{cause}",)),
    Thread("segments_too_small", (RESERVED + r".*the free blocks were smaller.*{cause}",)),
    *(
        Thread(path.stem, (r"wrote .*run\.peak",), never=SAYS_NOTHING)
        for path in sorted(PROGRAMS.glob("twin_*.py"))
        if path.stem.removeprefix("twin_")
        in (
            "random_lengths",
            "bucketed",
            "warm_up",
            "cache_fills",
            "streams_reused",
            "evaluation",
            "graphs_share",
        )
    ),
)


ALSO = ("history_under_lengths",)  # by `leaks` only


@pytest.fixture(scope="module")
def traces(lab: Any) -> dict[str, Path]:
    return traces_of(lab, sorted({*ALSO, *(one.program for one in THREADS)}))


@pytest.mark.parametrize("thread", THREADS, ids=str)
def test_the_answer_is_the_cause(lab: Any, traces: dict[str, Path], thread: Thread) -> None:
    judge_recorded(lab, thread, traces[thread.program])


def leaks(lab: Any, trace: Path) -> tuple[int, dict[str, Any]]:
    """Return the exit status of `leaks --fail-on-growth`, and what it says."""
    done = lab.peakline("leaks", "--fail-on-growth", "--json", str(trace))
    return done.returncode, json.loads(done.stdout)


# Status 1 where the program's own growth is found, 0 where inputs or nothing grows.
@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("leak_under_lengths", 1),
        ("leak_beside_rising_lengths", 1),
        ("history_under_lengths", 1),
        ("streams_new", 1),
        ("lengths_rise", 0),
        ("lengths_rise_evenly", 0),
        ("twin_random_lengths", 0),
        ("twin_bucketed", 0),
    ],
)
def test_growth_of_inputs_fails_nobody_and_a_leak_beside_them_does(
    lab: Any, traces: dict[str, Path], program: str, status: int
) -> None:
    found, document = leaks(lab, traces[program])
    assert found == status, document


def test_what_is_joined_on_the_device_grows_whatever_the_lengths_are(
    lab: Any, traces: dict[str, Path]
) -> None:
    _, document = leaks(lab, traces["history_under_lengths"])
    row = document["growth"][0]
    assert row["key"].split(" (")[0].endswith(cause_of(PROGRAMS / "history_under_lengths.py"))
    # The allocator leaves up to 1 MB of a free block unsplit.
    assert row["bytes_per_step"] == pytest.approx(1 << 20, rel=0.1)


def test_the_summary_and_the_page_say_so_too(lab: Any, traces: dict[str, Path]) -> None:
    trace = traces["streams_new"]
    sentence = "Reserved memory grows from"
    assert sentence in lab.peakline("summary", str(trace)).stdout
    page = trace.with_suffix(".html")
    assert lab.peakline("html", "-o", str(page), str(trace)).returncode == 0
    assert re.search(rf"<p class=warn>{sentence}.*cached on 24 streams", page.read_text())

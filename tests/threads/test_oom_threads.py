"""Out of memory, as the public asks about it: which limit refused, and what would be enough."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from asking import PROGRAMS, Thread, cause_of, judge
from lab import ON_GPU, Run

pytestmark = pytest.mark.skipif(ON_GPU, reason="the sizes are of devices that are simulated")

GB = 1 << 30
FRACTION = "set_per_process_memory_fraction"
NEVER_TRUE = ("no line alone holds as much", "on this device, even with nothing")
LIMIT = ("limit of this process", FRACTION)
PINNED = ("segments that it cannot return", "PYTORCH_ALLOC_CONF")
OTHERS = ("ther processes hold", "of other processes")
OLDER = ("an exception that the program keeps",)
POOL = ("another pool",)
ONLY_KEPT = (*LIMIT, *PINNED, *OTHERS, *OLDER, *POOL, "no line alone holds as much")


def ends(program: str, device: str, *says: str, **how: Any) -> Thread:
    """Return a program that memory running out ends, judged by the end of its run."""
    return Thread(program, says, device=device, status=1, **how)


def beside_others(count: int) -> dict[str, str]:
    """Return the environment of a device of which others hold so many GiB."""
    return {"PEAKLINE_SIM_CONSTANTS": f"other_processes_bytes={count * GB}"}


THREADS = (
    ends(
        "oom_fraction",
        "h200",
        r"5\.000 GB asked for .*, 3\.990 GB left of the 6\.990 GB limit of this process"
        r" \(5\.0 % of 139\.8 GB\)",
        rf"The limit refused it \(torch\.cuda\.{FRACTION}\), not the device",
        r"1\.010 GB more were needed; \S*{cause} \(<listcomp>\) holds the most, 3\.000 GB",
        never=(*NEVER_TRUE, *PINNED, *OTHERS, *OLDER),
    ),
    ends(
        "oom_fraction_alone",
        "h200",
        r"8\.000 GB asked for at \S*{cause} ",
        "not the device, which has 139.3 GB free",
        "It does not fit in that limit, even with nothing else live in torch",
        never=(*NEVER_TRUE, *PINNED, *OTHERS, *OLDER),
    ),
    Thread(
        "oom_retry",
        (
            r"3\.125 GB of activations are left from before request 1 was refused: an exception"
            r" .*\n?.*peakline run --hold end",
            r"; \S*{cause} \(step\) holds the most, 3\.125 GB",
        ),
        "oom",
        never=(*NEVER_TRUE, *LIMIT, *PINNED, *OTHERS),
        device="h200:4800MiB",
    ),
    Thread(
        "oom_retry",
        (
            "What does stands below",
            r"(?s)What keeps the largest blocks alive.*"
            r"640\.0 MB  made\[0\] of step \(oom_retry\.py:16\), in the traceback of"
            r" OutOfMemoryError kept by oom_retry\.last_error",
        ),
        "oom",
        never=(*NEVER_TRUE, "--hold", r"Held by\n *16\.00 MB"),
        options=("--hold", "end", "--force"),
        device="h200:4800MiB",
    ),
    ends(
        "oom_pinned",
        "h200:3GiB",
        r"1\.602 GB free in segments that it cannot return, since blocks lie in them: with it the"
        r" request would fit\. 10 blocks of \S*{cause} \(<listcomp>\) \(160\.0 MB\) lie beside",
        r"Replayed with PYTORCH_ALLOC_CONF=expandable_segments:True, this run is served",
        "Next: peakline fragmentation --at oom run.peak",
        never=(*NEVER_TRUE, *LIMIT, *OTHERS, *OLDER),
    ),
    Thread(
        "oom_pinned",
        (r"1\.758 GB +1\.602 GB .* 160\.0 MB .*{cause}",),
        "fragmentation --at oom",
        options=("--force",),
        device="h200:3GiB",
        status=1,
    ),
    ends(
        "oom_pinned_under_fraction",
        "h200",
        r"1\.038 GB left of the 2\.796 GB limit of this process \(2\.0 % of 139\.8 GB\)",
        r"1\.602 GB free in segments that it cannot return.* 10 blocks of \S*{cause} ",
        r"Replayed with PYTORCH_ALLOC_CONF=expandable_segments:True, this run is served",
        "Next: peakline fragmentation --at oom run.peak",
        never=(*NEVER_TRUE, *OTHERS, *OLDER),
    ),
    ends(
        "oom_other_process",
        "h200:5GiB",
        r"It does not fit beside the 3\.000 GB of other processes",
        r"3\.000 GB +60\.0  other processes",
        "Next: peakline ledger --at oom run.peak",
        never=(*NEVER_TRUE, *LIMIT, *PINNED, *OLDER),
        environment=beside_others(3),
    ),
    ends(
        "oom_resume",
        "h200:1100MiB",
        r"; \S*{cause} \(<module>\) holds the most, 192\.1 MB",
        never=(*NEVER_TRUE, *LIMIT, *PINNED, *OTHERS, *OLDER),
    ),
    ends(
        "oom_mem_pool",
        "h200:3GiB",
        r"1\.563 GB asked for at \S*{cause} ",
        r"1\.465 GB of free memory belong to another pool \(a CUDA graph's, or a MemPool\)",
        "Next: peakline fragmentation --at oom run.peak",
        never=(*NEVER_TRUE, *LIMIT, *PINNED, *OTHERS, *OLDER),
    ),
    ends(
        "twin_oom_plain",
        "h200:4GiB",
        r"\S*{cause} \(<listcomp>\) holds the most, 3\.250 GB",
        never=ONLY_KEPT,
    ),
    ends(
        "twin_oom_fraction_beside",
        "h200:4GiB",
        r"244\.4 MB free of 4\.000 GB",
        r"\S*{cause} \(<listcomp>\) holds the most, 2\.250 GB",
        r"Other processes hold 1\.000 GB of this device: without them it would fit",
        never=(*LIMIT, *PINNED, *OLDER, *POOL),
        environment=beside_others(1),
    ),
    ends(
        "twin_oom_pieces_too_small",
        "h200:3GiB",
        r"751\.6 MB more were needed; \S*{cause} \(<listcomp>\) holds the most, 1\.406 GB",
        "Next: peakline table --at oom run.peak",
        never=ONLY_KEPT,
    ),
    ends(
        "twin_oom_too_large",
        "h200:4GiB",
        r"64\.00 GB asked for at \S*{cause} ",
        "It does not fit on this device, even with nothing else live in torch",
        never=ONLY_KEPT,
    ),
    ends(
        "twin_oom_fallback",
        "h200:4GiB",
        r"256\.0 MB asked for at \S*{cause} ",
        never=ONLY_KEPT,
    ),
)


def name_of(thread: Thread) -> str:
    return " ".join([thread.program, thread.command, *thread.options]).strip()


@pytest.mark.parametrize("thread", THREADS, ids=name_of)
def test_the_answer_is_the_cause(lab: Any, thread: Thread) -> None:
    judge(lab, thread)


def oom_of(lab: Any, run: Run, *options: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(lab.report("oom", run.trace, "--json", *options))
    return document


def test_the_holders_of_every_request_are_those_of_its_own_blocks(lab: Any) -> None:
    program = PROGRAMS / "oom_retry.py"
    run = lab.run(program, options=["--hold", "end"], device="h200:4800MiB")
    for number in ("1", "2"):
        [one] = oom_of(lab, run, "--nth", number)["ooms"]
        largest = one["holders"][0]
        assert largest["block_bytes"] == 640 << 20
        assert f"{program.name}:13" in largest["made_at"]
        assert "in the traceback of OutOfMemoryError" in largest["holders"][0]["path"]


def test_a_limit_is_told_from_the_device_that_refuses(lab: Any) -> None:
    runs = {
        "limit": lab.run(PROGRAMS / "oom_pinned_under_fraction.py"),
        "device": lab.run(PROGRAMS / "oom_pinned.py", device="h200:3GiB"),
    }
    for refused_by, run in runs.items():
        [one] = oom_of(lab, run)["ooms"]
        assert (one["reason"], one["refused_by"]) == ("pinned", refused_by)
        assert one["served_with"] == "expandable_segments:True"
        # 1,800 MiB were one segment, of which ten blocks of 16 MiB are left.
        assert one["pinned_bytes"] == (1800 - 160) << 20
        [pin] = one["pins"]
        assert pin["key"].split(" (")[0].endswith(cause_of(PROGRAMS / f"{run_name(run)}.py"))


def run_name(run: Run) -> str:
    from peakline._report import Trace

    return str(Trace(str(run.trace)).info()["meta"]["script"])


def test_a_run_that_was_refused_nothing_has_an_empty_list(lab: Any) -> None:
    run = lab.once("known_sizes.py")
    document = oom_of(lab, run)
    assert (document["refused"], document["caught"]) == (0, 0)
    assert (document["ooms"], document["others"]) == ([], [])
    asked = lab.peakline("oom", str(run.trace))
    assert (asked.returncode, "no request was refused" in asked.stderr) == (2, True)
    named = lab.peakline("oom", "--json", "--nth", "1", str(run.trace))
    assert (named.returncode, "no request was refused" in named.stderr) == (2, True)


def page_of(lab: Any, run: Run) -> str:
    page = run.trace.with_suffix(".html")
    assert lab.peakline("html", "-o", str(page), str(run.trace)).returncode == 0
    return page.read_text()


def test_the_page_names_the_limit_and_advises_no_sliver(lab: Any) -> None:
    limited = page_of(lab, lab.run(PROGRAMS / "oom_fraction.py"))
    assert "3.990 GB was left of its limit of 6.990 GB" in limited
    run = lab.run(PROGRAMS / "twin_oom_activations.py", device="h200:3GiB")
    categories = {row["key"]: row["bytes"] for row in oom_of(lab, run)["ooms"][0]["categories"]}
    assert max(categories, key=lambda name: categories[name]) == "activation"
    page = page_of(lab, run)
    assert "Out of memory" in page
    assert not re.search(r'class="advice" data-rule="[^"]*optimizer', page)

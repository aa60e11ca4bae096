"""What holds memory, as the public asks about it: cycles, old errors, caches, and no more said."""

from __future__ import annotations

import json
from typing import Any

from asking import PROGRAMS, cause_of


def test_batches_that_are_evaluated_are_steps_of_leaks(lab: Any) -> None:
    run = lab.recorded(lab.folder / "evaluation-leaks", str(PROGRAMS / "results_kept.py"))
    found = json.loads(lab.report("leaks", run.trace, "--json"))
    assert (found["unit"], found["unit_count"]) == ("pass", 19)
    [row] = found["growth"]
    assert row["bytes_per_step"] == 64 * 256 * 4
    assert row["key"].split(" (")[0].endswith(cause_of(PROGRAMS / "results_kept.py"))

"""Who keeps blocks alive: `peakline.holders()`, `run --hold`, and the report `holders`.

The oracle is the program: it keeps one block of a size of its own in every way there is, and what
keeps it is written down here.
"""

from __future__ import annotations

import json
import re

import pytest
from lab import PROGRAMS

PROGRAM = "keeps_alive"
# By number in tests/programs/keeps_alive.py: kind and path of the best holder.
EXPECTED = {
    30: ("global", f"{PROGRAM}.model.attention.cache.keys[0]"),
    31: ("global", f"{PROGRAM}.inline.first"),
    32: ("global", f"{PROGRAM}.model.attention.weight"),
    33: ("global", f"{PROGRAM}.model.attention.cached"),
    34: ("global", f"{PROGRAM}.model.attention.table"),
    35: ("class", f"{PROGRAM}.Registry.entries['first']"),
    36: ("default", f"kept by default in {PROGRAM}.with_default"),
    37: ("default", f"keyword by default in {PROGRAM}.with_default"),
    38: (
        "closure",
        f"hidden in the closure of make_closure.<locals>.inner, kept by {PROGRAM}.closure",
    ),
    39: ("suspended", f"held of generate ({PROGRAM}.py:LINE), suspended in {PROGRAM}.suspended"),
    40: (
        "exception",
        f"lost of fail ({PROGRAM}.py:LINE), in the traceback of ValueError kept by "
        f"{PROGRAM}.last_error",
    ),
    41: (
        "cycle",
        "Node.other.data in a reference cycle (Node.other.other -> Node): only the garbage "
        "collector frees it",
    ),
    42: ("thread", f"{PROGRAM}.local.data"),
    43: ("local", f"waits of in_thread ({PROGRAM}.py:LINE)"),
    44: ("global", f"{PROGRAM}.losses[2]"),
    45: ("global", f"{PROGRAM}.by_name['a'][3]"),
    46: ("global", f"{PROGRAM}.by_name[('b', 1)]"),
    47: ("global", f"{PROGRAM}.queue[2]"),
    48: ("global", f"{PROGRAM}.activations[0]"),
    49: ("global", f"an element of {PROGRAM}.in_set"),
    50: ("graph", f"saved by ExpBackward0 in the graph of {PROGRAM}.graphs[0]"),
    51: ("graph", f"ScaleBackward.own in the graph of {PROGRAM}.graphs[1]"),
    52: ("graph", f"saved by ScaleBackward in the graph of {PROGRAM}.graphs[1]"),
    53: ("local", f"batch of main ({PROGRAM}.py:LINE)"),
}
LINES = {39: "yield 1", 40: "raise ValueError(", 43: "done.wait()", 53: "found = peakline.holders("}


def line_of(text):
    source = (PROGRAMS / f"{PROGRAM}.py").read_text().splitlines()
    return next(number for number, line in enumerate(source, 1) if text in line)


@pytest.mark.parametrize("number", EXPECTED)
def test_the_best_holder_is_what_the_program_names_it(lab, number):
    run = lab.once(f"{PROGRAM}.py")
    kind, path = EXPECTED[number]
    if number in LINES:
        path = path.replace("LINE", str(line_of(LINES[number])))
    assert run.said["said"][str(number)][0] == [kind, path]
    assert run.said["complete"] is True


def test_every_block_has_one_holder_only_where_the_program_has_one(lab):
    said = lab.once(f"{PROGRAM}.py").said["said"]
    assert {number: holders for number, holders in said.items() if len(holders) != 1} == {}
    assert set(said) == {str(number) for number in (*EXPECTED, 50)}


def test_the_trace_has_what_the_program_was_told(lab):
    run = lab.once(f"{PROGRAM}.py")
    report = json.loads(lab.report("holders", run.trace, "--json"))
    assert (report["reason"], report["search"], report["is_complete"]) == ("asked", 1, True)
    said = run.said["said"]
    found = {
        str(block["requested_bytes"] >> 21): [[h["kind"], h["path"]] for h in block["holders"]]
        for block in report["blocks"]
        if block["requested_bytes"] >= 2 << 20 and "AccumulateGrad" not in str(block["holders"])
    }
    assert found == {number: said[number] for number in found}
    assert len(found) == len(EXPECTED)


def test_blocks_of_a_search_are_those_of_tensors(lab):
    run = lab.once("keeps_losses.py", options=["--hold", "3,end"])
    ends = json.loads(lab.report("holders", run.trace, "--json"))
    assert ends["reason"] == "end"
    tensors = json.loads(lab.report("tensors", run.trace, "--json", "--at", "end"))["tensors"]
    by_address = {tensor["address"]: tensor for tensor in tensors}
    assert ends["found_count"] == len(ends["blocks"])
    unnamed = {tensor["address"] for tensor in tensors if tensor["name"] is None}
    assert unnamed <= {block["address"] for block in ends["blocks"]}
    assert len(unnamed) == 12  # of the four steps each: batch, result, loss
    for block in ends["blocks"]:
        tensor = by_address[block["address"]]
        for field in ("block_bytes", "requested_bytes", "device", "made_at", "module", "name"):
            assert block[field] == tensor[field]
        assert tensor["held_by"] == block["holders"][0]["path"]


def test_hold_looks_after_the_step_and_finds_the_kept_losses(lab):
    run = lab.once("keeps_losses.py", options=["--hold", "3,end"])
    first = json.loads(lab.report("holders", run.trace, "--json", "--search", "1"))
    assert (first["reason"], first["step"], first["search_count"]) == ("step", 3, 3)
    second = json.loads(lab.report("holders", run.trace, "--json", "--search", "2"))
    assert second["reason"] == "return"  # of train(), before its model is gone
    assert any("model.0.weight of train (" in str(block["holders"]) for block in second["blocks"])
    best = {block["holders"][0]["path"] for block in first["blocks"]}
    # Its own loss of the third step is a variable still; the graphs of the others are kept only.
    assert "saved by ReluBackward0 in the graph of keeps_losses.kept[0]" in best
    assert "saved by AddmmBackward0 in the graph of keeps_losses.kept[1]" in best
    assert any(path.startswith("model.0.weight of train (keeps_losses.py:") for path in best)
    assert any(path.startswith("model.0.weight.grad of train (") for path in best)


def test_a_signal_asks_for_a_search(lab):
    run = lab.run("keeps_losses.py", "signal", options=["--hold", "99"])
    found = json.loads(lab.report("holders", run.trace, "--json"))
    assert (found["reason"], found["search_count"], run.said["kept"]) == ("signal", 1, 4)


def test_without_hold_the_signal_is_the_programs(lab):
    assert lab.run("keeps_losses.py", "signal").status == -12


def test_a_handler_of_the_program_wins(lab):
    run = lab.run("keeps_losses.py", "handles", "signal", options=["--hold", "99"])
    assert run.stdout.splitlines()[0] == "own handler"
    assert ["handles SIGUSR2 itself" in note for note in run.notes] == [True, False]
    assert run.notes[1].endswith("--hold 99: the program ended before, its optimizers made 4 steps")


def test_running_out_of_memory_looks_for_holders(lab):
    run = lab.run("keeps_losses.py", "fails", options=["--hold", "99"])
    found = json.loads(lab.report("holders", run.trace, "--json"))
    assert (found["reason"], found["found_count"]) == ("out of memory", found["row_count"])
    [one] = json.loads(lab.report("oom", run.trace, "--json"))["ooms"]
    paths = [[holder["path"] for holder in row["holders"]] for row in found["blocks"]]
    assert [[holder["path"] for holder in row["holders"]] for row in one["holders"]] == paths
    assert "What keeps the largest blocks alive" in lab.report("oom", run.trace)


@pytest.mark.parametrize(
    ("value", "words"),
    [("3x", "'3x' is no step"), ("0", "'0' is no step"), ("5s", "not when")],
)
def test_a_bad_value_of_hold_is_refused(lab, value, words):
    run = lab.run("keeps_losses.py", options=["--hold", value])
    assert (run.status, run.stdout) == (2, "")
    assert words in run.stderr


def test_a_trace_without_a_search_says_how_to_make_one(lab):
    run = lab.once("known_sizes.py")
    result = lab.peakline("holders", str(run.trace))
    assert (result.returncode, "peakline run --hold STEP" in result.stderr) == (2, True)
    assert "Held by" not in lab.report("tensors", run.trace)


def test_a_search_is_bounded_and_says_so(lab):
    run = lab.run("many_objects.py", "1000000")
    short, long = run.said["short"], run.said["long"]
    assert short["complete"] is False
    assert long["complete"] is True
    assert long["objects"] > 1_000_000 > short["objects"]
    assert re.fullmatch(r"many_objects.chains\[\d+\].following\{1000\}\[0\]", long["paths"][0])
    assert len(long["paths"]) == 4
    text = lab.report("holders", run.trace, "--search", "1")
    assert "The time was up; of the other " in text
    assert re.search(r"[\d,]+ of about 1,\d{3},\d{3} objects searched", text)
    assert "held by C++ alone" not in text


def test_the_program_sees_nothing_of_a_search(lab):
    run = lab.run("sees_a_search.py", options=["--hold", "99"])
    control = lab.run("sees_a_search.py", "without", options=["--hold", "99"])
    searches = json.loads(lab.report("holders", run.trace, "--json"))["search_count"]
    assert searches == 4
    said, without = run.said, control.said
    assert said["left"] == without["left"]  # the program's own
    assert said["before"] == said["after"]
    assert said["noticed"] == []
    assert said["deaths"] == without["deaths"]
    assert 0 <= said["growth"] <= 2  # of the collector's count, over two searches


def test_a_bounded_trace_keeps_its_searches(lab):
    run = lab.run("keeps_losses.py", options=["--hold", "2,end", "--keep", "peak", "--steps", "3"])
    ends = json.loads(lab.report("holders", run.trace, "--json"))
    assert (ends["reason"], ends["search_count"]) == ("end", 2)
    assert ends["found_count"] == len(ends["blocks"]) > 9
    assert "Held by" not in lab.report("tensors", run.trace, "--at", "end")


def test_without_the_part_for_torch_nothing_is_found_and_it_says_so(lab, tmp_path):
    simulated = lab.run("known_sizes.py")  # what it needs is built
    assert simulated.status == 0
    run = lab.run(
        f"{PROGRAM}.py",
        options=["--backend", "observe"],
        environment={"PEAKLINE_TORCH_PART": str(tmp_path / "none.so")},
    )
    assert {json.dumps(holders) for holders in run.said["said"].values()} == {"[]"}
    text = lab.report("holders", run.trace)
    assert "No tensor could be read: the part for this torch was missing" in text


@pytest.mark.parametrize(("how", "reason"), [("batches", "batch"), ("marks", "marked step")])
def test_batches_and_marks_are_steps_where_no_optimizer_makes_any(lab, how, reason):
    run = lab.run("keeps_results.py", how, options=["--hold", "5,100"])
    report = json.loads(lab.report("holders", run.trace, "--json"))
    assert (report["reason"], report["step"], report["search_count"]) == (reason, 5, 1)
    paths = {holder["path"] for block in report["blocks"] for holder in block["holders"]}
    assert {path for path in paths if ".kept[" in path} == {
        f"keeps_results.kept[{number}]" for number in range(5)
    }
    made = {"batch": "its optimizers made no step, its data loaders 8 batches"}
    text = made.get(reason, "it marked 7 steps")
    assert run.notes == [f"peakline: --hold 100: the program ended before, {text}"]

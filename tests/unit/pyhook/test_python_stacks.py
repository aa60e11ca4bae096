"""Captured Python stacks against CPython's own answers, in every interpreter of this machine."""

import pytest
from interpreters import build_library, find_interpreter, run_with

MIN_COMPARED_STACKS = 6000


def test_every_frame_agrees_with_traceback_extract_stack(run_json):
    result = run_json("stacks.py")
    assert result["mismatch_count"] == 0, result["mismatches"]
    assert sum(result["compared"].values()) >= MIN_COMPARED_STACKS
    assert all(count > 0 for count in result["compared"].values())


def test_qualified_names_agree_with_the_code_objects(run_json):
    result = run_json("qualified_names.py")
    assert result["ours"] == result["theirs"]


def test_lines_agree_with_co_lines_over_the_standard_library(run_json):
    result = run_json("line_tables.py", timeout=600)
    assert result["offsets"] > 300_000
    assert (result["wrong"], result["wrong_positions"]) == (0, 0)


def test_a_reused_code_address_never_names_the_old_function(run_json):
    result = run_json("code_reuse.py")
    assert result["distinct_addresses"] < result["captures"], "addresses were not reused"
    assert result["wrong"] == 0
    assert result["epoch_moves_for_unseen_code"] == 0


def test_the_reuse_test_notices_when_code_deaths_go_unseen(run_json):
    assert run_json("code_reuse.py", "unwatched")["wrong"] > 100


def test_more_code_objects_than_the_table_holds_are_still_named_right(run_json):
    assert run_json("many_codes.py")["wrong"] == 0


def test_stacks_of_one_line_tell_whose_method_runs(run_json):
    assert run_json("instances.py") == {
        "unwatched_distinct": 2,  # one layer calls another
        "distinct": 3,
        "same_again": True,
        "new_after_death": [True, False, False],
        "owners_right": True,
        "in_generator": True,
    }


def test_watched_objects_are_known_again_until_they_die(run_json):
    result = run_json("watched_objects.py")
    assert all(result["known"].values()), result["known"]
    # Each address serves many objects here, and every object has a number of its own.
    assert result["addresses"] < result["objects"] == result["numbers"]
    assert result["finalised"] == ["by the class", "by the class", "late"]
    assert result["weak references"] == 0


def test_a_thread_capturing_while_the_interpreter_exits_does_not_crash(run_program):
    for _ in range(20):
        done = run_program("exit_while_capturing.py", timeout=60)
        assert (done.returncode, done.stdout) == (0, "done\nlingered\n"), done.stderr


def test_short_lived_threads_reuse_their_memory(run_json):
    result = run_json("thread_storm.py")
    assert result["empty"] == 0
    assert result["slots"] == (1 if result["minor"] < 14 else 0)
    assert result["gained_kib"] < 4096  # 6000 threads with a page each would be 24 MB


def test_a_thread_is_paused_while_it_does_not_hold_the_gil(run_json):
    assert run_json("pauses.py") == {
        "wrong": 0,
        "wrong_beside_another": 0,
        "wrong_in_child": 0,
        "new_thread": 0,
        "around": [1, 0, 1, 1],
        "different": 4,
    }


def test_a_forked_child_captures_right_stacks(run_json):
    assert run_json("fork_child.py")["failures"] == 0


def test_attaching_leaves_the_program_as_it_was(run_json):
    result = run_json("attach_quietly.py")
    # The one trace: the end of the interpreter is announced through the atexit module.
    result["before"]["modules"] = sorted({*result["before"]["modules"], "atexit"})
    assert result["before"] == result["after"]
    assert result["exception"] == "ValueError('kept')"
    assert result["traced_files"] == []


@pytest.mark.parametrize("way", ["released", "thread", "busy thread", "native thread"])
def test_attached_without_the_gil_the_next_line_has_its_stack(run_json, way):
    result = run_json("late_attach.py", way)
    assert result.pop("frames") >= 2
    assert result == {
        "first": "waiting",
        "same": True,
        "kept": "KeyError('the program has an exception of its own')",
    }


def test_an_interpreter_that_ends_is_not_attached_to(run_program):
    done = run_program("late_attach.py", "ending", timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{}\n", "")


def test_a_wrong_offset_switches_python_stacks_off_with_a_reason(wrong_layout_library):
    path = find_interpreter("3.11") or find_interpreter("system")
    if path is None:
        pytest.skip("no Python 3.11 on this machine")
    done = run_with(path, wrong_layout_library, "attach_quietly.py")
    assert done.returncode == 1
    assert "python stacks are off: Python 3.11." in done.stderr
    assert "we see 0 frames" in done.stderr


def test_a_version_without_a_row_switches_python_stacks_off_by_name(unknown_version, tmp_path):
    path = find_interpreter("3.11")
    if path is None:
        pytest.skip("no Python 3.11 on this machine")
    library = build_library(tmp_path / "libunknown.so", folder=unknown_version, optimisation="-O0")
    done = run_with(path, library, "attach_quietly.py")
    assert done.returncode == 1
    assert "python stacks are off: Python 3.11." in done.stderr
    assert "this version is not known" in done.stderr

"""The long tests: `make test-long` runs them, `make test` leaves them out.

Each repeats on more programs, devices or settings a behaviour that a test of `make test` covers
too, or takes minutes by itself. A pattern (fnmatch) is compared with the file and the name of a
test, without its folder.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

# Pattern: the tests that cover the same in `make test`.
LONG = {
    "test_installed.py::test_the_check_runs_without_a_network": "tests/gpu by `make gpu-bundle`",
    # Programs of libraries: [ddp late] and [trainer] stay.
    "test_families.py::*[[]ddp early]": "[ddp late]",
    "test_families.py::*[[]fsdp2]": "test_programs.py, test_ranks.py",
    "test_families.py::*[[]tensor parallel]": "test_ranks.py",
    "test_families.py::*[[]accelerate]": "[trainer]",
    "test_families.py::*[[]deepspeed*]": "[ddp late]",
    "test_families.py::*[[]megatron]": "test_ranks.py",
    "test_families.py::*[[]torchtitan]": "test_ranks.py",
    "test_families.py::*[[]trl]": "[trainer]",
    "test_families.py::*[[]diffusers]": "test_exact_models.py",
    "test_families.py::*[[]timm]": "test_exact_models.py",
    "test_families.py::*[[]detection]": "test_exact_models.py",
    "test_families.py::*[[]yolo]": "test_exact_models.py",
    # Callbacks for trainers: those of transformers and Lightning stay.
    "test_trainers.py::test_ignite_*": "test_transformers_logs_what_torch_counts",
    "test_trainers.py::test_composer_*": "test_transformers_logs_what_torch_counts",
    "test_trainers.py::test_accelerate_*": "test_transformers_logs_what_torch_counts",
    # Programs with planted wastes: [gradients_kept] stays.
    "test_assistants.py::test_the_loop_*[[]double*]": "[gradients_kept]",
    "test_assistants.py::test_the_loop_*[[]graph*]": "test_advice.py",
    "test_assistants.py::test_the_loop_*[[]held*]": "test_advice.py",
    "test_assistants.py::test_the_loop_*[[]models_kept]": "[gradients_kept]",
    "test_assistants.py::test_the_loop_*[[]results*]": "test_advice.py",
    "test_assistants.py::test_the_loop_*[[]zero_grad_*]": "test_advice.py",
    # Questions of users, each a program of its own.
    "test_innocent_threads.py::*": "test_advice.py, test_growth.py",
    "test_training_threads.py::*": "test_advice.py",
    "test_growth_threads.py::*": "test_growth.py",
    "test_inference_threads.py::*": "test_inference.py",
    # A cluster of Spark; one process of it stays.
    "test_fleet_cluster.py::test_a_cluster_answers_*": "test_fleet_spark.py",
    "test_fleet_stores.py::test_duckdb_*[[]compacted]": "[small files]",
    # Features of torch on the simulated GPU: [layers], [graphs] and [amp_and_checkpointing] stay.
    **dict.fromkeys(
        (
            f"test_coverage.py::test_a_group_of_features_runs[[]*-{name}]"
            for name in (
                *("recurrent", "attention", "convolutions", "blas", "solvers", "sparse"),
                *("fourier", "streams_and_pools", "compiled", "profiled", "shared*", "llama"),
                *("accelerated", "vision", "lightning"),
            )
        ),
        "the other groups; simgpu/test_programs.py",
    ),
    "test_coverage.py::test_a_group_runs_with_another_allocator*": "test_programs.py",
    "test_programs.py::test_capacity_is_what_the_profile_says[[]t4]": "[h200:20GiB]",
    "test_programs.py::test_capacity_is_what_the_profile_says[[]rtx4090]": "[h200:20GiB]",
    "test_programs.py::test_training_runs_with_other_allocators*": "test_exact_features.py",
    "test_exact_features.py::*[[]roundup_power2_divisions:4]": "[expandable_segments:True]",
    "test_exact_features.py::*[[]max_split_size_mb:21]": "the same",
    "test_simulated_size.py::test_seventy_*[[]host]": "[meta]",
    "test_simulated_size.py::test_seventy_*[[]context]": "the same",
    "test_running_report.py::*[[]last:16MiB]": "[peak], [all]",
    # More models, seeds, cases of one fixture.
    "test_objects.py::test_models_with_all_optimizers_*": "test_objects_hold_exactly_*",
    "test_holders_threads.py::*[[]cycle_of_schedule]": "[cycle_of_hook]",
    "test_holders_threads.py::*[[]cycle_of_gradient]": "the same",
    "test_holders_threads.py::*[[]twin_many_objects]": "[twin_cycles_freed]",
    "test_instructions.py::*_a_python_stack_*[[]20]": "[5], [60]",
    "test_native_stacks.py::*[[]early_phases.py]": "[life_children.py], [random_allocations.py]",
    "test_native_stacks.py::*[[]life_steps.py]": "the same",
    "test_native_stacks.py::*[[]wrapped_models.py]": "the same",
    "test_whatif.py::*[[]resnet18]": "[small_gpt2]",
    "test_whatif.py::*[[]new_settings]": "[random_blocks]",
    "test_advise_try.py::test_a_change_does_what_the_edit_does[[]zero*": "[checkpoint_layers...]",
    "test_advise_try.py::test_a_change_does_what_the_edit_does[[]optimizer*": "the same",
    "test_exact_random.py::*[[]3]": "[1]",
    "test_exact_random.py::*[[]4]": "[2]",
    "test_exact_models.py::test_the_peak_of_a_compiled_model_*": "test_compiled_lines.py",
    "test_attribution_models.py::test_of_1000_bytes_*[[]*-resnet50]": "[transformer]",
    "test_attribution_models.py::test_lines_of_the_user_*[[]*-resnet50]": "[transformer]",
    "test_standing.py::*[[]expandable*": "[train], [graphs]; test_whatif.py",
    "test_standing.py::*[[]async*": "the same",
    "test_standing.py::*[[]pools*": "the same",
    "test_standing.py::*[[]streams*": "the same",
    "test_fit.py::test_what_was_not_tried_is_said": "test_fit.py, the other sweeps",
    "test_fit.py::test_values_are_only_skipped_where_larger_ones_need_more": "the same",
    "test_python_stacks.py::*[[]3.10]": "[3.11], [3.13]",
    "test_python_stacks.py::*[[]3.12]": "the same",
}


def is_long(node: str) -> bool:
    """Return whether a test is long, by its id in pytest."""
    name = re.sub(r"^.*/(?=test_\w+\.py)", "", node)
    return any(fnmatchcase(name, pattern) for pattern in LONG)

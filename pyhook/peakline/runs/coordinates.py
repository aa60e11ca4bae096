"""Coordinates of a rank along the dimensions of its job: pipeline, tensor, data and the others."""

from __future__ import annotations

from collections.abc import Sequence

from peakline.runs.members import Member

# Megatron's names of its groups (megatron/core/parallel_state.py), with the common names.
_OF_MEGATRON = {
    "TENSOR_MODEL_PARALLEL_GROUP": "tp",
    "PIPELINE_MODEL_PARALLEL_GROUP": "pp",
    "DATA_PARALLEL_GROUP": "dp",
    "CONTEXT_PARALLEL_GROUP": "cp",
    "EXPERT_MODEL_PARALLEL_GROUP": "ep",
}
_OF_MESH = "mesh_"  # torch's DeviceMesh prefixes the name of a dimension with this


class MeshError(ValueError):
    """An invalid mesh; the text explains."""


def found_coordinates(members: Sequence[Member]) -> dict[int, dict[str, int]]:
    """Return the coordinates of each rank by dimension, from the names of process groups."""
    found: dict[int, dict[str, int]] = {}
    for one in members:
        if one.rank is None:
            continue
        indexes = found.setdefault(one.rank, {})
        for group in one.groups:
            name = _dimension(group.name)
            is_part = len(group.ranks) > 1 and one.rank in group.ranks
            if name and is_part:
                indexes.setdefault(name, group.ranks.index(one.rank))
    return found


def _dimension(group: str) -> str:
    if group.startswith(_OF_MESH):
        return group.removeprefix(_OF_MESH)
    return _OF_MEGATRON.get(group, "")


def given_coordinates(mesh: str, world_size: int) -> dict[int, dict[str, int]]:
    """Return the same for a mesh such as "pp=2,dp=4,tp=2"; the last dimension varies fastest.

    Raises:
        MeshError: the text is no mesh, or has another number of ranks.
    """
    sizes = []
    for word in mesh.split(","):
        name, _, number = word.partition("=")
        if not name or not number.isdecimal() or int(number) < 1:
            raise MeshError(f"'{mesh}' is no mesh: write for example pp=2,dp=4,tp=2")
        sizes.append((name, int(number)))
    count = 1
    for _, size in sizes:
        count *= size
    if count != world_size:
        raise MeshError(f"{mesh} has {count} ranks, the run has {world_size}")
    found: dict[int, dict[str, int]] = {}
    for rank in range(world_size):
        rest = rank
        indexes: dict[str, int] = {}
        for name, size in reversed(sizes):
            rest, indexes[name] = divmod(rest, size)
        found[rank] = dict(reversed(indexes.items()))
    return found

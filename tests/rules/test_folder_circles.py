"""Folders side by side include each other in one direction only, at every depth of the tree."""

from collections import defaultdict
from pathlib import Path

from test_include_directions import INCLUDE, ROOT, plant, resolve, sources


def step(own: str, target: str) -> tuple[str, str, str]:
    """Return the folder both files lie in, and the entry of it that each lies in.

    Files directly in the folder count as one entry, ".".
    """
    first, second = own.split("/"), target.split("/")
    depth = next(i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    entries = (parts[depth] if len(parts) > depth + 1 else "." for parts in (first, second))
    return "/".join(first[:depth]), *entries


def reachable(edges: set[tuple[str, str]]) -> dict[str, set[str]]:
    """Return what each entry includes, directly or not; brute force, there are few."""
    reach: dict[str, set[str]] = defaultdict(set)
    for first, second in edges:
        reach[first].add(second)
    for _ in range(len(reach)):
        for first in list(reach):
            reach[first] |= set().union(*(reach[other] for other in list(reach[first])))
    return reach


def circles(files: list[Path], root: Path = ROOT) -> list[str]:
    found = []
    edges = defaultdict(set)
    for path in files:
        own = str(path.relative_to(root))
        for kind, name in INCLUDE.findall(path.read_text()):
            target = resolve(path, name, root)
            if kind == '"' and (root / target).is_file() and target != own:
                folder, first, second = step(own, target)
                if first != second:
                    edges[folder].add((first, second))
    for folder, steps in edges.items():
        reach = reachable(steps)
        found += [
            f"{folder}: {first} <-> {second}" for first, second in steps if first in reach[second]
        ]
    return sorted(found)


def test_no_two_folders_include_each_other():
    assert circles(sources()) == []


def test_the_rule_finds_a_circle_of_three(tmp_path):
    planted = [
        plant(tmp_path, f"room/{own}/{own}.h", f'#include "room/{other}/{other}.h"\n')
        for own, other in (("a", "b"), ("b", "c"), ("c", "a"))
    ]
    assert len(circles(planted, tmp_path)) == 3
    plant(tmp_path, "room/c/c.h", "")
    assert circles(planted, tmp_path) == []

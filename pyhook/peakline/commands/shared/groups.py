"""The groups of `peakline --help`, and its text: at most 60 lines of 80 columns.

A command is in one group, or in `HIDDEN`: it works and has its own help, but another command names
it. Nothing is imported for this list, so that completion and the documentation can use it.
"""

from __future__ import annotations

from collections.abc import Mapping

# In the order in which a user needs them.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Record": ("run", "attach", "doctor"),
    "First answer": ("table", "html", "tree", "summary", "phases"),
    "Why memory ran out": ("oom", "fragmentation", "map", "ledger"),
    "What grows, and what keeps it": ("leaks", "holders", "live"),
    "How to use less, and whether it fits": ("advise", "plan", "whatif", "fit"),
    "Compare runs and ranks": ("diff", "ranks", "check", "bisect", "fleet"),
    "Details": ("tensors", "layers", "ops", "events", "timeline"),
    "Files": ("export", "import", "plot", "pack", "completion"),
}
# Commands that are not listed, each with the command that names it in its help.
HIDDEN: Mapping[str, str] = {
    "flamegraph": "html",
    "stages": "layers",
    "report": "live",
    "detach": "attach",
    "preload": "run",
    "stats": "summary",
    "mcp": "doctor",
}

EXAMPLES = (
    "peakline run train.py --epochs 1",
    "peakline run --simulate h200 train.py",
    "peakline table --by category train.peak",
)
_NAME_COLUMNS = 13


def command_names() -> list[str]:
    """Return every command: the listed ones in their order, then the hidden ones."""
    return [*(name for names in GROUPS.values() for name in names), *HIDDEN]


def overview(usage: str, description: str, help_of: Mapping[str, str]) -> str:
    """Return the text of `peakline --help`; of each command's help it has the first sentence."""
    lines = [usage.rstrip(), "", description]
    for title, names in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"    {name:{_NAME_COLUMNS}}  {first_sentence(help_of[name])}" for name in names]
    lines += ["", "Examples:", *(f"  {example}" for example in EXAMPLES), ""]
    lines.append("peakline COMMAND --help, or peakline help COMMAND: its options and examples.")
    return "\n".join(lines) + "\n"


def first_sentence(text: str) -> str:
    """Return the text up to its first full stop."""
    return text.partition(". ")[0].removesuffix(".") + "."


def see_also(name: str) -> list[str]:
    """Return the hidden commands that the help of this one names."""
    return [hidden for hidden, parent in HIDDEN.items() if parent == name]

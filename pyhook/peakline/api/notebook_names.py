"""Names holders as the user of a notebook knows them: ``x``, ``Out[5]``, the last traceback.

The search finds the same references in the modules and frames of IPython.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

# A holder's kind and path, as the recorder gives them.
Named = tuple[str, str]

_OUTPUTS = re.compile(r"^_oh\b")
_OWN_FRAME = re.compile(r" of \w*InteractiveShell\.\w+ \(")
_LAST_TRACEBACK = re.compile(r"\bInteractiveTB\.|^sys\.last_(traceback|exc|value)\b")
_VALUE_OF_FRAME = re.compile(r"^a value\['(\w+)'\]")
_KEPT_FRAME = ", a frame kept by "


def is_notebook() -> bool:
    """Return whether this process runs cells of IPython; imports nothing."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def names_for_notebook(holders: Sequence[Named]) -> list[Named]:
    """Return the holders with names of the notebook, without IPython's own references."""
    main = f"{_name_of_main()}."
    named = dict.fromkeys((kind, _shown(path, main)) for kind, path in holders)
    users = [one for one in named if not _OWN_FRAME.search(one[1])]
    return users or list(named)


def _shown(path: str, main: str) -> str:
    if path.startswith(main):
        return _OUTPUTS.sub("Out", path.removeprefix(main))
    variable, kept, keeper = path.partition(_KEPT_FRAME)
    if kept and _LAST_TRACEBACK.search(keeper):
        variable = _VALUE_OF_FRAME.sub(r"\1", variable)
        return f"{variable}, in the traceback of the last exception"
    return path


def _name_of_main() -> str:
    """Return the name of the main module in paths: see shown_module() in pyhook/holders/roots.cpp.

    The main module of a kernel has no file.
    """
    file = getattr(sys.modules["__main__"], "__file__", None) or next(iter(sys.argv), "")
    stem, dot, _ = file.rpartition("/")[2].rpartition(".")
    return stem if dot else "__main__"

"""The Python of a simulated program, or of one with --steps, loads this before anything else.

`peakline run` puts this folder first in PYTHONPATH. It prepares the Python part of a simulated run
(preload/simulate/python), --steps (_peakline_steps.py), --report-on-signal (_peakline_signal.py)
and the changes of `advise --try` (_peakline_changes.py), and then loads the sitecustomize that it
hides, if there is one. It imports nothing heavy and must never fail: the program comes first.
"""

import importlib.util
import os
import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _load_hidden() -> None:
    own = sys.modules.pop("sitecustomize")
    # Move this folder to the end, so that it hides no other module.
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != _HERE]
    spec = importlib.util.find_spec("sitecustomize")
    sys.path.append(str(_HERE))
    if spec is None or spec.loader is None:
        sys.modules["sitecustomize"] = own
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _prepare_simulated() -> None:
    shipped = _HERE.parent / "_native" / "src"  # as native_build.source_root()
    root = shipped if shipped.is_dir() else _HERE.parents[2]
    sys.path.insert(0, str(root / "preload" / "simulate" / "python"))
    try:
        from _peakline_simulated import blank_weights, checkpoints, distributed, unrecorded_reads
    finally:
        del sys.path[0]
    for part in (distributed, checkpoints, blank_weights, unrecorded_reads):
        part.prepare()


try:
    if os.environ.get("PEAKLINE_SIMULATED"):
        _prepare_simulated()
    if os.environ.get("PEAKLINE_STEPS"):
        import _peakline_steps

        _peakline_steps.prepare()
    if os.environ.get("PEAKLINE_REPORT_ON_SIGNAL"):
        import _peakline_signal

        _peakline_signal.prepare()
    if os.environ.get("PEAKLINE_TRY"):
        import _peakline_changes

        _peakline_changes.prepare()
except Exception as error:
    import _peakline_words

    _peakline_words.say(f"this run lacks its Python part: {error!r}")
_load_hidden()

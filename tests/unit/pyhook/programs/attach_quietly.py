"""Attaches in the middle of an exception and under a tracer; prints what a program could notice."""

import json
import sys

import capture as c

traced_files = []


def tracer(frame, event, argument):
    traced_files.append(frame.f_code.co_filename)
    return tracer


def visible_state():
    return {
        "modules": sorted(sys.modules),
        "path": sys.path[1:],
        "main": sorted(name for name in globals() if name != "traced_files"),
    }


def main():
    before = visible_state()
    # 3.10 has no way to hide code from a tracer.
    if sys.version_info >= (3, 11):
        sys.settrace(tracer)
    try:
        raise ValueError("kept")
    except ValueError:
        c.attach()
        exception = repr(sys.exc_info()[1])
    sys.settrace(None)
    ours = [name for name in traced_files if name.startswith("<peakline")]
    json.dump(
        {"before": before, "after": visible_state(), "exception": exception, "traced_files": ours},
        sys.stdout,
    )


if __name__ == "__main__":
    main()

"""The first sentences of the page: lines, their code, and who called a library; against `table`."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import peakline._report as engine
from peakline.pages.page import DeviceData, PageContent, make_page

TRACING_STARTED = 1  # of MarkKind in events.h
PROGRAM = "import layers\nlayers.big()\nlayers.big()  # again\n"
LIBRARY = "def big():\n    return make(1 << 20)\n"


def sentences_of(text: str) -> str:
    """The paragraph below the headline, without its markup."""
    found = re.search("<p class=lead>(.*?)</p>", text)
    assert found is not None
    return unescape(re.sub("<[^>]*>", "", found[1]))


def test_a_library_line_has_its_code_and_its_caller(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    library = tmp_path / "site-packages" / "layers.py"
    library.parent.mkdir()
    program.write_text(PROGRAM)
    library.write_text(LIBRARY)
    trace = tmp_path / "run.peak"
    writer = engine.TraceWriter(str(trace), 1 << 62)
    writer.mark(0, TRACING_STARTED, 0)
    for tick, (line, size) in enumerate([(2, 4096), (3, 8192), (2, 2048)], 1):
        caller = writer.node(0, str(program), line, "<module>")
        context = writer.context(writer.node(caller, str(library), 2, "big"), 0)
        writer.alloc(tick, context, 0, 0, size, size, 4096 * tick)
    own = writer.context(writer.node(0, str(program), 1, "<module>"), 0)
    writer.alloc(9, own, 0, 0, 1024, 1024, 1 << 20)
    writer.finish()
    opened = engine.Trace(str(trace))
    rows = json.loads(opened.report("table", json=True))["rows"]
    most = max(rows[0]["callers"], key=lambda one: one["bytes"])
    assert most == {"name": f"{program}:3", "bytes": 8192, "count": 1}
    names, columns = opened.page()
    lines = json.loads(names)["peak"]["lines"]
    assert [one.get("called_from") for one in lines] == [most["name"], None]
    sentences = sentences_of(make_page([DeviceData(names, columns)], PageContent()))
    assert sentences == (
        f"93 % is held by {rows[0]['key']}, called from {program}:3, in 3 blocks."
        "return make(1 << 20) "
        f"6.7 % is held by {rows[1]['key']}, in 1 block.import layers"
    )

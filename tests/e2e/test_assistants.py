"""`peakline mcp` with the client of the official SDK; torch's counters are the oracle."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, ROOT, Lab
from peakline.assistants import answers

mcp = pytest.importorskip("mcp")
RULE = "zero_grad_late"
ZERO = "            optimizer.zero_grad()\n"
MIDDLE = "        loss.backward()\n        optimizer.step()\n"
CHANGE = (
    f"        if not MENDED:\n{ZERO}{MIDDLE}        if MENDED:\n{ZERO}",
    f"{MIDDLE}        if True:\n{ZERO}",
)
TRACE = str(ROOT / "tests" / "data" / "two_steps.trace")


def session(lab: Lab, folder: Path, talk: Callable[[Any], Awaitable[Any]]) -> Any:
    """Start the server in a folder, and talk to it."""
    from mcp.client.stdio import stdio_client

    server = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "peakline", "mcp"],
        env=lab.environment(None),
        cwd=folder,
    )

    async def main() -> Any:
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            await client.initialize()
            return await talk(client)

    return asyncio.run(main())


async def text_of(client: Any, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    [content] = answer.content
    assert not answer.is_error, content.text
    return content.text


def test_the_loop_finds_a_waste_and_proves_the_change(lab: Lab, tmp_path: Path) -> None:
    for name in ("could_save.py", "counters.py"):
        shutil.copy(PROGRAMS / name, tmp_path)
    program = tmp_path / "could_save.py"

    async def talk(client: Any) -> dict[str, Any]:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        runs = {}
        for case in ("wasteful", "mended"):
            if case == "mended":
                program.write_text(program.read_text().replace(*CHANGE))
            text = await text_of(client, "simulate", program=[program.name, RULE])
            runs[case] = json.loads(text)
        files = {case: run["trace"] for case, run in runs.items()}
        wasteful = files["wasteful"]
        advice = await text_of(
            client, "report", file=wasteful, name="advise", as_json=True, max_bytes=100_000
        )
        named = {"before": wasteful, "after": files["mended"], "as_json": True}
        return {
            "tools": tools,
            "runs": runs,
            "advice": json.loads(advice)["advice"],
            "difference": json.loads(await text_of(client, "difference", **named)),
            "listed": json.loads(await text_of(client, "runs", folder="peakline-results")),
            "error": await client.call_tool("report", {"file": wasteful, "name": "tabl"}),
        }

    said = session(lab, tmp_path, talk)
    peaks = {case: run["peak_bytes"] for case, run in said["runs"].items()}
    assert peaks == {
        "wasteful": lab.once("could_save.py", RULE).said[RULE],
        "mended": lab.once("could_save.py", "mended", recorded=False).said[RULE],
    }
    [found] = [one for one in said["advice"] if one["rule"] == RULE]
    fall = peaks["wasteful"] - peaks["mended"]
    assert found["saves_bytes"] == fall > 0
    assert sum(row["delta_bytes"] for row in said["difference"]["rows"]) == -fall
    assert {one["peak_bytes"] for one in said["listed"]["runs"]} == set(peaks.values())
    assert said["error"].is_error
    assert "there are: table" in said["error"].content[0].text
    assert said["tools"] == {
        *("runs", "reports", "report", "difference", "simulate", "try_changes")
    }


@pytest.mark.parametrize("name", ["table", "tensors", "advise"])
@pytest.mark.parametrize("as_json", [False, True])
def test_an_answer_stays_within_its_budget(lab: Lab, name: str, as_json: bool) -> None:
    trace = str(lab.once("could_save.py", RULE).trace)
    whole = answers.report(trace, name, max_bytes=1 << 20, as_json=as_json)
    for budget in (len(whole.encode()), len(whole.encode()) * 9 // 10):
        answer = answers.report(trace, name, max_bytes=budget, as_json=as_json)
        assert len(answer.encode()) <= max(budget, 500)
        if as_json:
            assert json.loads(answer)["schema_version"] == 1
        elif len(answer) < len(whole):
            assert "(cut after " in answer
            assert answer.splitlines()[1] == whole.splitlines()[1]


def test_reports_are_those_of_the_recording_with_their_options() -> None:
    listed = json.loads(answers.reports())
    assert listed["table"]["options"]["by"] == "line"
    assert all(one["shows"] for one in listed.values())
    with pytest.raises(answers.AnswerError, match="unexpected keyword argument 'bye'"):
        answers.report(TRACE, "table", {"bye": 1})
    with pytest.raises(answers.AnswerError, match="no JSON"):
        answers.parsed("{by}")

"""`peakline mcp` with the client of the official SDK.

A script plays the assistant on the ten programs of tests/programs/wastes: it takes the finding,
changes the program, and proves the fall. Torch's counters and losses on the CPU are the oracles.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lab import PROGRAMS, ROOT, Lab
from peakline.assistants import answers

mcp = pytest.importorskip("mcp")
WASTES = PROGRAMS / "wastes"
RULE = "zero_grad_late"
# The change that an assistant makes after the finding of that name, in the program of that name.
CHANGES = {
    "double_backward_kept": (
        """        loss_of(model(words), words).backward(create_graph=True)
        gradients = [one.grad for one in model.parameters()]
""",
        """        loss = loss_of(model(words), words)
        gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
""",
    ),
    "gradients_kept": ("seen.append(gradient)", "seen.append(gradient.norm().cpu())"),
    "graph_unused": (
        "prediction = torch.argmax(model(words), -1)",
        "with torch.no_grad():\n        prediction = torch.argmax(model(words), -1)",
    ),
    "graphs_kept": (
        "total += loss_of(model(words), words)",
        "total += loss_of(model(words), words).item()",
    ),
    "held_to_next_step": (
        "losses.append(loss.item())",
        "losses.append(loss.item())\n    del features, loss",
    ),
    "models_kept": ("rate, model, optimizer))", "rate))"),
    "results_joined": ("logits = model(words)", "logits = model(words).cpu()"),
    "results_kept": (
        "logits = model(words)\n        outputs.append(logits)",
        "outputs.append(model(words).cpu())",
    ),
    "zero_grad_keeps": ("set_to_none=False", ""),
    RULE: (
        "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n",
        "    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n",
    ),
}
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


def losses_on_the_cpu(*programs: Path) -> list[list[float]]:
    """Run programs one after another in a process without any GPU."""
    script = "import runpy, sys\nfor one in sys.argv[1:]: runpy.run_path(one)"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(WASTES)}
    command = [sys.executable, "-c", script, *map(str, programs)]
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return [json.loads(line)["losses"] for line in run.stdout.splitlines()]


def test_every_waste_has_a_change() -> None:
    assert sorted([*CHANGES, "common"]) == sorted(one.stem for one in WASTES.glob("*.py"))
    assert len(CHANGES) == 10


@pytest.mark.parametrize("rule", sorted(CHANGES))
def test_the_loop_finds_a_waste_and_proves_the_change(lab: Lab, rule: str, tmp_path: Path) -> None:
    for name in ("common", rule):
        shutil.copy(WASTES / f"{name}.py", tmp_path)
    program = tmp_path / f"{rule}.py"

    async def talk(client: Any) -> list[Any]:
        before = json.loads(await text_of(client, "simulate", program=[program.name]))
        options = {"name": "advise", "as_json": True, "max_bytes": 100_000}
        advice = json.loads(await text_of(client, "report", file=before["trace"], **options))
        [found] = [one for one in advice["advice"] if one["kind"] == "fault"]
        text = program.read_text()
        old, new = CHANGES[found["rule"]]
        assert text.count(old) == 1
        program.write_text(text.replace(old, new))
        after = json.loads(await text_of(client, "simulate", program=[program.name]))
        named = {"before": before["trace"], "after": after["trace"], "as_json": True}
        difference = json.loads(await text_of(client, "difference", **named))
        return [before, found, after, difference]

    before, found, after, difference = session(lab, tmp_path, talk)
    fall = before["peak_bytes"] - after["peak_bytes"]
    assert found["rule"] == rule
    assert fall > before["peak_bytes"] / 20
    if found["saves_bytes"] is not None:
        assert found["saves_bytes"] == pytest.approx(fall, rel=0 if found["exact"] else 0.1)
    assert sum(row["delta_bytes"] for row in difference["rows"]) == -fall
    wasteful, *mended = losses_on_the_cpu(WASTES / program.name, program)
    assert mended == [pytest.approx(wasteful, rel=1e-6)]


def test_runs_tools_and_errors(lab: Lab, tmp_path: Path) -> None:
    trace = lab.once("could_save.py", RULE).trace

    async def talk(client: Any) -> list[Any]:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        listed = json.loads(await text_of(client, "runs", folder=str(trace.parent)))
        return [
            tools,
            listed["runs"],
            await client.call_tool("report", {"file": TRACE, "name": "tabl"}),
        ]

    tools, listed, error = session(lab, tmp_path, talk)
    assert tools == {*("runs", "reports", "report", "difference", "simulate", "try_changes")}
    peaks = {file: one["peak_bytes"] for one in listed for file in one["files"]}
    assert peaks[str(trace)] == lab.once("could_save.py", RULE).said[RULE]
    assert error.is_error
    assert "there are: table" in error.content[0].text


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

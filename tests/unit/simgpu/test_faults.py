"""Faults come back with the codes that CUDA documents, each cited beside its case.

RT: CUDA Runtime API reference, DR: CUDA Driver API reference, both with the name of the module and
of the function or the type that states it. The numbers of the codes are in RT, "Data types used by
CUDA Runtime", enum cudaError, and DR, "Data types used by CUDA driver", enum CUresult.
"""

from __future__ import annotations

import json
import sys
import textwrap

import pytest
from fault_cases import PRELUDE, Fault
from memory_faults import MEMORY_FAULTS
from process_faults import PROCESS_FAULTS
from simulated_gpu import SimulatedGpu
from stream_faults import STREAM_FAULTS

FAULTS = (*MEMORY_FAULTS, *STREAM_FAULTS, *PROCESS_FAULTS)


@pytest.fixture(scope="module")
def outcomes(simgpu: SimulatedGpu) -> dict[str, str]:
    """What was wrong with each case, '' for nothing; each ran in a fork of one process."""
    cases = {fault.what: textwrap.dedent(fault.code) for fault in FAULTS}
    code = f"""
import json, os, sys, traceback
def run(code):
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            exec({PRELUDE!r} + code, {{}})
        except BaseException:
            os.write(writing, traceback.format_exc()[-2000:].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.wait()
    return said or ("" if status == 0 else f"ended with status {{status}}")
print(json.dumps({{what: run(code) for what, code in {cases!r}.items()}}))
"""
    done = simgpu.run([sys.executable, "-c", code], device="h200x2")
    assert done.returncode == 0, done.stderr
    told: dict[str, str] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_fault_has_the_documented_code(outcomes: dict[str, str], fault: Fault) -> None:
    source = textwrap.dedent(fault.code)
    assert outcomes[fault.what] == "", f"{fault.documented}\n{source}\n{outcomes[fault.what]}"

"""Builds the simulated GPU for the CUDA wheels of one Python installation.

python preload/simulate/gpu/build.py --python PY --out DIR

DIR then holds the libraries, preload.txt (their order for LD_PRELOAD), libcuda.so (for Triton) and
symbols.json. A DIR with a whole build is left alone, whatever it was made of. Prints how every CUDA
symbol that torch imports is served, and fails when one is served by nothing. Needs g++ and
pycparser, no toolkit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))

from generate.audit import absent_count, audit, audit_dict, audit_text  # noqa: E402
from generate.wheels import BuildError, Wheels, find_wheels  # noqa: E402

_LAST_WRITTEN = "preload.txt"


def _report(out: Path, wheels: Wheels, json_file: str | None) -> int:
    simulated = json.loads((out / "symbols.json").read_text())
    audits = audit(wheels, simulated, set(simulated))
    print(audit_text(audits))
    if json_file is not None:
        Path(json_file).write_text(json.dumps(audit_dict(audits), indent=1) + "\n")
    return 1 if absent_count(audits) else 0


def main() -> int:
    """Parse the arguments, build if needed, audit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--out", required=True, type=Path, help="folder to build into")
    parser.add_argument("--audit-json", metavar="FILE", help="write the audit to this file")
    linters_help = "write compile_commands.json and what the sources include, and nothing else"
    parser.add_argument("--for-linters", action="store_true", help=linters_help)
    parser.add_argument("--no-audit", action="store_true", help="build only")
    arguments = parser.parse_args()
    try:
        wheels = find_wheels(arguments.python)
        out = arguments.out.absolute()
        if arguments.for_linters:
            from generate.builder import write_for_linters

            write_for_linters(_HERE, out, wheels)
            return 0
        if not (out / _LAST_WRITTEN).exists():
            from generate.builder import build_all

            out.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as work:
                build_all(_HERE, Path(work), out, wheels)
        return 0 if arguments.no_audit else _report(out, wheels, arguments.audit_json)
    except BuildError as error:
        print(f"simgpu: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

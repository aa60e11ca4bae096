"""Builds the simulated GPU for the CUDA wheels of one Python installation.

python preload/simgpu/build.py --python PY --out DIR

DIR then holds the libraries, preload.txt (their order for LD_PRELOAD), libcuda.so (for Triton) and
symbols.json. A DIR that is up to date is left alone. Prints how every CUDA symbol that torch
imports is served, and fails when one is served by nothing. Needs g++ and pycparser, no toolkit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))

from generate.audit import absent_count, audit, audit_dict, audit_text  # noqa: E402
from generate.wheels import BuildError, Wheels, find_wheels  # noqa: E402

_STAMP = "stamp.json"
_SOURCE_PATTERNS = ("build.py", "*.json", "generate/*.py", "**/*.cpp", "**/*.h")


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted({p for pattern in _SOURCE_PATTERNS for p in _HERE.glob(pattern)}):
        digest.update(str(path.relative_to(_HERE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _stamp(wheels: Wheels) -> dict[str, object]:
    return {
        "sources": _source_hash(),
        "versions": list(wheels.versions),
        "site": str(wheels.site),
    }


def _is_up_to_date(out: Path, stamp: dict[str, object]) -> bool:
    try:
        return bool(json.loads((out / _STAMP).read_text()) == stamp)
    except (OSError, ValueError):
        return False


def _build_aside(out: Path, wheels: Wheels, stamp: dict[str, object]) -> None:
    """Build in a folder beside `out` and rename it: a race ends with one whole result."""
    from generate.builder import build_all

    out.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    aside.chmod(0o755)
    try:
        work = aside / "work"
        build_all(_HERE, work, aside, wheels)
        shutil.rmtree(work)
        (aside / _STAMP).write_text(json.dumps(stamp))
        _put_in_place(aside, out, stamp)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _put_in_place(aside: Path, out: Path, stamp: dict[str, object]) -> None:
    if out.is_dir():
        if _is_up_to_date(out, stamp):
            return
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
        out.replace(old / "replaced")
        shutil.rmtree(old, ignore_errors=True)
    try:
        aside.rename(out)
    except OSError:
        # Another process was first; its result must be as good as ours.
        if not _is_up_to_date(out, stamp):
            raise


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
        stamp = _stamp(wheels)
        if not _is_up_to_date(out, stamp):
            _build_aside(out, wheels, stamp)
        return 0 if arguments.no_audit else _report(out, wheels, arguments.audit_json)
    except BuildError as error:
        print(f"simgpu: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

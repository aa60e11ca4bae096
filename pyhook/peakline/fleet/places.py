"""Normalises lines across machines and versions, and hashes them.

Ranks and versions are joined by these hashes, so they must not depend on the location of the code:
a path loses its machine-specific part (site-packages, checkout, working directory) first.
"""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path, PurePosixPath

from peakline.fleet.repository import repository_of

_PACKAGES = re.compile(r".*/(?:site|dist)-packages/(.+)")
_STANDARD_LIBRARY = re.compile(r".*/lib/python3\.\d+/(.+)")
# inductor's files, in its own folder or by their names in a folder of the user's choice.
_COMPILED = re.compile(r".*/torchinductor_[^/]*/(?:[^/]+/)*([^/]+)|.*/(c[a-z2-7]{51}\.py)")
_LIBRARY = re.compile(r".*/([^/]+\.so(?:\.[0-9.]+)?)")


@functools.lru_cache(maxsize=65536)
def normalised_file(file: str, working_directory: str, script_folder: str) -> str:
    """Return the path of a source file without its machine-specific part.

    Args:
        file: the path in the trace.
        working_directory: of the program.
        script_folder: the folder of the program's own file, or "".
    """
    for pattern, prefix in (
        (_PACKAGES, ""),
        (_STANDARD_LIBRARY, ""),
        (_COMPILED, "torchinductor/"),
        (_LIBRARY, ""),
    ):
        found = pattern.fullmatch(file)
        if found:
            return prefix + found[found.lastindex or 0]
    if not file.startswith("/"):
        return file
    root = repository_of(str(PurePosixPath(file).parent))
    for folder in (str(root) if root else "", working_directory, script_folder):
        if folder not in ("", "/") and file.startswith(folder.rstrip("/") + "/"):
            return file[len(folder.rstrip("/")) + 1 :]
    return file


def stable_hash(*parts: object) -> int:
    """Return a signed 64-bit hash that is the same for equal parts on every machine."""
    text = "\0".join(map(str, parts))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def script_folder(command: str, working_directory: str) -> str:
    """Return the folder of the Python file that a command line runs; "" if it runs none."""
    for word in command.split()[1:]:
        if word.endswith(".py"):
            return str((Path(working_directory) / word).parent)
    return ""

"""Builds something in the cache, with a compiler as a child, and does not come to an end."""

import subprocess
import sys
from pathlib import Path

from peakline.builds.build_cache import Wanted, ensure_built


def build(folder):
    (folder / "half.so").write_text("half")
    child = [sys.executable, "-c", "print('compiling', flush=True); input()"]
    subprocess.run(child, check=False)


ensure_built(Wanted("torch-x", "content", "compiler", "a thing"), build)
print(Path("never"))

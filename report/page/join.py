"""Joins the ES modules of the page into one script: `python join.py OUTPUT_FOLDER`.

A module imports by relative names only and exports declarations only; names at the top of a module
are unique among all of them. So the modules become one script by leaving the two words out. The
page needs no bundler, and a browser can also load the modules as they are.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.\.?/(?:\w+/)?\w+\.js)";\n', re.MULTILINE)
_DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)


def ordered(module: Path, seen: list[Path]) -> list[Path]:
    """Return the modules that `module` needs and itself, each behind its imports."""
    for name in _IMPORT.findall(module.read_text()):
        needed = (module.parent / name).resolve()
        if needed not in seen:
            ordered(needed, seen)
    if module not in seen:
        seen.append(module)
    return seen


def join(folder: Path) -> str:
    """Return the script.

    Raises:
        ValueError: a module breaks one of the rules above; the text names it.
    """
    parts = []
    declared: dict[str, Path] = {}
    for module in ordered(folder / "main.js", []):
        name = module.relative_to(folder)
        text = _IMPORT.sub("", module.read_text())
        for one in _DECLARED.findall(text):
            if one in declared:
                raise ValueError(f"{one} is declared in {declared[one]} and in {name}")
            declared[one] = name
        text = re.sub(r"^export (?=(async )?(function|class|const|let) )", "", text, flags=re.M)
        if re.search(r"^(import|export)\b", text, re.MULTILINE):
            raise ValueError(
                f'{name}: only `import {{...}} from "./x.js"` and exported declarations'
            )
        parts.append(f"// {name}\n{text.replace('// @ts-check', '').lstrip()}")
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def main() -> None:
    """Write page.js, page.css and page.html into the folder named."""
    source = Path(__file__).resolve().parent
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    (target / "page.js").write_text(join(source))
    for name in ("page.css", "page.html"):
        (target / name).write_text((source / name).read_text())


if __name__ == "__main__":
    main()

"""Make the pictures of the README and docs/reading.md from a real run: `make pictures`.

examples/train_gpt2.py runs on a simulated H200; its page and its table on a terminal are drawn by
Chromium. Pictures change only when the program, the page or the terminal does.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from itertools import product
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURES = Path(__file__).parent / "pictures"
PEAKLINE = [sys.executable, "-m", "peakline"]
COLUMNS, ROWS = 108, 60
TERMINAL = """<pre style="display:inline-block; margin:0; padding:18px 22px;
background:{background}; color:{foreground};
font:13px/1.45 'DejaVu Sans Mono', monospace">{code}</pre>"""
THEMES = ("light", "dark")
RATIOS = (1, 2)  # pixels of the screen per pixel of the page
TABS = {"summary": "", "flame": "", "map": "", "timeline": "&show=blocks"}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "pyhook"), "TERM": "xterm-256color"}


def record(folder: Path) -> Path:
    """Record a copy of the example: no picture shows a folder of this machine."""
    trace = folder / "train_gpt2.peak"
    program = shutil.copy(ROOT / "examples" / "train_gpt2.py", folder)
    run = [*PEAKLINE, "run", "-q", "--simulate", "h200", "-o", trace.name, Path(program).name]
    subprocess.run(run, cwd=folder, env=environment(), check=True)
    return trace


def on_terminal(folder: Path, *words: str) -> str:
    """Return the output of a command on a terminal, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [*PEAKLINE, *words],
        cwd=folder,
        env=environment(),
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        parts.append(part)
    process.wait()
    return b"".join(parts).decode().replace("\r\n", "\n").strip("\n")


def save(picture: bytes, name: str, ratio: int) -> None:
    """256 colours are enough for these, in a third of the bytes."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    file = PICTURES / f"{name}{'' if ratio == 1 else f'-{ratio}x'}.png"
    image.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)


def draw_terminal(browser: Browser, text: str, theme: str, ratio: int) -> None:
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI

    colours = DEFAULT_TERMINAL_THEME if theme == "light" else DIMMED_MONOKAI
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text.from_ansi(text), end="", no_wrap=True)
        html = console.export_html(theme=colours, inline_styles=True, code_format=TERMINAL)
    page = browser.new_page(device_scale_factor=ratio)
    page.set_content(html)
    save(page.locator("pre").screenshot(), f"table-{theme}", ratio)
    page.close()


def draw_page(browser: Browser, file: Path, tab: str, theme: str, ratio: int) -> None:
    size = {"width": 1120, "height": 700 if tab != "timeline" else 880}
    page = browser.new_page(viewport=size, color_scheme=theme, device_scale_factor=ratio)
    page.goto(f"file://{file}#tab={tab}{TABS[tab]}")
    page.wait_for_selector("html[data-ready]")
    save(page.screenshot(), f"{tab}-{theme}", ratio)
    page.close()


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("make_pictures: no chromium; type: apt-get install chromium")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        trace = record(Path(name))
        page = trace.with_suffix(".html")
        words = ["html", trace.name, "-o", page.name]
        subprocess.run([*PEAKLINE, *words], cwd=trace.parent, env=environment(), check=True)
        table = on_terminal(trace.parent, "table", "--top", "8", trace.name)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for theme, ratio in product(THEMES, RATIOS):
            draw_terminal(browser, table.partition("\n\nThe program read")[0], theme, ratio)
            for tab in TABS:
                draw_page(browser, page, tab, theme, ratio)
        browser.close()
    print(f"Wrote {', '.join(sorted(one.name for one in PICTURES.iterdir()))} to {PICTURES}")


if __name__ == "__main__":
    main()

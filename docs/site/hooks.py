"""Hooks of MkDocs: the pages of the commands in the navigation, and a check of the built site."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

sys.path.insert(0, str(Path(__file__).parent))

from links import faults_of  # noqa: E402


def on_config(config: Any) -> None:
    """List the pages of the commands, in the order of their index."""
    index = Path(config["docs_dir"], "commands", "index.md").read_text()
    pages = re.findall(r"^\| \[([\w-]+)\]\((\S+\.md)\) \|", index, re.MULTILINE)
    for part in config["nav"]:
        if "Commands" in part:
            part["Commands"] += [{name: f"commands/{file}"} for name, file in pages]


def on_post_build(config: Any) -> None:
    """Fail if a link leads nowhere, or a page loads something from a server.

    Raises:
        PluginError: with all such links.
    """
    if faults := faults_of(Path(config["site_dir"])):
        raise PluginError("\n".join(["the site has faults:", *faults]))

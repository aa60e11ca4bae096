"""Checks the rules of ``--assume``: values that users set for reads from a simulated GPU.

The recorder parses the rules again in the program. This module refuses a wrong rule early, with a
readable message.
"""

from __future__ import annotations

import re
from pathlib import Path

ROUTING = "routing"
_MEASURED = "measured:"
_LINE = re.compile(r"[^=;\n]+:[0-9]+")
_OPERATOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)?")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_SHARE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_PERCENTAGE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)%")


def problem_of(rule: str) -> str:
    """Return the problem of a rule WHERE=VALUE, or ''."""
    where, equals, value = rule.rpartition("=")
    if not equals:
        return f"'{rule}' says no value: FILE:LINE=VALUE or OPERATOR=VALUE, e.g. train.py:57=0.25"
    if where == ROUTING:
        return _problem_of_routing(value)
    if not (_LINE.fullmatch(where) or _OPERATOR.fullmatch(where)):
        return f"'{where}' is neither FILE:LINE nor the name of an operator such as nonzero"
    if percentage := _PERCENTAGE.fullmatch(value):
        if float(percentage[1]) > 100:
            return f"'{value}' is more than everything: a fraction ends at 100%"
        return ""
    if value.lower() not in ("true", "false") and not _NUMBER.fullmatch(value):
        return f"'{value}' is not a number, a fraction (0.25, 25%), true or false"
    return ""


def _problem_of_routing(value: str) -> str:
    if value in ("balanced", "worst"):
        return ""
    if not value.startswith(_MEASURED):
        return f"'{value}' is no routing: balanced, worst or measured:FILE"
    path = value.removeprefix(_MEASURED)
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        return f"{path}: the routing cannot be read ({reason})"
    rows = [line.replace(",", " ").split() for line in lines]
    for number, row in enumerate(rows, 1):
        if wrong := [word for word in row if not _SHARE.fullmatch(word)]:
            return (
                f"{path}:{number}: '{wrong[0]}' is no number of tokens; a line has one for each"
                " expert, with commas or spaces between"
            )
    return "" if any(rows) else f"{path}: no line with the tokens of each expert"


def with_whole_path(rule: str) -> str:
    """Return a correct rule with the whole path of its file: programs change their folder."""
    where, _, value = rule.rpartition("=")
    if where != ROUTING or not value.startswith(_MEASURED):
        return rule
    return f"{ROUTING}={_MEASURED}{Path(value.removeprefix(_MEASURED)).resolve()}"

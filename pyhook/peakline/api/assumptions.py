"""Checks the rules of ``--assume``: values that users set for reads from a simulated GPU.

The recorder parses the rules again in the program. This module refuses a wrong rule early, with a
readable message.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"[^=;\n]+:[0-9]+")
_OPERATOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)?")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_PERCENTAGE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)%")


def problem_of(rule: str) -> str:
    """Return the problem of a rule WHERE=VALUE, or ''."""
    where, equals, value = rule.rpartition("=")
    if not equals:
        return f"'{rule}' says no value: FILE:LINE=VALUE or OPERATOR=VALUE, e.g. train.py:57=0.25"
    if not (_LINE.fullmatch(where) or _OPERATOR.fullmatch(where)):
        return f"'{where}' is neither FILE:LINE nor the name of an operator such as nonzero"
    if percentage := _PERCENTAGE.fullmatch(value):
        if float(percentage[1]) > 100:
            return f"'{value}' is more than everything: a fraction ends at 100%"
        return ""
    if value.lower() not in ("true", "false") and not _NUMBER.fullmatch(value):
        return f"'{value}' is not a number, a fraction (0.25, 25%), true or false"
    return ""

"""What users may say about values of a simulated GPU: the rules of ``--assume``.

The recorder parses them again in the program; this module exists to refuse a wrong rule early and
in words.
"""

from __future__ import annotations

import re

_LINE = re.compile(r"[^=;\n]+:[0-9]+")
_OPERATOR = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)?")
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_PERCENTAGE = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)%")


def problem_of(rule: str) -> str:
    """Return what is wrong with a rule WHERE=VALUE, or ''."""
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

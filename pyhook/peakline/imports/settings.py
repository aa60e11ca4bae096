"""The allocator settings in a snapshot, as the text that torch reads."""

from __future__ import annotations

from typing import Any

from peakline.imports.writing import plain_text

_TEXTS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_INTERVALS = [1 << at for at in range(16)]  # sizes of requests in MiB
_MOST_MIB = 1 << 30  # larger: no limit


def settings_text(found: Any) -> str:
    """Return the program's own text, plus settings that only the other fields contain.

    Fields differ from the text if the program changed settings at run time.
    """
    if not isinstance(found, dict):
        return ""
    texts = [found.get(key) for key in _TEXTS]
    text = plain_text(next((one for one in texts if isinstance(one, str) and one), ""))
    return ",".join(filter(None, [text, *(one for one in _of_fields(found) if _is_new(one, text))]))


def _is_new(part: str, text: str) -> bool:
    return bool(part) and part.partition(":")[0] not in text


def _of_fields(found: dict[Any, Any]) -> list[str]:
    """Return the settings that differ from torch's defaults."""
    limit = found.get("max_split_size")
    collection = found.get("garbage_collection_threshold")
    return [
        "expandable_segments:True" if found.get("expandable_segments") is True else "",
        f"max_split_size_mb:{limit >> 20}"
        if type(limit) is int and 0 < limit >> 20 < _MOST_MIB
        else "",
        f"garbage_collection_threshold:{collection}"
        if isinstance(collection, float) and 0 < collection < 1
        else "",
        _rounding(found.get("roundup_power2_divisions")),
    ]


def _rounding(divisions: Any) -> str:
    if not isinstance(divisions, dict):
        return ""
    parts = [divisions.get(str(mib), 0) for mib in _INTERVALS]
    if not all(type(one) is int and 0 <= one < _MOST_MIB for one in parts) or max(parts) <= 1:
        return ""
    # torch takes only powers of two; 1 means no rounding, as 0 does.
    each = [f"{mib}:{max(part, 1)}" for mib, part in zip(_INTERVALS, parts, strict=True)]
    return f"roundup_power2_divisions:[{','.join(each)}]"

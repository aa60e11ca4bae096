"""Categories on the page and in figures: the engine's table as colours, style and order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from peakline.base.engine import report_engine


def category_colours() -> dict[str, str]:
    """Return the colour of each category on a light background."""
    return {name: light for name, (light, _), _ in report_engine().CATEGORIES}


def stacking_order(categories: Sequence[str]) -> list[int]:
    """Return the indexes of the categories in stacking order, from below."""
    order = {name: position for position, (name, *_) in enumerate(report_engine().CATEGORIES)}
    return sorted(range(len(categories)), key=lambda i: order.get(categories[i], len(order)))


def class_of(category: str) -> str:
    """Return the class of a category in the style; names that are no category have one, too."""
    is_name = re.fullmatch(r"[a-zA-Z -]+", category)
    return category.lower().replace(" ", "-") if is_name else "unknown"


def category_style() -> str:
    """Return the part of the page's style with the tokens and classes of all categories."""
    rules = []
    for name, fill, text in report_engine().CATEGORIES:
        token = class_of(name)
        rules.append(
            f":root {{ --{token}: light-dark({', '.join(fill)});"
            f" --on-{token}: light-dark({', '.join(text)}); }}\n"
            f".{token} {{ background: var(--{token}); fill: var(--{token}); }}\n"
        )
    return "".join(rules)

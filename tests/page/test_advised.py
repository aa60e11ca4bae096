"""Advice of the summary: what is promised is what torch measures once the advice is followed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lab import Lab, Run
from shown import Shown

Show = Callable[..., Shown]
ABOUT_GRADIENTS = '.advice[data-rule^="zero_grad"]'
PROMISED = f"[...document.querySelectorAll('{ABOUT_GRADIENTS}')].map((one) => +one.dataset.bytes)"


def run_with(lab: Lab, place: str) -> Run:
    return lab.once("zeroes_late.py", place)


def promised(lab: Lab, show: Show, place: str) -> tuple[list[int], str]:
    file = lab.folder / f"zeroes-{place}.html"
    made = lab.peakline("html", str(run_with(lab, place).trace), "-o", str(file))
    assert made.returncode == 0, made.stderr
    shown = show(file=file)
    assert shown.console == []
    return shown.page.evaluate(PROMISED), shown.page.inner_text("#summary")


@pytest.mark.parametrize("place", ["between", "keeps"])
def test_following_the_advice_gains_what_it_says(lab: Lab, show: Show, place: str) -> None:
    better = run_with(lab, "before").said["peak"]
    gains, text = promised(lab, show, place)
    assert gains == [run_with(lab, place).said["peak"] - better]
    assert gains[0] > 0 and "zero_grad()" in text and "-o both.html" in text


@pytest.mark.parametrize("place", ["before", "accumulates"])
def test_nothing_is_advised_where_nothing_is_proved(lab: Lab, show: Show, place: str) -> None:
    gains, text = promised(lab, show, place)
    assert gains == [] and "zero_grad()" not in text

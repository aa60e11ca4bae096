"""Sizes and lengths as people write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from peakline.trials.step_sizes import StepSize, lengths_of, recording_of_words, size_of_words


def test_a_size_names_a_batch_and_a_length() -> None:
    assert size_of_words("batch=8,length=512") == StepSize(8, 512)
    assert size_of_words("length=512") == StepSize(length=512)
    assert recording_of_words("runs/a:b.peak:batch=8") == ("runs/a:b.peak", StepSize(8))
    assert recording_of_words("a.peak") == ("a.peak", StepSize())


def test_a_colon_in_the_name_of_a_file_names_no_size(tmp_path: Path) -> None:
    path = tmp_path / "a:batch=8"
    path.touch()
    assert recording_of_words(str(path)) == (str(path), StepSize())


@pytest.mark.parametrize("wrong", ["", "8", "batch=0", "batch=x", "batch=1,batch=2", "rows=3"])
def test_a_wrong_size_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        size_of_words(wrong)


def test_lengths_are_a_number_per_line_or_a_field(tmp_path: Path) -> None:
    lengths = [7, 30, *[10] * 97, 500]
    plain = tmp_path / "lengths.txt"
    plain.write_text("\n".join(map(str, lengths)) + "\n\n")
    fields = tmp_path / "data.jsonl"
    # A list has its own length.
    rows = [{"ids": list(range(one)) if one < 100 else one} for one in lengths]
    fields.write_text("\n".join(map(json.dumps, rows)))
    for word in (str(plain), f"{fields}:ids"):
        found = lengths_of(word)
        assert found.count == 100
        assert found.by_part == ((0.5, 10), (0.9, 10), (0.99, 30), (1.0, 500))
        assert found.longest_line == 100


@pytest.mark.parametrize("wrong", ["", "x", "1\n-2", "true", '{"ids": "text"}', "1.5"])
def test_a_line_without_a_length_is_named(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "lengths"
    path.write_text(wrong)
    with pytest.raises(ValueError, match=f"{path}(, line [12]: no|: no lengths)"):
        lengths_of(f"{path}:ids" if wrong.startswith("{") else str(path))

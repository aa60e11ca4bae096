"""The options of the plugin. Each is also a setting of the configuration file: Note [Two ways].

Note [Two ways]: `--peakline-most 3` is `peakline_most = 3` in the file. The command line wins, so
its options have no default of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

_TESTS = 5  # tests named at the end
# From this version, typed files such as [tool.pytest] in TOML give numbers: `peakline_most = 3`.
_HAS_NUMBERS = pytest.version_tuple >= (8, 4)


class _Option(NamedTuple):
    name: str  # without dashes
    metavar: str | None  # None: a switch
    default: str
    meaning: str

    @property
    def setting(self) -> str:
        """Its name in the configuration file."""
        return self.name.replace("-", "_")


_OPTIONS = (
    _Option(
        "peakline",
        None,
        "",
        "Record GPU memory, and name the tests with the highest peaks; without a GPU one is"
        " simulated",
    ),
    _Option("peakline-most", "N", str(_TESTS), f"Name this many tests (0: all; default: {_TESTS})"),
    _Option("peakline-hide-summary", None, "", "Name no tests at the end"),
    _Option(
        "peakline-stacks",
        "N",
        "1",
        "Show this many frames of each stack that holds memory (default: 1)",
    ),
    _Option("peakline-native", None, "", "Begin these stacks with their native frames"),
    _Option(
        "peakline-fail-on-increase",
        None,
        "",
        "Fail a test with limit_gpu_memory that needs more than in its last successful run",
    ),
    _Option(
        "peakline-simulate",
        "DEVICE",
        "",
        "Simulate this device (default: h200 if there is no GPU)",
    ),
    _Option(
        "peakline-traces", "FOLDER", "", "Keep the recordings here (default: they are removed)"
    ),
    _Option(
        "peakline-traces-prefix",
        "NAME",
        "pytest",
        "Begin the names of the recordings with this (default: pytest)",
    ),
)
_VERBOSITY = "peakline"  # verbosity_peakline in the configuration file


@dataclass(frozen=True)
class Settings:
    """The values of the options; the fields have their names."""

    is_recording: bool
    most: int
    hide_summary: bool
    stacks: int
    native: bool
    fail_on_increase: bool
    simulate: str
    traces: str
    traces_prefix: str
    verbosity: int

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Read the options.

        Raises:
            pytest.UsageError: an option has an invalid value.
        """
        values = {one.name: _value(config, one) for one in _OPTIONS}
        prefix = values["peakline-traces-prefix"]
        if not prefix or "/" in prefix or "%" in prefix:
            raise pytest.UsageError(
                f"--peakline-traces-prefix: '{prefix}' cannot begin the name of a file; the folder"
                " is given with --peakline-traces"
            )
        return cls(
            is_recording=values["peakline"],
            most=_count("peakline-most", values, 0),
            hide_summary=values["peakline-hide-summary"],
            stacks=_count("peakline-stacks", values, 1),
            native=values["peakline-native"],
            fail_on_increase=values["peakline-fail-on-increase"],
            simulate=values["peakline-simulate"],
            traces=values["peakline-traces"],
            traces_prefix=prefix,
            verbosity=_verbosity(config),
        )


def add_options(parser: pytest.Parser) -> None:
    """Add every option to the command line and to the configuration file."""
    group = parser.getgroup("peakline", "GPU memory of tests, recorded by peakline")
    for one in _OPTIONS:
        if one.metavar is None:
            group.addoption(f"--{one.name}", action="store_true", default=None, help=one.meaning)
            parser.addini(one.setting, f"--{one.name}: {one.meaning}", type="bool", default=False)
        else:
            group.addoption(f"--{one.name}", metavar=one.metavar, default=None, help=one.meaning)
            meaning = f"--{one.name}: {one.meaning}"
            if one.metavar == "N" and _HAS_NUMBERS:
                parser.addini(one.setting, meaning, "int", int(one.default))
            else:
                parser.addini(one.setting, meaning, default=one.default)
    parser.addini(
        f"verbosity_{_VERBOSITY}",
        "Detail of a failed test: below -1 one sentence, up to 1 the 10 largest lines, from 2 all"
        " of them (default: from -v and -q)",
        default="auto",
    )


def _verbosity(config: pytest.Config) -> int:
    if not hasattr(config, "get_verbosity"):  # before pytest 8
        return int(config.getoption("verbose"))
    return config.get_verbosity(_VERBOSITY)


def _value(config: pytest.Config, option: _Option) -> Any:
    given = config.getoption(option.setting)
    if given is None:
        given = config.getini(option.setting)
    return given if option.metavar is None else str(given).strip()


def _count(name: str, values: dict[str, Any], least: int) -> int:
    text = values[name]
    if not text.isdecimal() or int(text) < least:
        raise pytest.UsageError(f"--{name} takes a number from {least}, not '{text}'")
    return int(text)

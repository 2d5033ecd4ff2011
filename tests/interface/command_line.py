"""Helpers that call the command line in this process and parse its help texts."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import pytest

_OPTION_ROW = re.compile(r"^ {2}(-\S.*?)(?: {2,}.*)?$")
_OPTION = re.compile(r"(--?[A-Za-z][A-Za-z-]*)(?: (\S+))?$")
_USAGE = re.compile(r"^(?:usage: | {7})nacre (\S.*?)(?: {2,}.*)?$", re.MULTILINE)


def call_main(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run the installed program's entry point in this process; return exit code, stdout and stderr."""
    (script,) = entry_points(group="console_scripts", name="nacre")
    capfd.readouterr()
    try:
        code = script.load()(list(words))
    except SystemExit as exit:  # argparse raises it after a help text
        code = exit.code
    out, err = capfd.readouterr()
    return code, out, err


def read_commands(text: str) -> list[str]:
    """Return the names of the commands in the usage lines of `nacre --help`."""
    found = [re.match(r"hook install|[a-z]+", line) for line in _USAGE.findall(text)]
    return sorted({match[0] for match in found if match})


def read_operands(text: str, command: str) -> list[str]:
    """Return the rest of each usage line of the command: `[options] ID TEXT`."""
    return [line.removeprefix(command).strip() for line in _USAGE.findall(text) if line.startswith(command)]


def read_options(text: str) -> dict[str, str | None]:
    """Return each option of a help text with its metavar, None for a flag.

    argparse writes `-n N, --last N` or, from Python 3.13 on, `-n, --last N`: a metavar counts for all names of a row.
    """
    options: dict[str, str | None] = {}
    for line in text.splitlines():
        row = _OPTION_ROW.match(line)
        if row is None:
            continue
        names = [match for part in row[1].split(", ") if (match := _OPTION.match(part))]
        metavar = next((match[2] for match in names if match[2]), None)
        options |= {match[1]: metavar for match in names}
    for line in _USAGE.findall(text):
        options |= {name: None for name in re.findall(r"\[(--[a-z-]+)\]", line) if name not in options}
    return options


def sample_value(metavar: str) -> str:
    """Return a value that an option with this metavar accepts."""
    if metavar.startswith("{"):
        return metavar.strip("{}").split(",")[0]
    if "|" in metavar:
        return metavar.split("|")[0]
    samples = {"SECONDS": "1", "N": "1", "LINES": "1", "SIZE": "1M", "NAME=VALUE": "A=b", "AGE": "1h"}
    samples |= {"PORT": "1", "WHICH": "json"}
    return samples.get(metavar, "x")

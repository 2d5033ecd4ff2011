"""Recorded logs: far fewer tokens, and every line of each failure. A file's name in `logs/` says how it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.ansi.render import render
from nacre.output.error_lines import is_error
from nacre.output.shape import shape
from nacre.output.tokens import count_tokens

LOGS = sorted((Path(__file__).parent / "logs").glob("*.log"))
FAILED = [log for log in LOGS if "failed" in log.name or "pytest" in log.name]

BLOCKS = {
    "pytest": ("= FAILURES =", "1 failed, 500 passed"),
    "cargo-failed": ("error[E0106]", "error: could not compile"),
    "npm-failed": ("npm error code ERESOLVE", "A complete log of this run"),
    "pip-failed": ("ERROR: Could not find a version", "ERROR: No matching distribution"),
    "apt-failed": ("E: Unable to locate package", "E: Unable to locate package"),
}
"""The first and the last line of each failure."""


TOLD = {
    "pytest-pipe": ("E       assert", "FAILED tests/", "1 failed, 500 passed"),
    "pytest-terminal": ("E       assert", "FAILED", "1 failed"),
    "cargo-failed-pipe": ("error[E0106]: missing lifetime specifier", "error: could not compile"),
    "cargo-failed-terminal": ("error[E0106]: missing lifetime specifier", "error: could not compile"),
    "npm-failed": ("npm error code ERESOLVE", "npm error ERESOLVE"),
    "pip-failed": ("ERROR: Could not find a version", "ERROR: No matching distribution"),
    "apt-failed": ("E: Unable to locate package",),
}
"""Texts that a person would look for, chosen independently of nacre's definition of an error line."""


def block(text: str, name: str) -> list[str]:
    first, last = next(ends for start, ends in BLOCKS.items() if name.startswith(start))
    lines = text.split("\n")
    begin = next(number for number, line in enumerate(lines) if first in line)
    end = max(number for number, line in enumerate(lines) if last in line)
    return lines[begin : end + 1]


def test_recorded_logs_cover_every_kind() -> None:
    names = [log.name for log in LOGS]
    for kind in ("pip-terminal", "pip-pipe", "npm", "cargo", "pytest", "apt", "docker-pull-generated", "rich"):
        assert any(name.startswith(kind) for name in names)


@pytest.mark.parametrize("log", FAILED, ids=lambda log: log.name)
def test_every_failure_line_of_a_log_is_kept(log: Path) -> None:
    raw = render(log.read_bytes().decode()).text
    text = shape(log.read_bytes()).text
    assert "\n".join(block(raw, log.name)) in text
    assert all(part in text for part in next(parts for start, parts in TOLD.items() if log.name.startswith(start)))
    assert [line for line in text.split("\n") if is_error(line)] == [line for line in raw.split("\n") if is_error(line)]


def test_shaped_logs_use_less_than_two_fifths_of_the_tokens() -> None:
    before = sum(count_tokens(log.read_bytes().decode()) for log in LOGS)
    after = sum(count_tokens(shape(log.read_bytes()).text) for log in LOGS)
    assert after < 0.4 * before


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_shaped_log_contains_no_terminal_control_characters(log: Path) -> None:
    text = shape(log.read_bytes()).text
    assert not any(sign in text for sign in "\x1b\r\b⠙⠹⠸")
    assert log.stat().st_size < 300_000


def test_docker_pull_log_shows_each_layer_once() -> None:
    (log,) = (log for log in LOGS if log.name == "docker-pull-generated.log")
    lines = shape(log.read_bytes()).text.split("\n")
    assert lines[0] == "latest: Pulling from library/project"
    assert [line.split(": ")[1].strip() for line in lines[1:10]] == ["Pull complete"] * 9
    assert lines[10].startswith("Digest: sha256:")


def test_apt_log_shows_packages_without_the_progress_bar() -> None:
    (log,) = (log for log in LOGS if log.name == "apt-fancy-terminal.log")
    text = shape(log.read_bytes()).text
    assert "Progress:" not in text
    assert "Setting up cowsay" in text

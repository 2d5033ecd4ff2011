"""`display` next to `command`: without a `cd` to the current directory, and otherwise complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profiles.phoenix.conftest import Ask
from tests.support.quoting import quote


@pytest.mark.req("P-011")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("cd {place} && echo a", "echo a"),
        ("cd {place}; echo a", "echo a"),
        ("cd {place} && false || echo b", "false || echo b"),
        ("cd /tmp && echo a", "cd /tmp && echo a"),
        ("cd /tmp; echo a", "cd /tmp; echo a"),
        ("cd {place} || echo b", "cd {place} || echo b"),
        ("cd {place} || exit 1; echo a", "cd {place} || exit 1; echo a"),
        ("cd {place}/sub && echo a || echo b", "cd {place}/sub && echo a || echo b"),
        ("false && cd {place} && echo a", "false && cd {place} && echo a"),
        ("echo 'cd {place} && x'", "echo 'cd {place} && x'"),
        ("cd {place} && : " + "word " * 60, ": " + ("word " * 60).rstrip()),
        ("cd /tmp && : " + "word " * 60, "cd /tmp && : " + ("word " * 60).rstrip()),
    ],
    ids=[
        "and", "semicolon", "and-or", "elsewhere", "elsewhere-semicolon", "or", "or-then", "below", "later", "quoted",
        "long", "long-elsewhere",
    ],
)  # fmt: skip
async def test_display_omits_only_a_cd_to_the_working_directory(
    ask: Ask, place: Path, command: str, shown: str
) -> None:
    command, shown = command.replace("{place}", quote(place)), shown.replace("{place}", quote(place))
    made = await ask(command)
    assert (made.data["command"], made.data["display"]) == (command, shown)


@pytest.mark.req("P-011")
async def test_display_of_a_refused_command_omits_the_cd(ask: Ask, place: Path) -> None:
    made = await ask(f"cd {quote(place)} && git add -A")
    assert made.data["display"] == "git add -A"


@pytest.mark.req("P-011")
async def test_display_of_many_lines_is_one_short_line(ask: Ask, place: Path) -> None:
    made = await ask(f"cd {quote(place)} && echo a\n" + ":\n" * 20_000)
    shown = made.data["display"]
    assert (shown.startswith("echo a; :; :; "), "\n" in shown, len(shown) <= 120) == (True, False, True)

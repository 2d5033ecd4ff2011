"""Configuration: every mistake in a file or variable is reported with its place."""

from __future__ import annotations

import os

import pytest

from nacre.config.config import Config
from nacre.errors import InvalidConfig
from tests.config.settings_files import Place

WRONG = [
    ("acess = 'restricted'", 1, "Unknown setting 'acess'. Did you mean 'access'?"),
    ("timeout = 1\n\n# x\naccess = 'none'", 4, "`access` is 'none'. Use unrestricted, workspace, restricted."),
    ("access = 'restrictd'", 1, "`access` is 'restrictd'. Did you mean 'restricted'?"),
    ("\ntimeout = 'ten'", 2, "`timeout` is 'ten', not a number of seconds above 0. Write: timeout = 120"),
    ("timeout = true", 1, "`timeout` is True, not a number of seconds above 0. Write: timeout = 120"),
    ("timeout = 0", 1, "`timeout` is 0, not a number of seconds above 0. Write: timeout = 120"),
    ("memory = 'much'", 1, "`memory` is 'much', not a size. Write: memory = \"512M\""),
    ("hidden = '~/.ssh'", 1, "`hidden` is '~/.ssh', not a list of paths. Write: hidden = [\"~/.cache\"]"),
    (
        "network = [0]",
        1,
        (
            "`network` is a list, not true, false, 'loopback' or a list of ports. "
            'Write: network = true, "loopback" or [443, 80]'
        ),
    ),
    ("x = '''\naccess\n'''\n", 1, "Unknown setting 'x'."),
    (
        "timeout = 1\nwritable = [\n 'a',\n 3,\n]",
        2,
        '`writable` is a list, not a list of paths. Write: writable = ["~/.cache"]',
    ),
    ("[rules]\ngit-push-forc = 'ask'", 2, "Unknown rule 'git-push-forc'. Did you mean 'git-push-force'?"),
    ("[rules]\n\ngit-push-force = 'deny'", 3, "`rules.git-push-force` is 'deny'. Use allow, ask, refuse."),
    ("rules = 3", 1, "`rules` must be a table. Write: [rules]"),
    ("[permissions]\ndenny = []", 2, "Unknown permission list 'denny'. Did you mean 'deny'?"),
    ("[permissions]\ndeny = ['Bash(x']", 2, "The permission rule 'Bash(x' has no closing parenthesis."),
    (
        "[permissions]\ndeny = ['git push:*']",
        2,
        "The permission rule 'git push:*' names no tool. Write Bash(…) around the command.",
    ),
    ("[permissions]\ndeny = ['Bsh(x)']", 2, "The permission rule 'Bsh(x)' matches no command. Did you mean 'Bash'?"),
    ("[rule]\nx = 1", 1, "Unknown setting 'rule'. Did you mean 'rules'?"),
]


@pytest.mark.parametrize(("text", "line", "message"), WRONG)
def test_invalid_setting_is_reported_with_file_line_and_suggestion(
    place: Place, text: str, line: int, message: str
) -> None:
    file = place.users(text)
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value) == f"{file}:{line}: {message}"
    assert (caught.value.file, caught.value.line) == (str(file), line)


def test_invalid_project_setting_is_reported_with_file_and_line(place: Place) -> None:
    file = place.projects("[tool.nacre]\ntimeout = 3\n\n[tool.nacre.permissions]\ndeny = 'Bash(x)'")
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value).startswith(f"{file}:8: `permissions.deny` is 'Bash(x)', not a list of rules.")


@pytest.mark.parametrize(("text", "line"), [("access = \n", 1), ("a = 1\nb = [1,\n", 3), ("a = 1\na = 2", 2)])
def test_invalid_toml_is_reported_with_file_and_line(place: Place, text: str, line: int) -> None:
    file = place.users(text)
    with pytest.raises(InvalidConfig, match="Invalid TOML") as caught:
        place.load()
    assert (caught.value.file, caught.value.line) == (str(file), line)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("NACRE_ACESS", "restricted", "Unknown setting NACRE_ACESS. Did you mean $NACRE_ACCESS?"),
        ("NACRE_ACCESS", "none", "`access` is 'none'. Use unrestricted, workspace, restricted."),
        ("NACRE_MEMORY", "much", "`memory` is 'much', not a size."),
        ("NACRE_NETWORK", "some", "`network` is 'some', not true, false, 'loopback' or a list of ports."),
        ("NACRE_CLAUDE_SETTINGS", "perhaps", "`claude_settings` is 'perhaps', not true or false."),
    ],
)
def test_invalid_environment_variable_is_reported_by_name(place: Place, name: str, text: str, message: str) -> None:
    place.env[name] = text
    with pytest.raises(InvalidConfig) as caught:
        place.load()
    assert str(caught.value).startswith(f"${name}: {message}")


def test_unreadable_config_file_is_an_error(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    os.mkfifo(place.user)
    with pytest.raises(InvalidConfig, match="not a regular file"):
        place.load()
    place.user.unlink()
    place.users("#" * (1 << 20) + "##")
    with pytest.raises(InvalidConfig, match="larger than 1 MB"):
        place.load()


def test_dangling_config_symlink_is_an_error(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    place.user.symlink_to(place.home / "gone")
    with pytest.raises(InvalidConfig, match="dangling symlink"):
        place.load()
    place.user.unlink()
    place.user.parent.rmdir()
    place.user.parent.symlink_to(place.home / "gone")
    with pytest.raises(InvalidConfig, match="dangling symlink"):
        place.load()
    (place.home / "gone").mkdir()
    assert place.load() == Config()


def test_number_with_thousands_of_digits_is_an_error(place: Place) -> None:
    place.env["NACRE_PROCESSES"] = "9" * 5000
    with pytest.raises(InvalidConfig, match="not an integer above 0"):
        place.load()
    place.users(f"processes = {'9' * 5000}")
    with pytest.raises(InvalidConfig, match="Invalid TOML"):
        place.load()


def test_unterminated_project_table_is_an_error(place: Place) -> None:
    place.projects("[tool.nacre")
    with pytest.raises(InvalidConfig, match="Invalid TOML"):
        place.load()

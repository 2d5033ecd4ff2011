"""Commands and options of the command line: their names, and which of them take a value."""

from __future__ import annotations

import pytest

from tests.interface.command_line import call_main, read_commands, read_operands, read_options, sample_value
from tests.interface.snapshot import check_snapshot

UNKNOWN = "--no-such-option"


def read_all(capfd: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return the help text of each command."""
    code, text, err = call_main(capfd, "--help")
    assert (code, err) == (0, "")
    found = {}
    for command in read_commands(text):
        code, found[command], err = call_main(capfd, *command.split(), "--help")
        assert (code, err) == (0, ""), command
    return found


def test_cli_options_and_operands_match_their_snapshot(capfd: pytest.CaptureFixture[str]) -> None:
    helps = read_all(capfd)
    check_snapshot(
        "cli_options",
        {
            command: {"usage": read_operands(text, command), "options": read_options(text)}
            for command, text in helps.items()
        },
    )


def test_each_documented_option_takes_a_value_exactly_as_documented(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A known option is accepted, and the error is about the next argument, which is unknown."""
    wrong: list[tuple[str, str, object, str]] = []
    for command, text in read_all(capfd).items():
        for option, metavar in read_options(text).items():
            if option in ("-h", "--help"):
                continue
            value = [] if metavar is None else [sample_value(metavar)]
            _, out, err = call_main(capfd, *command.split(), option, *value, UNKNOWN)
            if UNKNOWN not in out + err:
                wrong.append((command, option, value, err))
            if not option.startswith("--"):
                continue  # error messages name the long form
            if metavar is not None:
                _, out, err = call_main(capfd, *command.split(), option)
                if option not in out + err:
                    wrong.append((command, option, "without a value", err))
            else:
                code, out, err = call_main(capfd, *command.split(), f"{option}=x")
                if option not in out + err or code == 0:
                    wrong.append((command, option, "with a value", err))
    assert wrong == []

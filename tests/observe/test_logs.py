"""Log records: what is logged and what is not."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from nacre import Bash, ToolContext

FIELDS = {
    "nacre_run",
    "nacre_command",
    "nacre_cwd",
    "nacre_access",
    "nacre_profile",
    "nacre_caller",
    "nacre_conversation",
}
OF_THE_END = {
    "nacre_outcome",
    "nacre_error",
    "nacre_exit_code",
    "nacre_duration",
    "nacre_bytes",
    "nacre_pid",
    "nacre_task",
    "nacre_decision",
    "nacre_rule",
}


def fields(record: logging.LogRecord) -> set[str]:
    return {name for name in vars(record) if name.startswith("nacre_")}


async def test_run_logs_one_line_at_start_and_one_at_end(
    bash: Bash, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, "nacre")
    result = await bash.run("echo hi; exit 3", ToolContext(working_dir=tmp_path, caller="me"))
    began, ended = caplog.records
    assert (began.name, began.levelname) == ("nacre.run", "DEBUG")
    assert began.getMessage() == f"began in {tmp_path}: echo hi; exit 3"
    assert fields(began) == FIELDS
    assert (ended.name, ended.levelname) == ("nacre.run", "INFO")
    assert ended.getMessage() == f"exit 3 after {result.duration:.3f} s: echo hi; exit 3"
    assert fields(ended) == FIELDS | OF_THE_END
    said = vars(ended)
    assert (said["nacre_outcome"], said["nacre_exit_code"], said["nacre_bytes"]) == ("exited", 3, 3)
    assert (said["nacre_caller"], said["nacre_decision"], said["nacre_pid"]) == ("me", "allow", result.pid)
    assert said["nacre_run"] == vars(began)["nacre_run"]


async def test_nothing_is_logged_at_the_default_level(bash: Bash, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "nacre")
    await bash.run("exit 3")
    await bash.run("rm -rf /")
    assert caplog.records == []


async def test_log_message_is_one_short_line_for_any_command(bash: Bash, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "nacre")
    await bash.run("echo 1\n# \x1b[2J \u202e\n" + "echo 2\n" * 500)
    for record in caplog.records:
        assert record.getMessage().isprintable()
        assert len(record.getMessage()) < 500


async def test_log_message_is_one_line_for_any_directory_name(
    bash: Bash, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    odd = tmp_path / "a\nERROR:root:all is lost \x1b[2J"
    odd.mkdir()
    caplog.set_level(logging.DEBUG, "nacre")
    await bash.run("true", ToolContext(working_dir=odd))
    assert [record.getMessage().isprintable() for record in caplog.records] == [True, True]


async def test_refusal_log_names_its_rule_and_no_secret(bash: Bash, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "nacre")
    await bash.run("rm -rf / hunter2-secret", ToolContext(secrets=("hunter2-secret",)))
    (record,) = caplog.records
    assert record.getMessage().startswith("refused by rm-root-or-home: ")
    assert vars(record)["nacre_rule"] == "rm-root-or-home"
    assert "hunter2" not in repr(vars(record)) + record.getMessage()

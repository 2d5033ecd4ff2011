"""Records of the logger `nacre`, as the document has them."""

from __future__ import annotations

import logging

import pytest

from nacre import ToolContext
from nacre.compat.tachikoma import BashOptions, CommandValidator, PrimitiveContext, Validation, bash

CTX = PrimitiveContext("/tmp", operation_id="op-1")


def lines(log: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in log.records if record.name == "nacre"]


async def test_run_is_logged_at_debug_level_with_its_operation_id(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "nacre")
    result = await bash(CTX, "exit 3")
    ended = f"Command completed with exit code 3 in {result.metadata.duration:.3f} s"
    assert lines(caplog) == [("DEBUG", "Executing command: exit 3"), ("DEBUG", ended)]
    assert {vars(record)["operation_id"] for record in caplog.records if record.name == "nacre"} == {"op-1"}


@pytest.mark.req("K-04")
async def test_blocked_pattern_logs_one_warning_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "nacre")
    with pytest.raises(Validation):
        await bash(CTX, "echo secret", BashOptions().block_command("echo"))
    with pytest.raises(Validation):
        CommandValidator(["ls"]).validate("ls")
    warnings = [("WARNING", f"Blocked command pattern detected: {pattern}") for pattern in ("echo", "ls")]
    assert lines(caplog) == warnings


async def test_dangerous_and_ordinary_commands_log_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    await bash(CTX, "true")
    with pytest.raises(Validation):
        CommandValidator([]).validate("rm -rf /")
    assert [line for line in lines(caplog) if line[0] == "WARNING"] == []


async def test_secrets_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "nacre")
    ctx = PrimitiveContext("/tmp", base=ToolContext(secrets=("s3cret-token-value",)))
    await bash(ctx, "echo s3cret-token-value")
    assert lines(caplog)[0] == ("DEBUG", "Executing command: echo [secret]")

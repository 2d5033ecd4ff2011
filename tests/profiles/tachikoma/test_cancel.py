"""Cancelling a call: no process that it started is left, whenever it is cancelled."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeAlias

import pytest

from nacre.compat.tachikoma import BashOptions, BashResult, PrimitiveContext, bash, bash_sequence, bash_success
from tests.support.census import fds
from tests.support.commands import STUBBORN
from tests.support.lifeline import Lifeline
from tests.support.waiting import TIME_LIMITS_S, turn_loop, until

Call: TypeAlias = Callable[[PrimitiveContext, str, BashOptions], Coroutine[None, None, BashResult]]
CTX = PrimitiveContext("/tmp")


@pytest.mark.req("K-07")
@pytest.mark.parametrize("call", [bash, bash_success], ids=["bash", "bash_success"])
async def test_cancelling_the_call_leaves_no_process(call: Call, life: Lifeline) -> None:
    task = asyncio.ensure_future(call(CTX, f"{life.hold} {STUBBORN}", BashOptions().no_timeout()))
    await life.wait_until_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.wait_until_ended()


@pytest.mark.req("K-07")
async def test_cancelling_a_sequence_kills_the_running_command_and_stops(life: Lifeline, tmp_path: Path) -> None:
    ctx = PrimitiveContext(tmp_path)
    task = asyncio.ensure_future(bash_sequence(ctx, ["true", f"{life.hold} {STUBBORN}", "touch ran"]))
    await life.wait_until_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.wait_until_ended()
    assert not (tmp_path / "ran").exists()


@pytest.mark.req("K-07")
async def test_asyncio_timeout_of_the_caller_leaves_no_process(life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(limit):
                await bash(CTX, f"{life.hold} (setsid sleep 999 &) & sleep 999")
        if life.holders:
            break
    await life.wait_until_ended()


@pytest.mark.req("K-07")
async def test_cancelling_during_a_flood_leaves_no_process_and_no_fd(life: Lifeline) -> None:
    await bash(CTX, "true")
    before = fds(os.getpid())
    task = asyncio.ensure_future(bash(CTX, f"{life.hold} yes & yes >&2", BashOptions().max_output(100)))
    await life.wait_until_held()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await life.wait_until_ended()
    await until(lambda: fds(os.getpid()) == before, "as many descriptors as before")


@pytest.mark.req("K-07")
async def test_cancelling_at_any_stage_of_the_start_leaves_nothing(life: Lifeline) -> None:
    await bash(CTX, life.hold)
    before = fds(os.getpid())
    for moments in range(20):
        task = asyncio.ensure_future(bash(CTX, f"{life.hold} sleep 999"))
        await turn_loop(moments)  # stop at each stage of the start
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await life.wait_until_ended()
    await until(lambda: fds(os.getpid()) == before, "as many descriptors as before")

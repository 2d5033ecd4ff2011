"""Output files: where and when they are created, their names, and that none is left."""

from __future__ import annotations

import asyncio
import gc
import os
import re
from pathlib import Path

import pytest

from nacre import ToolContext
from nacre.compat.yoi import BashTool, Internal
from tests.profiles.yoi.conftest import Execute
from tests.support.hosts import run_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import until

LONG = '{"command": "seq 1 200"}'


@pytest.mark.req("Y-13")
async def test_first_call_creates_the_directory_with_bash_log_files(workspace: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "a" / "b"
    with BashTool(workspace, outputs, context=ToolContext(conversation_id="talk / 7" * 20)) as tool:
        assert not (tmp_path / "a").exists()
        await tool.execute(LONG)
        await tool.execute('{"command": "seq 1 300000"}')
        names = os.listdir(outputs)
        assert [name for name in names if not re.fullmatch(r"bash-.+\.log", name)] == []
        assert len(names) == 2
    assert os.listdir(outputs) == []


@pytest.mark.req("Y-13")
@pytest.mark.parametrize("command", ["true", "echo short", "exit 3", "rm -rf /"])
async def test_empty_or_inline_output_leaves_no_file(execute: Execute, outputs: Path, command: str) -> None:
    await execute(command)
    assert list(outputs.iterdir()) == []


@pytest.mark.req("Y-10")
async def test_closing_removes_only_the_files_of_the_tool(workspace: Path, outputs: Path) -> None:
    outputs.mkdir()
    (outputs / "bash-mine.log").touch()
    with BashTool(workspace, outputs) as other:
        await other.execute(LONG)
        with BashTool(workspace, outputs) as tool:
            await tool.execute(LONG)
            await tool.execute(LONG)
            assert len(os.listdir(outputs)) == 4
        assert len(os.listdir(outputs)) == 2
        tool.close()  # a second time
    assert os.listdir(outputs) == ["bash-mine.log"]


@pytest.mark.req("Y-10", "Y-14")
async def test_closed_tool_runs_nothing(tool: BashTool, outputs: Path) -> None:
    tool.close()
    with pytest.raises(Internal, match="closed"):
        await tool.execute('{"command": "touch ran"}')
    assert not outputs.exists()


@pytest.mark.req("Y-10")
async def test_garbage_collected_tool_removes_its_files(workspace: Path, outputs: Path) -> None:
    tool = BashTool(workspace, outputs)
    await tool.execute(LONG)
    assert len(os.listdir(outputs)) == 1
    del tool
    gc.collect()
    assert os.listdir(outputs) == []


@pytest.mark.req("Y-10")
def test_program_that_exits_without_closing_leaves_no_files(tmp_path: Path) -> None:
    host = """
        import asyncio, os, sys
        from nacre.compat.yoi import BashTool
        tool = BashTool(sys.argv[1], sys.argv[2])
        asyncio.run(tool.execute('{"command": "seq 1 200"}'))
        fork = os.fork()
        if not fork:
            sys.exit()  # with all that is done at exit
        os.waitpid(fork, 0)
        print(len(os.listdir(sys.argv[2])))
    """
    assert run_host(host, tmp_path, tmp_path / "outputs") == "1\n"
    assert os.listdir(tmp_path / "outputs") == []


@pytest.mark.req("Y-10")
async def test_cancelled_call_leaves_neither_file_nor_process(tool: BashTool, outputs: Path, life: Lifeline) -> None:
    call = asyncio.create_task(tool.execute(f'{{"command": "{life.hold} seq 1 300000; sleep 60"}}'))
    await until(lambda: outputs.exists() and os.listdir(outputs), "the file that is more than memory holds")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await life.wait_until_ended()
    tool.close()
    assert os.listdir(outputs) == []


@pytest.mark.req("Y-10")
async def test_tool_closed_during_a_call_leaves_no_file(tool: BashTool, outputs: Path, life: Lifeline) -> None:
    call = asyncio.create_task(tool.execute(f'{{"command": "{life.hold} seq 1 200; sleep 60", "timeout": 1}}'))
    await life.wait_until_held()
    tool.close()
    with pytest.raises(Internal, match="the tool was closed while the command ran"):
        await call
    assert os.listdir(outputs) == []


@pytest.mark.req("Y-10")
async def test_inline_output_is_returned_although_the_tool_was_closed(
    tool: BashTool, life: Lifeline, gate: Gate
) -> None:
    call = asyncio.create_task(tool.execute(f'{{"command": "{life.hold} {gate.wait}; echo fine"}}'))
    await life.wait_until_held()
    tool.close()
    gate.open()
    assert (await call).content == "fine\n"


@pytest.mark.req("Y-01", "Y-10")
async def test_concurrent_calls_do_not_mix_their_output(tool: BashTool, outputs: Path) -> None:
    calls = [tool.execute(f'{{"command": "yes {number} | head -n 200"}}') for number in range(10)]
    for number, output in enumerate(await asyncio.gather(*calls)):
        assert output.content is not None
        header, _, rest = output.content.partition("\n")
        path = Path(header.removesuffix("]").partition(" at ")[2])
        assert (rest, path.read_text()) == (f"{number}\n" * 80, f"{number}\n" * 200)
    assert len(os.listdir(outputs)) == 10

"""The private directory of a sandboxed run is removed with it, also if the keeper is killed first."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hosts import run_host
from tests.support.waiting import wait_until

pytestmark = pytest.mark.linux


@pytest.mark.parametrize("both", [False, True], ids=["its keeper", "its keeper and the program's"])
def test_killed_dedicated_keeper_leaves_no_private_directory(tmp_path: Path, both: bool) -> None:
    program = """
        import asyncio, os, signal, sys
        from nacre import Bash, Chunk, Ended, Request, ToolContext
        from nacre.keeper.client.connection import keeper_connection

        async def main():
            bash = Bash()
            ctx = ToolContext(access="restricted")
            request = Request('echo > "$TMPDIR/file"; echo $PPID; sleep 300', leftovers="detach")
            async for event in bash.stream(request, ctx):
                if isinstance(event, Chunk):
                    print(len(os.listdir(sys.argv[1])))
                    if sys.argv[2] == "True":
                        os.kill(keeper_connection().pid, signal.SIGKILL)
                    os.kill(int(event.text), signal.SIGKILL)
                elif isinstance(event, Ended):
                    print(type(event.result.outcome).__name__)

        asyncio.run(main())
    """
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    assert run_host(program, temporary, both, env={"TMPDIR": str(temporary)}) == "1\nLost\n"
    wait_until(lambda: not any(temporary.iterdir()), "what was private to be removed")

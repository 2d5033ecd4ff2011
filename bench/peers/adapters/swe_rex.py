"""`swerex.runtime.local.LocalRuntime` with one bash session, `run_in_session(BashAction(…))`: the call that SWE-agent
makes for each command, here in-process instead of in a container.

Set: `check="silent"`, so that the exit status is reported (SWE-agent itself passes `"ignore"` and never learns it).
After a timeout the session is interrupted, and the model gets SWE-agent's message. The session is a bash on a
pseudo-terminal; `run_in_session` is a coroutine that blocks the event loop until the command has exited.
"""

from __future__ import annotations

from pathlib import Path

from swerex.exceptions import CommandTimeoutError
from swerex.runtime.abstract import BashAction, BashInterruptAction, CreateBashSessionRequest
from swerex.runtime.local import LocalRuntime

from bench.peers.contract import Answer

PACKAGES = ["swe-rex==1.4.0"]
PYTHON = "3.11"
TIMEOUT = "own"
SESSION = True


class Shell:
    def __init__(self, runtime: LocalRuntime) -> None:
        self._runtime = runtime

    async def run(self, command: str, timeout: float) -> Answer:
        try:
            seen = await self._runtime.run_in_session(BashAction(command=command, timeout=timeout, check="silent"))
        except CommandTimeoutError:
            await self._runtime.run_in_session(BashInterruptAction())
            said = f"The command '{command}' was cancelled because it took more than {timeout:g} seconds."
            return Answer(said, None, "timeout")
        return Answer(seen.output, seen.exit_code)

    async def close(self) -> None:
        await self._runtime.close()


async def open_shell(directory: Path) -> Shell:
    runtime = LocalRuntime()
    await runtime.create_session(CreateBashSessionRequest())
    shell = Shell(runtime)
    await shell.run(f"cd '{directory}'", 5)
    return shell

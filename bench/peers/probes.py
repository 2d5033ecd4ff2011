"""The probes: an adapter in, facts out. They run in the peer's environment, each with its own tool objects.

A fact is an observation, with a number if there is one; it is judged elsewhere. Sleep commands are counted by a mark, a
number of seconds that no other process sleeps. Text that is searched for in an answer does not occur in the command
(`pa''rt`), because some answers quote the command.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from bench.peers.contract import Adapter, Answer, Shell
from bench.peers.processes import alive, count_left

Facts: TypeAlias = "dict[str, float | str | bool | None]"

SECRET = "sk-proj-4fWq8Zr1Lk0Vb7Tn2Xc9"
"""The value of OPENAI_API_KEY in the driver's environment. Not a real key."""
HOST_LINE = "a line for the host"
"""Two such lines are in the driver's stdin, which stays open."""
TIMEOUT = 2.0
"""Timeout in seconds for commands that never exit."""
QUICK_TIMEOUT_S = 10.0
"""Timeout in seconds for commands that exit at once."""
ECHOES = 50
"""Maximum number of measured `echo` commands."""
PARALLEL_COMMANDS, FLOOD = 100, 50_000_000
SETTLE_S = 1.0
"""Seconds after which processes that still exist count as left running."""
IDLE_WAIT_S = 0.5
"""Seconds to let a peer finish its work after a command."""
SHOWN = 1000
"""Characters of an answer that are kept."""
CANCEL_TIMEOUT_S = 5.0
"""Seconds that a cancel may take to kill everything."""


@dataclass(frozen=True)
class Scene:
    """The environment of a probe."""

    adapter: Adapter
    directory: Path
    mark: str
    announce: Callable[[str], None]
    """Send a note to the supervisor in mid-probe, and wait until it was handled."""

    @contextlib.asynccontextmanager
    async def shell(self) -> AsyncIterator[Shell]:
        shell = await self.adapter.open_shell(self.directory)
        try:
            yield shell
        finally:
            with contextlib.suppress(Exception):  # how well it closes shows in the processes that are left
                async with asyncio.timeout(5):
                    await shell.close()


async def echo(scene: Scene) -> Facts:
    start = time.perf_counter()
    async with scene.shell() as shell:
        answer = await shell.run("echo hello", QUICK_TIMEOUT_S)
        first = time.perf_counter() - start
        took = list[float]()
        while len(took) < ECHOES and sum(took) < QUICK_TIMEOUT_S:
            start = time.perf_counter()
            await shell.run("echo hello", QUICK_TIMEOUT_S)
            took.append(time.perf_counter() - start)
        await asyncio.sleep(IDLE_WAIT_S)
        scene.announce("resting")
        p95 = statistics.quantiles(took, n=20)[-1]
        return {"right": "hello" in answer.text, "first": first, "median": statistics.median(took), "p95": p95}


async def background(scene: Scene) -> Facts:
    async with scene.shell() as shell:
        await shell.run("true", QUICK_TIMEOUT_S)
        start = time.perf_counter()
        answer = await shell.run(f"sleep {scene.mark} & echo do''ne", TIMEOUT)
        took = time.perf_counter() - start
        return {"took": took, "told": "done" in answer.text, "ended": answer.ended, "running": count_left(scene.mark)}


async def tree(scene: Scene) -> Facts:
    return await _timeout(scene, f"echo pa''rt; (sleep {scene.mark} & sleep {scene.mark}); true")


async def setsid(scene: Scene) -> Facts:
    return await _timeout(scene, f"echo pa''rt; setsid sleep {scene.mark} & sleep {scene.mark}; true")


async def stubborn(scene: Scene) -> Facts:
    return await _timeout(scene, f"echo pa''rt; (trap '' TERM; sleep {scene.mark} & sleep {scene.mark}); true")


async def _timeout(scene: Scene, command: str) -> Facts:
    async with scene.shell() as shell:
        start = time.perf_counter()
        answer = await shell.run(command, TIMEOUT)
        took = time.perf_counter() - start
        facts: Facts = {
            "took": took,
            "late": took - TIMEOUT,
            "part": "part" in answer.text,
            "ended": answer.ended,
            "left": await asyncio.to_thread(count_left, scene.mark, SETTLE_S),
        }
        scene.announce("told " + answer.text[:300])
        return facts | {"next": await _works(shell)}


async def _works(shell: Shell) -> bool:
    """Return true if the same object still runs commands."""
    try:
        async with asyncio.timeout(QUICK_TIMEOUT_S):
            return "again" in (await shell.run("echo again", QUICK_TIMEOUT_S / 2)).text
    except Exception:
        return False


async def cancel(scene: Scene) -> Facts:
    async with scene.shell() as shell:
        loop, heard = asyncio.get_running_loop(), threading.Event()

        def interrupt() -> Facts:
            _wait_for_both(scene)
            start = time.perf_counter()
            loop.call_soon_threadsafe(task.cancel)
            loop.call_soon_threadsafe(heard.set)
            remaining = count_left(scene.mark, CANCEL_TIMEOUT_S)
            took = time.perf_counter() - start
            if not heard.is_set():
                scene.announce(f"blocked {remaining}")
            return {"took": took, "left": remaining}

        interrupting = loop.run_in_executor(None, interrupt)  # not from the event loop: a peer may block it
        task = asyncio.create_task(shell.run(f"sleep {scene.mark} & sleep {scene.mark}", 60))
        return await interrupting | {"returned": task.done()}


async def wait_to_be_killed(scene: Scene) -> Facts:
    """Ask the supervisor to kill this process; it counts the processes that are left."""

    def ask() -> None:
        _wait_for_both(scene)
        scene.announce("kill me")

    async with scene.shell() as shell:
        asking = asyncio.get_running_loop().run_in_executor(None, ask)
        await asyncio.gather(asking, shell.run(f"sleep {scene.mark} & sleep {scene.mark}", 60))
    return {}


def _wait_for_both(scene: Scene) -> None:
    end = time.monotonic() + QUICK_TIMEOUT_S
    while len(alive(scene.mark)) < 2:
        if time.monotonic() > end:
            raise RuntimeError("the command did not start")
        time.sleep(0.02)


async def read(scene: Scene) -> Facts:
    return await _input(scene, 'read x; echo "got:$x."')


async def cat(scene: Scene) -> Facts:
    return await _input(scene, "cat; echo over")


async def _input(scene: Scene, command: str) -> Facts:
    async with scene.shell() as shell:
        start = time.perf_counter()
        answer = await shell.run(command, TIMEOUT)
        took = time.perf_counter() - start
        return {"took": took, "ended": answer.ended, "stole": HOST_LINE in answer.text}


async def newline(scene: Scene) -> Facts:
    return {"text": await _text(scene, "printf foo")}


async def bashisms(scene: Scene) -> Facts:
    command = 'x=abc; a=(1 2 3); [[ $x == a* ]] && echo "${x^^}-${a[2]}-$(cat <(echo sub))"'
    text = await _text(scene, command)
    return {"right": "ABC-3-sub" in text, "text": text}


async def bytes_(scene: Scene) -> Facts:
    return {"text": await _text(scene, r"printf 'a\377b\n'")}


async def exit_code(scene: Scene) -> Facts:
    async with scene.shell() as shell:
        answer = await shell.run("(exit 73)", QUICK_TIMEOUT_S)
        return {"told": answer.exit == 73 or "73" in answer.text, "text": answer.text[:SHOWN]}


async def secret(scene: Scene) -> Facts:
    async with scene.shell() as shell:
        inherited = await shell.run(
            "[ -n \"$(printenv OPENAI_API_KEY)\" ] && echo 'it is' there || echo absent", QUICK_TIMEOUT_S
        )
        shown = await shell.run("echo $OPENAI_API_KEY", QUICK_TIMEOUT_S)
        return {"inherited": "it is there" in inherited.text, "shown": SECRET in shown.text}


async def state(scene: Scene) -> Facts:
    async with scene.shell() as shell:
        await shell.run("mkdir -p below; cd below; export PEER=kept", QUICK_TIMEOUT_S)
        answer = await shell.run('pwd; echo "<$PEER>"', QUICK_TIMEOUT_S)
        return {"directory": "/below" in answer.text, "variable": "<kept>" in answer.text}


async def flood(scene: Scene) -> Facts:
    async with scene.shell() as shell:
        await shell.run("echo hello", QUICK_TIMEOUT_S)
        await asyncio.sleep(IDLE_WAIT_S)
        scene.announce("resting")
        start = time.perf_counter()
        answer = await shell.run(f"head -c {FLOOD} /dev/zero | tr '\\0' x; echo", 20)
        took = time.perf_counter() - start
        scene.announce("flooded")
        shown = "x" * 100 in answer.text
        return {"took": took, "told": len(answer.text), "text": answer.text[:SHOWN], "right": shown}


async def many(scene: Scene) -> Facts:
    objects = PARALLEL_COMMANDS if scene.adapter.SESSION else 1
    async with contextlib.AsyncExitStack() as stack:
        shells = [await stack.enter_async_context(scene.shell()) for _ in range(objects)]
        await asyncio.gather(*(shell.run("true", QUICK_TIMEOUT_S) for shell in shells))
        start = time.perf_counter()
        answers = await asyncio.gather(
            *(shells[i % objects].run(f"sleep 0.2; echo 'number' {i}.", 20) for i in range(PARALLEL_COMMANDS)),
            return_exceptions=True,
        )
        took = time.perf_counter() - start
        scene.announce("counted")
        right = sum(
            isinstance(answer, Answer) and f"number {i}." in answer.text and answer.text.count("number ") == 1
            for i, answer in enumerate(answers)
        )
        return {"took": took, "right": right, "objects": objects}


async def _text(scene: Scene, command: str) -> str:
    async with scene.shell() as shell:
        return (await shell.run(command, QUICK_TIMEOUT_S)).text[:SHOWN]


@dataclass(frozen=True)
class Probe:
    run: Callable[[Scene], Awaitable[Facts]]
    limit: float = 15
    """Seconds after which the supervisor records it as hung."""
    alone: bool = False
    """True if it needs a process of its own, because of what the supervisor counts."""
    measures: bool = False
    """True if it must run while nothing else runs."""


PROBES = {
    "echo": Probe(echo, limit=30, alone=True, measures=True),
    "background": Probe(background, alone=True),
    "tree": Probe(tree),
    "setsid": Probe(setsid),
    "stubborn": Probe(stubborn),
    "cancel": Probe(cancel, alone=True),
    "killed": Probe(wait_to_be_killed, alone=True),
    "read": Probe(read),
    "cat": Probe(cat),
    "newline": Probe(newline),
    "bashisms": Probe(bashisms),
    "bytes": Probe(bytes_),
    "exit": Probe(exit_code),
    "secret": Probe(secret),
    "state": Probe(state),
    "flood": Probe(flood, limit=30, alone=True, measures=True),
    "many": Probe(many, limit=150, alone=True, measures=True),
}

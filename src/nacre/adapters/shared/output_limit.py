"""Runs a command with a limit on its output: a command that prints more is killed."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.cancel import Cancel, call_on_cancel
from nacre.result import Chunk, Ended, Result
from nacre.types import Request, ToolContext


async def run_bounded(bash: Bash, request: Request, ctx: ToolContext, most: int) -> Result:
    """Run a request and return its result with all of its output. If a stream has more than `most` bytes (see
    `Captured.total_bytes`), the command is killed and only the start of the output is kept."""
    enough = Cancel()
    # half of the output that is kept is its start
    held = replace(ctx, cancel=enough, limits=replace(ctx.limits, output=2 * most, spill=0))
    seen = {"stdout": 0, "stderr": 0}
    result = None
    with call_on_cancel(ctx.cancel, enough.cancel):
        async for event in bash.stream(request, held):
            if isinstance(event, Chunk):
                seen[event.stream] += len(event.data)
                if seen[event.stream] > most:
                    enough.cancel()
            elif isinstance(event, Ended):
                result = event.result
    assert result is not None, "a stream ends with Ended"
    return result


def exceeded_stream(result: Result, most: int) -> str | None:
    """Return the start of the first stream with more than `most` bytes, secrets masked; None if there is none."""
    for part in (result.out, result.err):
        if part.total_bytes > most:
            begins = part.head if part.dropped_bytes else part.head + part.tail
            text = begins[:most].decode("utf-8", "replace")
            return text if result.redactor is None else result.redactor.mask(text, ends_cut=True)
    return None

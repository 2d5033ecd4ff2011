"""One call: `await nacre.run("…")`, `nacre.run_sync("…")`.

Keyword arguments are the fields of `Request` and `ToolContext`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any, TypedDict, Unpack

from nacre.base.frozen import names_in
from nacre.base.threads import blocking
from nacre.bash import Bash
from nacre.cancel import Cancel
from nacre.result import Result
from nacre.types import Access, Leftovers, Limits, Mode, Network, Request, StrPath, ToolContext
from nacre.verdict import Verdict


class Options(TypedDict, total=False):
    """See `Request` and `ToolContext`."""

    description: str
    mode: Mode
    timeout: float | None
    yield_after: float | None
    cwd: StrPath | None
    env: Mapping[str, str]
    clear_env: bool
    stdin: str | bytes | None
    open_stdin: bool
    merge: bool
    leftovers: Leftovers | None
    working_dir: StrPath | None
    workspace: StrPath | None
    cancel: Cancel | None
    access: Access
    network: Network
    unix_sockets: bool
    writable: tuple[StrPath, ...]
    protected: tuple[StrPath, ...]
    unprotected: tuple[str, ...]
    hidden: tuple[StrPath, ...]
    strict: bool
    allow_partial: bool
    output_dir: StrPath | None
    spill_dir: StrPath | None
    conversation_id: str
    caller: str
    allowed_paths: tuple[StrPath, ...]
    approve: Callable[[Verdict], Awaitable[bool] | bool] | None
    limits: Limits
    secrets: tuple[str, ...]
    pass_env: tuple[str, ...]
    login_env: bool


_OF_REQUEST = frozenset(names_in(Request))
_OF_CONTEXT = frozenset(names_in(ToolContext))


@cache
def shared_bash() -> Bash:
    return Bash()


def split(command: str, options: Mapping[str, Any]) -> tuple[Request, ToolContext]:
    """Keyword arguments sorted into the two values they belong to."""
    for name in options:
        if name not in _OF_REQUEST | _OF_CONTEXT:
            near = difflib.get_close_matches(name, _OF_REQUEST | _OF_CONTEXT, n=1)
            raise TypeError(f"run() has no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    if options.get("cwd") is not None and options.get("workspace") is None:
        # here it is a programmer who says it, and not a model
        options = {**options, "workspace": os.path.join(options.get("working_dir") or "", options["cwd"])}
    return (
        Request(command, **{name: value for name, value in options.items() if name in _OF_REQUEST}),
        ToolContext(**{name: value for name, value in options.items() if name in _OF_CONTEXT}),
    )


async def run(command: str, **options: Unpack[Options]) -> Result:
    """Run one command to its end."""
    return await shared_bash().run(*split(command, options))


def run_sync(command: str, **options: Unpack[Options]) -> Result:
    """The same, for code without an event loop. Inside a running one it works too, and blocks it."""
    return blocking(shared_bash().run(*split(command, options)))

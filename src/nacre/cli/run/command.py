"""`nacre run`: starts the keeper, loads the driver and runs the command.

This module imports only what is needed to start the keeper, which starts up while the driver loads.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from nacre.base import system
from nacre.base.proc_memory import hide_last_arguments
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.stdin import read_input
from nacre.cli.run.options import RunArguments, parse
from nacre.errors import UnsupportedPlatform

if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.config.config import Config


def run(words: list[str], *, own: bool) -> int:
    """Run the command line and return the exit code. `own`: `words` are this process's own arguments, and the process
    runs nothing else, so its argv and garbage collection may be changed."""
    options = parse(words)
    config = load_config(options)
    if own:
        gc.disable()  # what is loaded now stays; collecting it repeatedly takes a tenth of the start
        if system.LINUX:
            hide_last_arguments(len(words))
    start_keeper()
    drive = _load_drive()
    if own:
        gc.freeze()
        gc.enable()
    _take_input(options)
    return drive(options, config)


def start_keeper() -> None:
    """Start the keeper without waiting for it. Raise UnsupportedPlatform on a system without support."""
    if not system.SUPPORTED:  # here, since the next import would fail with an obscure error
        raise UnsupportedPlatform(f"nacre runs on Linux, and on macOS untested; this is {sys.platform}.")
    from nacre.keeper.client.connection import keeper_connection

    keeper_connection().standby_enabled = False  # this process runs only one command


def _load_drive() -> Callable[[RunArguments, Config], int]:
    with without_ssl():
        from nacre.cli.run.driver import run_command
    return run_command


def load_config(options: RunArguments) -> Config:
    """Return the configuration of the directory to run in, overridden by the options."""
    from nacre.config import load

    overrides = options.config
    given = {
        "profile": overrides.profile,
        "access": overrides.access,
        "network": overrides.network,
        "unix_sockets": overrides.unix_sockets or None,
        "writable": overrides.writable,
        "protected": overrides.protect,
        "unprotected": overrides.unprotect,
        "hidden": overrides.hide,
        "allow_partial": overrides.allow_partial or None,
        "pass_env": overrides.pass_env,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    return load(options.request.cwd, arguments=asked, files=not overrides.no_config)


def _take_input(options: RunArguments) -> None:
    """Read standard input for the command or its input if they were given as `-`."""
    request = options.request
    if options.command == "-":
        options.command = read_input().decode("utf-8", "surrogateescape")
    if request.stdin == "-":
        request.input = read_input()
    elif request.stdin is not None:
        request.input = request.stdin

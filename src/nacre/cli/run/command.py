"""`nacre run`: the command line in, the command's output and exit code out.

Only what is needed before the keeper is started; it gets ready while the rest (`drive`) loads.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from nacre.base import system
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.parser import raw_text
from nacre.cli.common.stdin import read_input
from nacre.cli.run.hide_argv import conceal_arguments
from nacre.cli.run.options import RunArguments, parse
from nacre.errors import UnsupportedPlatform

if TYPE_CHECKING:
    from collections.abc import Callable

    from nacre.config.config import Config


def run(words: list[str], *, own: bool) -> int:
    """`own`: the words are this program's own arguments, and this process is all ours."""
    options = parse(words)
    config = load_config(options)
    if own:
        gc.disable()  # what is loaded now stays; looking through it again and again takes a tenth of the start
        if system.LINUX:
            conceal_arguments(len(words))
    start_keeper()
    drive = _load_drive()
    if own:
        gc.freeze()
        gc.enable()
    _take_input(options)
    return drive(options, config)


def start_keeper() -> None:
    if not system.SUPPORTED:  # before the next import, which would fail in words of its own
        raise UnsupportedPlatform(f"nacre runs on Linux, and untested on macOS; this is {sys.platform}.")
    from nacre.keeper.client.connection import keeper_connection

    keeper_connection().standby_enabled = False  # there is only this one command


def _load_drive() -> Callable[[RunArguments, Config], int]:
    with without_ssl():
        from nacre.cli.run.driver import run_command
    return run_command


def load_config(options: RunArguments) -> Config:
    """What is configured where it runs, with what was asked for here over it."""
    from nacre.config import load

    given = {
        "profile": options.profile,
        "access": options.access,
        "network": options.network,
        "unix_sockets": options.unix_sockets or None,
        "writable": options.writable or None,
        "protected": options.protect or None,
        "unprotected": options.unprotect or None,
        "hidden": options.hide or None,
        "allow_partial": options.allow_partial or None,
        "pass_env": options.pass_env or None,
    }
    asked = {name: value for name, value in given.items() if value is not None}
    return load(options.cwd, arguments=asked, files=not options.no_config)


def _take_input(options: RunArguments) -> None:
    """Replace what was asked for as `-` by our own standard input."""
    if options.command == "-":
        options.command = read_input().decode("utf-8", "surrogateescape")
    if options.stdin == "-":
        options.input = read_input()
    elif options.stdin is not None:
        options.input = raw_text(options.stdin)

"""`nacre hook install AGENT`: shows and makes the change to the agent's settings file; `--remove` undoes it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator

from nacre.base.suggest import find_nearest
from nacre.base.system import home_directory
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import notice, printable, write_out
from nacre.cli.common.usage import UsageError
from nacre.errors import InvalidRequest
from nacre.hooks.install import files
from nacre.hooks.install.json_edit import CannotEdit
from nacre.hooks.install.locations import AGENTS, AgentSettings, command_line
from nacre.hooks.install.settings import installed_commands, with_hook, without_hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser


class _Arguments(Arguments):
    COMMAND = "hook install"
    USAGE = (("AGENT [options]", ""),)
    EPILOG = """\
The change is printed as a diff. The old file is kept next to it, as FILE.before-nacre. A file that cannot be read
is not changed. Installing twice changes nothing.

exit codes: 0; 125 the file could not be read or written, or nacre itself failed.
"""
    MAX_OPERANDS = 1

    user = False
    project = False
    remove = False
    dry_run = False
    no_ask = False
    program: str | None = None

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        add = parser.add_argument
        parser.add_operand("AGENT", ", ".join(AGENTS))
        add("--user", action="store_true", help="in the settings in your home directory (the default)")
        add(
            "--project",
            action="store_true",
            help="in those of the project in this directory, for everyone who works on it",
        )
        add("--remove", action="store_true", help="remove it again: the file is as it was before")
        add("--dry-run", action="store_true", help="only show the change")
        add("--no-ask", action="store_true", help="refuse instead of asking a person")
        add(
            "--program",
            metavar="PATH",
            help="the nacre to run (default: this one; with --project, the one on the PATH)",
        )


def install(words: list[str]) -> int:
    args = _Arguments.parse(words)
    if args.user and args.project:
        raise UsageError("--user and --project exclude each other.", "Choose one, or run the command twice.")
    settings = _settings(args.operands)
    here = os.getcwd() if args.project else None
    paths = settings.paths(env=os.environ, home=home_directory(), project=here)
    if args.remove:
        return _remove(settings, paths, dry=args.dry_run)
    program = args.program or _program(shared=here is not None)
    return _install(settings, paths, command_line(program, ask=not args.no_ask), dry=args.dry_run)


def _settings(operands: list[str]) -> AgentSettings:
    if not operands:
        raise UsageError("nacre hook install needs the name of an agent.", f"One of: {', '.join(AGENTS)}")
    if operands[0] not in AGENTS:
        near = find_nearest(operands[0], AGENTS)
        hint = f"Did you mean: nacre hook install {near}" if near else f"One of: {', '.join(AGENTS)}"
        raise UsageError(f"Unknown agent {operands[0]!r}.", hint)
    return AGENTS[operands[0]]


def _program(*, shared: bool) -> str:
    """Return the `nacre` to run: an absolute path for one user, since the agent's PATH may differ; the bare name in
    settings that users share. Raise UsageError if there is none."""
    if shared:
        return "nacre"
    beside = os.path.join(os.path.dirname(sys.executable), "nacre")
    found = beside if os.access(beside, os.X_OK) else shutil.which("nacre")
    if found is None:
        raise UsageError(
            "No program `nacre` was found that the agent could run.", "Name it: --program PATH", field="program"
        )
    return os.path.abspath(found)


def _install(settings: AgentSettings, paths: list[str], command: str, *, dry: bool) -> int:
    contents = {path: _read(path) for path in paths}
    path = next((each for each in paths if _installed_commands(settings, each, contents[each])), None)
    if path is None:
        path = next((each for each in paths if contents[each] is not None), paths[-1])
    before = contents[path]
    try:
        after = with_hook(settings, path, before, command)
    except CannotEdit as error:
        raise _cannot_edit(path, error) from error
    if after == before:
        notice(f"Already installed: {path}")
        return 0
    write_out("".join(_diff(path, before, after)))
    if dry:
        notice("Nothing was changed: --dry-run")
        return 0
    first = before is not None and not _installed_commands(settings, path, before)
    try:
        if first:
            files.write(files.backup_path(path), before, like=path)
        files.write(path, after)
    except OSError as error:
        raise _unwritable(path, error) from error
    notice(f"Written: {path}" + (f" (as it was: {files.backup_path(path)})" if first else ""))
    notice(settings.afterwards)
    return 0


def _remove(settings: AgentSettings, paths: list[str], *, dry: bool) -> int:
    contents = {path: _read(path) for path in paths}
    there = [path for path in paths if _installed_commands(settings, path, contents[path])]
    if not there:
        notice(f"No nacre hook found in {' or '.join(paths)}")
        return 0
    for path in there:
        before = contents[path]
        try:
            after, whole = _original_bytes(settings, path, before)
        except CannotEdit as error:
            raise _cannot_edit(path, error) from error
        write_out("".join(_diff(path, before, after)))
        if dry:
            continue
        try:
            files.write(path, after)
            if whole:
                files.write(files.backup_path(path), None)
        except OSError as error:
            raise _unwritable(path, error) from error
        notice(f"Written: {path}" if after is not None else f"Removed, because nothing else was in it: {path}")
    if dry:
        notice("Nothing was changed: --dry-run")
    return 0


def _original_bytes(settings: AgentSettings, path: str, data: bytes | None) -> tuple[bytes | None, bool]:
    """Return the file without the hook, and whether that is the backup, byte for byte: only if nothing else has changed
    since the installation."""
    earlier = files.read(files.backup_path(path))
    if earlier is not None and not _installed_commands(settings, path, earlier):
        command = installed_commands(settings, path, data)[0]
        if with_hook(settings, path, earlier, command) == data:
            return earlier, True
    return without_hook(settings, path, data), False


def _installed_commands(settings: AgentSettings, path: str, data: bytes | None) -> list[str]:
    try:
        return installed_commands(settings, path, data)
    except CannotEdit as error:
        raise _cannot_edit(path, error) from error


def _read(path: str) -> bytes | None:
    try:
        return files.read(path)
    except OSError as error:
        raise InvalidRequest(
            "unreadable", f"Cannot read {path}: {error.strerror}.", field="agent", hint="Nothing was changed."
        ) from error


def _cannot_edit(path: str, error: CannotEdit) -> InvalidRequest:
    return InvalidRequest(
        "unfit",
        f"{path} was not changed: {error}.",
        field="agent",
        hint="Fix it, or add the hook by hand: see docs/hooks.md.",
    )


def _unwritable(path: str, error: OSError) -> InvalidRequest:
    return InvalidRequest(
        "unwritable", f"Cannot write {path}: {error.strerror}.", field="agent", hint="Nothing was changed."
    )


def _diff(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    from difflib import unified_diff

    old, new = ((data or b"").decode().splitlines() for data in (before, after))
    names = (path if before is not None else os.devnull, path if after is not None else os.devnull)
    for line in unified_diff(old, new, *names, lineterm=""):
        yield f"{printable(line)}\n"

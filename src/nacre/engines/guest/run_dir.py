"""Run directories: the directory of one run ("letter") that both sides see, and what the guest reports through its
pipes.

The guest can only read it, except for the pipes, which the host opens before the command runs. The host opens nothing
by name that the command can create or change, and treats all that it receives as plain data.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Mapping

from nacre.base.system import memory_file
from nacre.keeper.client.connection import TaskDirHandle
from nacre.keeper.client.events import FinalEvent, KeeperLost, RunStopped, StartFailed, parse_start_failed
from nacre.keeper.client.handle import UnstartedRun
from nacre.keeper.client.run import LocalRun, start
from nacre.keeper.protocol.bootstrap import SHELL_MARKER
from nacre.keeper.protocol.ending import EndKind
from nacre.result import Process
from nacre.types import Plan

_MAX_STATE_BYTES = 4 * 1024 * 1024 + 1
"""Bytes of a shell's exit state (directory and environment); see `ShellExitState`."""
_READ_BYTES = 1 << 16


class RunDir:
    """Directory of one run, shared with the guest."""

    def __init__(
        self,
        path: str,
        text: bytes,
        go: bytes,
        others: Mapping[str, bytes] | None = None,
        *,
        pipes: tuple[str, ...] = (),
    ) -> None:
        """Write the directory. OSError: it cannot be written; it is removed."""
        self.path = path
        os.mkdir(path)
        try:
            self._write({"text": text, "gate": b"go\n", "go": go, **(others or {})}, ("told", "state", *pipes))
        except OSError:
            self.discard()
            raise

    def _write(self, files: Mapping[str, bytes], pipes: tuple[str, ...]) -> None:
        os.chmod(self.path, 0o755)  # the command's user may be any; others cannot enter the parent
        for name, data in files.items():
            file = os.path.join(self.path, name)
            with open(file, "xb") as stream:
                stream.write(data)
            os.chmod(file, 0o644)
        for name in pipes:
            make_pipe(os.path.join(self.path, name))

    def close_start_pipe(self) -> None:
        """Stop a run that has not begun, and remove its script and command, since other commands may see the directory.
        A run that has begun has read them."""
        with contextlib.suppress(OSError):
            os.truncate(os.path.join(self.path, "gate"), 0)
        for name in ("go", "text"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self.path, name))

    def discard(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def make_pipe(path: str) -> None:
    os.mkfifo(path)
    os.chmod(path, 0o666)


def _open_pipe(pipe: str) -> int:
    return os.open(pipe, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


class GuestStatus:
    """The report on one run: how it ended, from the shell that waits for it on the host, and the exit state (directory
    and environment), from its own shell."""

    def __init__(self, letter: RunDir, state: int | None, *, cwd: str, unstarted: str, lost: str = "") -> None:
        """Open the pipes. OSError: that failed; the run directory is removed.

        `state` is the file to copy the exit state to. `unstarted` and `lost` are the messages for a run that never
        began, or was not seen to end.
        """
        self._state = state
        self._cwd = cwd
        self._unstarted = unstarted
        self._lost = lost or unstarted
        self._taken = 0
        self._loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as undo:
            undo.callback(letter.discard)
            self.note = memory_file(b"")
            """Memory file for the reports of the shell on the host."""
            undo.callback(os.close, self.note)
            self._pipe = None if state is None else _open_pipe(os.path.join(letter.path, "state"))
            undo.pop_all()
        if self._pipe is not None:
            self._loop.add_reader(self._pipe, self._read_available)

    def _read_available(self) -> None:
        """Copy the available exit state. Stop for good beyond `_MAX_STATE_BYTES`. At EOF stop watching the pipe, which
        stays readable while it has no writer."""
        assert self._pipe is not None
        assert self._state is not None
        with contextlib.suppress(OSError):
            while data := os.read(self._pipe, _READ_BYTES):
                os.write(self._state, data)
                self._taken += len(data)
                if self._taken > _MAX_STATE_BYTES:
                    self._stop_taking()
                    return
            self._loop.remove_reader(self._pipe)

    def _stop_taking(self) -> None:
        if self._pipe is not None:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = None

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        """Translate the last event of the shell on the host to that of the run."""
        if self._pipe is not None:
            self._read_available()
        lines = os.pread(self.note, _MAX_STATE_BYTES, 0).splitlines()
        # as the guest reports them, not the processes that wait on the host
        if isinstance(word, RunStopped) and (left := _parse_leftovers(lines)):
            word = word._replace(
                running=left if word.running else (), killed_leftovers=left if word.killed_leftovers else ()
            )
        if isinstance(word, RunStopped):
            prefix = b"remark "
            notes = (line.removeprefix(prefix) for line in lines if line.startswith(prefix))
            word = word._replace(notes=tuple(line.decode("utf-8", "replace") for line in notes))
        if not isinstance(word, RunStopped) or word.reason.kind is not EndKind.EXIT or b"ended" in lines:
            return word
        if b"lost" in lines:
            remedy = "start in the workspace, or create it there first"
            return StartFailed(0, f"the working directory {self._cwd} does not exist there: {remedy}")
        if b"begun" in lines:
            return KeeperLost(self._lost, word.duration, ())
        return StartFailed(0, self._unstarted)

    @property
    def has_ended(self) -> bool:
        """Whether the run was seen to end in the guest, or not to begin there."""
        return not {b"ended", b"over"}.isdisjoint(os.pread(self.note, _MAX_STATE_BYTES, 0).splitlines())

    def close(self) -> None:
        self._stop_taking()
        os.close(self.note)


class GuestRun:
    """The guest side of a run that has a run directory (`RemoteEnd`)."""

    def __init__(self, letter: RunDir, reply: GuestStatus, *, discard: bool) -> None:
        """`discard`: remove the run directory on close; otherwise the scripts do."""
        self._run_dir = letter
        self._discard = discard
        self._run: LocalRun | None = None
        self.status = reply

    async def start(self, plan: Plan, folder: TaskDirHandle | None) -> LocalRun | UnstartedRun:
        """Start the shell on the host. If that fails, nothing is left of the run."""
        try:
            run = await start(plan, self.status.note, folder)
        except BaseException:
            self._abandon()
            raise
        if isinstance(run, LocalRun):
            run.remote_end, self._run = self, run
        else:
            self._abandon()
        return run

    @property
    def never_started(self) -> bool:
        """Whether not even the shell on the host was seen to start."""
        return self._run is not None and not self._run.has_started

    def _abandon(self) -> None:
        self._discard = True
        self.close()

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        self._discard = self._discard or isinstance(word, StartFailed)
        return self.status.translate_end(word)

    def cancel(self) -> None:
        self._run_dir.close_start_pipe()

    def close(self) -> None:
        self.status.close()
        unborn, self._run = self.never_started, None
        if self._discard or unborn:  # no script would remove it, and a run that is just starting fails without it
            self._run_dir.discard()


def failed_start(error: OSError) -> UnstartedRun:
    """Return a run that failed because its run directory could not be written."""
    return UnstartedRun(parse_start_failed(error))


def _parse_leftovers(lines: list[bytes]) -> tuple[Process, ...]:
    """Return the processes that were still running in the guest when the shell had exited."""
    rows = (line.split(b" ", 2) for line in lines if line.startswith(b"left ") and line.count(b" ") >= 2)
    found = [(int(pid), command.decode("utf-8", "replace")) for _, pid, command in rows if pid.isdigit()]
    return tuple(Process(pid, pid, _process_name(command)) for pid, command in found)


def _process_name(command: str) -> str:
    return "bash (part of the command)" if SHELL_MARKER in command else command

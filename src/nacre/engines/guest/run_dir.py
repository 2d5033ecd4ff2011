"""A letter: the folder of one run that both sides see, and what comes back by its pipes.

It can only be read where the command runs, but for the pipes; and these are opened here before the command is. Nothing
that it can make or change is ever opened by its name, and nothing that comes back is more than data.
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
from nacre.keeper.protocol.ending import EXIT
from nacre.result import Process
from nacre.types import Plan

_MAX_STATE_BYTES = 4 * 1024 * 1024 + 1
"""Bytes of a shell's last directory and environment; see `ShellExitState`."""
_READ_BYTES = 1 << 16


class RunDir:
    def __init__(
        self,
        path: str,
        text: bytes,
        go: bytes,
        others: Mapping[str, bytes] | None = None,
        *,
        pipes: tuple[str, ...] = (),
    ) -> None:
        """OSError: it cannot be written, and nothing is left of it."""
        self.path = path
        os.mkdir(path)
        try:
            self._write({"text": text, "gate": b"go\n", "go": go, **(others or {})}, ("told", "state", *pipes))
        except OSError:
            self.discard()
            raise

    def _write(self, files: Mapping[str, bytes], pipes: tuple[str, ...]) -> None:
        os.chmod(self.path, 0o755)  # the command's user may be any; nobody else gets past the folder above
        for name, data in files.items():
            file = os.path.join(self.path, name)
            with open(file, "xb") as stream:
                stream.write(data)
            os.chmod(file, 0o644)
        for name in pipes:
            make_pipe(os.path.join(self.path, name))

    def close_start_pipe(self) -> None:
        """Nobody passes the gate any more, and what there is to read is gone: other commands may see the folder. Who
        has begun has read it."""
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
    """What comes back of one run: how it ended, by the shell that waits for it here, and its last directory and
    environment, by its own."""

    def __init__(self, letter: RunDir, state: int | None, *, cwd: str, unstarted: str, lost: str = "") -> None:
        """`state` is where the latter goes; the rest is what to say if it never began, or was not seen to end. OSError:
        nothing could be heard of it, and the letter is gone."""
        self._state = state
        self._cwd = cwd
        self._unstarted = unstarted
        self._lost = lost or unstarted
        self._taken = 0
        self._loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as undo:
            undo.callback(letter.discard)
            self.note = memory_file(b"")
            """A file for the shell here."""
            undo.callback(os.close, self.note)
            self._pipe = None if state is None else _open_pipe(os.path.join(letter.path, "state"))
            undo.pop_all()
        if self._pipe is not None:
            self._loop.add_reader(self._pipe, self._read_available)

    def _read_available(self) -> None:
        """What there is; but whoever writes more than anybody could mean, writes to nobody. Nobody writes: that will
        be so until somebody does, so look away."""
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
        """What its last word means."""
        if self._pipe is not None:
            self._read_available()
        lines = os.pread(self.note, _MAX_STATE_BYTES, 0).splitlines()
        if isinstance(word, RunStopped) and (
            left := _parse_leftovers(lines)
        ):  # as it is known there, not who waits for it here
            word = word._replace(
                running=left if word.running else (), killed_leftovers=left if word.killed_leftovers else ()
            )
        if isinstance(word, RunStopped):
            prefix = b"remark "
            notes = (line.removeprefix(prefix) for line in lines if line.startswith(prefix))
            word = word._replace(notes=tuple(line.decode("utf-8", "replace") for line in notes))
        if not isinstance(word, RunStopped) or word.reason != EXIT or b"ended" in lines:
            return word
        if b"lost" in lines:
            remedy = "start in the workspace, or make it there first"
            return StartFailed(0, f"there is no directory {self._cwd} where it would have run: {remedy}")
        if b"begun" in lines:
            return KeeperLost(self._lost, word.duration, ())
        return StartFailed(0, self._unstarted)

    @property
    def has_ended(self) -> bool:
        """It was seen to end where it ran, or never to begin."""
        return not {b"ended", b"over"}.isdisjoint(os.pread(self.note, _MAX_STATE_BYTES, 0).splitlines())

    def close(self) -> None:
        self._stop_taking()
        os.close(self.note)


class GuestRun:
    """The far end of a run that has a letter."""

    def __init__(self, letter: RunDir, reply: GuestStatus, *, discard: bool) -> None:
        """`discard`: it is ours to do so when nobody listens any more."""
        self._run_dir = letter
        self._discard = discard
        self._run: LocalRun | None = None
        self.status = reply

    async def start(self, plan: Plan, folder: TaskDirHandle | None) -> LocalRun | UnstartedRun:
        """Start its near end. Nothing is left of it if that fails."""
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
        """Not even its near end was seen to start."""
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
        if self._discard or unborn:  # nobody there would do it; and who is just beginning stops at it
            self._run_dir.discard()


def failed_start(error: OSError) -> UnstartedRun:
    """It cannot even be written down what is to be run."""
    return UnstartedRun(parse_start_failed(error))


def _parse_leftovers(lines: list[bytes]) -> tuple[Process, ...]:
    """What was still running there when the shell had exited."""
    rows = (line.split(b" ", 2) for line in lines if line.startswith(b"left ") and line.count(b" ") >= 2)
    found = [(int(pid), command.decode("utf-8", "replace")) for _, pid, command in rows if pid.isdigit()]
    return tuple(Process(pid, pid, _process_name(command)) for pid, command in found)


def _process_name(command: str) -> str:
    return "bash (part of the command)" if SHELL_MARKER in command else command

"""Exceptions: problems that the programmer has to fix. The outcome of a command is never an exception.

NacreError
├── InvalidRequest    a request is invalid; raised before anything starts
│   ├── PathNotAllowed    a directory outside `ToolContext.allowed_paths`
│   ├── AccessUnavailable an access mode that cannot be enforced here
│   └── NoSuchTask        an id that no task has
├── CommandFailed     `Result.check()` on a command that did not succeed
├── EngineUnavailable an engine that cannot run commands
├── KeeperFailed      the keeper could not be started
├── InvalidPolicy     an invalid policy or rule of the caller
├── InvalidConfig     an invalid setting, with its file and line
├── CheckUnavailable  the checker could not be loaded
└── UnsupportedPlatform
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.result import Result


class NacreError(Exception):
    """Base class of all exceptions that nacre raises on purpose."""


class InvalidRequest(NacreError):
    """A request that cannot be run: `field` names the invalid field, `hint` the fix."""

    def __init__(self, code: str, message: str, *, field: str, hint: str) -> None:
        super().__init__(f"{message} {hint}" if hint else message)
        self.code = code
        """Stable identifier for programs: `empty_command`, `bad_timeout`, …"""
        self.message = message
        self.field = field
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.code, self.message, self.field, self.hint)


def _revive(kind: type[InvalidRequest], code: str, message: str, field: str, hint: str) -> InvalidRequest:
    """Rebuild an unpickled exception: pickle does not pass keyword-only arguments."""
    return kind(code, message, field=field, hint=hint)


class PathNotAllowed(InvalidRequest):
    """A directory outside `ToolContext.allowed_paths`."""


class AccessUnavailable(InvalidRequest):
    """An access mode that this version or this kernel cannot enforce. nacre never drops a restriction silently."""


class NoSuchTask(InvalidRequest):
    """No task has this id, or several ids begin with it; the hint lists similar ones."""


class CommandFailed(NacreError):
    """A command that ran and did not succeed; `result` holds its outcome and output."""

    def __init__(self, result: Result) -> None:
        redactor = result.redactor
        summary = result.summary if redactor is None else redactor.mask_all(result.summary)
        said = result.err.masked_text(redactor).strip() or result.both.masked_text(redactor).strip()
        super().__init__(f"{summary}: {said}"[:2000])
        self.result = result

    @property
    def exit_code(self) -> int | None:
        """Exit code of the command; None if it did not exit by itself (see `Result.outcome`)."""
        return self.result.exit_code

    def __reduce__(self) -> tuple[object, ...]:
        return CommandFailed, (self.result,)


class EngineUnavailable(NacreError):
    """An engine that cannot run commands: the message names the cause, `hint` the fix."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return EngineUnavailable, (self.message, self.hint)


class KeeperFailed(NacreError):
    """The keeper process could not be started; the message names the cause and the fix."""

    def __init__(self, message: str, errno: int = 0) -> None:
        super().__init__(message)
        self.errno = errno
        """The errno of a temporary shortage, such as EMFILE or EAGAIN: `run` then does not raise, but returns
        `NotStarted`. 0: the keeper cannot start here at all."""


class InvalidPolicy(NacreError):
    """A policy that names unknown rules, or a custom rule that contradicts its own examples."""


class InvalidConfig(NacreError):
    """An invalid setting: the message has its place and the problem, `hint` the fix."""

    def __init__(self, message: str, hint: str = "", *, file: str = "", line: int = 0, key: str = "") -> None:
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{where}{message} {hint}".rstrip())
        self.message = message
        self.hint = hint
        self.file = file
        """Path of the file, or the name of a variable, as `$NACRE_ACCESS`."""
        self.line = line
        """Line in the file; 0 if unknown."""
        self.key = key

    def __reduce__(self) -> tuple[object, ...]:
        return _revive_config, (self.message, self.hint, self.file, self.line, self.key)


def _revive_config(message: str, hint: str, file: str, line: int, key: str) -> InvalidConfig:
    return InvalidConfig(message, hint, file=file, line=line, key=key)


class CheckUnavailable(NacreError):
    """The checker could not be loaded: no file descriptor is left to open its modules."""


class UnsupportedPlatform(NacreError):
    """An operating system on which nacre does not run."""

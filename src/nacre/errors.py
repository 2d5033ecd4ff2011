"""The exceptions: what the programmer has to mend. What a command does is never one of these.

NacreError
├── InvalidRequest    something asked for cannot be meant; raised before anything starts
│   ├── PathNotAllowed    a directory outside `ToolContext.allowed_paths`
│   ├── AccessUnavailable an access mode that cannot be enforced here
│   └── NoSuchTask        an id that no task has
├── CommandFailed     `Result.check()` on a command that did not succeed
├── EngineUnavailable an engine that cannot run anything
├── KeeperFailed      the keeper could not be started
├── InvalidPolicy     a policy or a rule of the caller's that cannot be meant
├── InvalidConfig     a setting that cannot be meant, with its file and line
├── CheckUnavailable  the checker could not be loaded
└── UnsupportedPlatform
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.result import Result


class NacreError(Exception):
    """Everything nacre raises on purpose."""


class InvalidRequest(NacreError):
    """A request that cannot be run as it stands: `field` is wrong, `hint` says what to do."""

    def __init__(self, code: str, message: str, *, field: str, hint: str) -> None:
        super().__init__(f"{message} {hint}" if hint else message)
        self.code = code
        """Stable, for programs: `empty_command`, `bad_timeout`, …"""
        self.message = message
        self.field = field
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return _revive, (type(self), self.code, self.message, self.field, self.hint)


def _revive(kind: type[InvalidRequest], code: str, message: str, field: str, hint: str) -> InvalidRequest:
    """Exceptions with keyword-only arguments do not survive pickling by themselves."""
    return kind(code, message, field=field, hint=hint)


class PathNotAllowed(InvalidRequest):
    """A directory outside the allowed paths."""


class AccessUnavailable(InvalidRequest):
    """An access mode that this version or this kernel cannot enforce. It is never quietly left out."""


class NoSuchTask(InvalidRequest):
    """No task has this id, or several begin with it; the hint names those that are near."""


class CommandFailed(NacreError):
    """The command ran and did not succeed; `result` has everything it said."""

    def __init__(self, result: Result) -> None:
        redactor = result.redactor
        summary = result.summary if redactor is None else redactor.mask_all(result.summary)
        said = result.err.masked_text(redactor).strip() or result.both.masked_text(redactor).strip()
        super().__init__(f"{summary}: {said}"[:2000])
        self.result = result

    @property
    def exit_code(self) -> int | None:
        return self.result.exit_code

    def __reduce__(self) -> tuple[object, ...]:
        return CommandFailed, (self.result,)


class EngineUnavailable(NacreError):
    """An engine that cannot run anything: what is missing, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".rstrip())
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        return EngineUnavailable, (self.message, self.hint)


class KeeperFailed(NacreError):
    """The keeper process could not be started; the message says why and what to try."""

    def __init__(self, message: str, errno: int = 0) -> None:
        super().__init__(message)
        self.errno = errno
        """The errno of what is lacking just now, as descriptors or processes: who runs a command is not raised it, but
        gets `NotStarted`. 0: it cannot be started at all."""


class InvalidPolicy(NacreError):
    """A policy names what does not exist, or a rule of its own does not do what its examples say."""


class InvalidConfig(NacreError):
    """A setting that cannot be meant: where it stands, what is wrong with it, what to do."""

    def __init__(self, message: str, hint: str = "", *, file: str = "", line: int = 0, key: str = "") -> None:
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{where}{message} {hint}".rstrip())
        self.message = message
        self.hint = hint
        self.file = file
        """Or the name of a variable, as `$NACRE_ACCESS`."""
        self.line = line
        """0: not known."""
        self.key = key

    def __reduce__(self) -> tuple[object, ...]:
        return _revive_config, (self.message, self.hint, self.file, self.line, self.key)


def _revive_config(message: str, hint: str, file: str, line: int, key: str) -> InvalidConfig:
    return InvalidConfig(message, hint, file=file, line=line, key=key)


class CheckUnavailable(NacreError):
    """The checker could not be loaded: no descriptor is left to open its files."""


class UnsupportedPlatform(NacreError):
    """nacre does not run on this operating system."""

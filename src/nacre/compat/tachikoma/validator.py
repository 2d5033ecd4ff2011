"""CommandValidator: check whether a command may be run, without running it. Also two helpers for quoting."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from nacre.approval.check import check_script
from nacre.compat.tachikoma.errors import Validation
from nacre.errors import CheckUnavailable, InvalidRequest
from nacre.policy.policy import Policy
from nacre.profiles.tachikoma import BLOCKED_PATTERN, EMPTY, policy, texts

LOG = logging.getLogger("nacre")


class CommandValidator:
    """Refuse commands with the given patterns, and dangerous commands in any case."""

    def __init__(self, blocked: Iterable[str] = (), *, literal: bool = False) -> None:
        """Create a validator.

        `blocked`: texts that no command may contain, ignoring case. `literal`: the specification's own rules: texts are
        case-sensitive, and dangerous commands are also found by their plain text, anywhere.
        """
        self.blocked_patterns = texts(blocked, "blocked")
        self._policy = _policy(tuple((type(each), each) for each in self.blocked_patterns), literal)

    def validate(
        self, command: str, *, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """Raise `Validation` if the command may not run. It would run in `cwd`, with `env` in addition to this
        process's environment."""
        if isinstance(command, str) and not command.strip():
            raise Validation(EMPTY)
        try:
            verdict = check_script(
                command, cwd=cwd, env=env, policy=self._policy, want_harmless=False, inherited=dict(os.environ)
            )[1]
        except (InvalidRequest, CheckUnavailable) as error:
            raise Validation(str(error)) from error
        if not verdict.allowed:
            raise log_refusal(verdict.reason)

    @staticmethod
    def escape_arg(arg: str) -> str:
        """Quote an argument as one shell word, always in quotes."""
        return "'" + arg.replace("'", "'\\''") + "'"

    @staticmethod
    def build_safe_command(cmd: str, args: Sequence[str]) -> str:
        """Return the command unchanged, followed by its arguments, quoted."""
        if isinstance(args, str):
            raise Validation(f"The arguments are {args!r}. Give a list of them.")
        return f"{cmd} {' '.join(map(CommandValidator.escape_arg, args))}"


def log_refusal(message: str) -> Validation:
    """Return the error; log a warning if it reports a blocked pattern."""
    if message.startswith(BLOCKED_PATTERN):
        LOG.warning("Blocked command pattern detected: %s", message.removeprefix(BLOCKED_PATTERN))
    return Validation(message)


@lru_cache(64)
def _policy(blocked: tuple[tuple[type[str], str], ...], literal: bool) -> Policy:
    """Return the policy. Cached by the type of each pattern, too: a built-in pattern equals the plain string of its
    text."""
    return policy([pattern for _, pattern in blocked], literal=literal)

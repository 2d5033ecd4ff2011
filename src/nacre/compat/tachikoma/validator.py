"""CommandValidator: may a text be run? Nothing is. Also two helpers that quote."""

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
    """Refuses these patterns, and what is dangerous whatever they are."""

    def __init__(self, blocked: Iterable[str] = (), *, literal: bool = False) -> None:
        """`blocked`: texts that no command may hold, whatever their case. `literal`: the document's own rules: the case
        of a text counts, and what is dangerous is found by its text, too, wherever it stands."""
        self.blocked_patterns = texts(blocked, "blocked")
        self._policy = _policy(tuple((type(each), each) for each in self.blocked_patterns), literal)

    def validate(
        self, command: str, *, cwd: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        """None, or `Validation` is raised. It would run in `cwd`, with `env` beside what this process has."""
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
        """One word for a shell, always in quotes."""
        return "'" + arg.replace("'", "'\\''") + "'"

    @staticmethod
    def build_safe_command(cmd: str, args: Sequence[str]) -> str:
        """The command as it is, its arguments quoted."""
        if isinstance(args, str):
            raise Validation(f"The arguments are {args!r}. Give a list of them.")
        return f"{cmd} {' '.join(map(CommandValidator.escape_arg, args))}"


def log_refusal(message: str) -> Validation:
    """A pattern that was found is worth a line in the log."""
    if message.startswith(BLOCKED_PATTERN):
        LOG.warning("Blocked command pattern detected: %s", message.removeprefix(BLOCKED_PATTERN))
    return Validation(message)


@lru_cache(64)
def _policy(blocked: tuple[tuple[type[str], str], ...], literal: bool) -> Policy:
    """By their kind as well: a pattern that names a deed equals the text it is written in."""
    return policy([pattern for _, pattern in blocked], literal=literal)

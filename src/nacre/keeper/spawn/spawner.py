"""Start shells for start messages. Decodes an environment or a ruleset only once if runs repeat it."""

from __future__ import annotations

from nacre.keeper.protocol.messages import StartMessage, environment_of
from nacre.keeper.spawn.shell import Shell, spawn

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.sandbox.kernel.ruleset import Ruleset


class ShellSpawner:
    """Starts shells that have the same limit on open files."""

    __slots__ = ("_environment", "_open_files", "_ruleset")

    def __init__(self, open_files: tuple[int, int]) -> None:
        """`open_files`: RLIMIT_NOFILE of commands, soft and hard."""
        self._open_files = open_files
        self._environment: tuple[bytes, dict[bytes, bytes]] = b"", {}
        """The last environment, encoded and decoded."""
        self._ruleset: tuple[bytes, Ruleset | None] = b"", None
        """The last ruleset, encoded and decoded."""

    def spawn(
        self, start: StartMessage, text: int | None = None, stdin: int | None = None, state: int | None = None
    ) -> Shell:
        """Start a shell, with descriptors of command file, stdin and state. OSError: it could not be started."""
        env, ruleset = self._decode_environment(start), self.decode_ruleset(start)
        return spawn(start, env, self._open_files, text, stdin, state, ruleset)

    def _decode_environment(self, start: StartMessage) -> dict[bytes, bytes]:
        if start.env != self._environment[0]:
            self._environment = start.env, environment_of(start.env)
        return self._environment[1]

    def decode_ruleset(self, start: StartMessage) -> Ruleset | None:
        if not start.ruleset:
            return None
        if start.ruleset != self._ruleset[0]:
            from nacre.sandbox.kernel.ruleset import Ruleset

            self._ruleset = start.ruleset, Ruleset.decode(start.ruleset)
        return self._ruleset[1]

"""Messages between host and keeper: NUL-separated fields. `channel` transports them.

No argument of bash can contain a NUL, so nothing needs escaping. Every decoder takes any bytes and returns a message or
raises `MalformedMessage`. It accepts only what an encoder writes: encoding the result gives the same bytes again.
Contains no knowledge of processes or event loops.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing `typing` would add 5 ms to the keeper's start
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAIN_FD = 3
"""File descriptor of the keeper's end of the socket pair."""

START = b"start"
CANCEL = b"cancel"
ADOPT = b"adopt"
REMOVE_DIRECTORY = b"clean"
STARTED = b"started"
FAILED = b"failed"
RUNNING = b"going"
ADOPTED = b"adopted"
ENDED = b"ended"

_DIGITS = 19
_MAX_NUMBER = 1 << 63
"""Some numbers are passed to the kernel, as signed 64-bit integers."""
_NO_TIMEOUT = float("inf")


class MalformedMessage(ValueError):
    """Bytes that are not a valid message."""


def environment_block(env: Mapping[str, str]) -> bytes:
    return "\0".join([f"{name}={value}" for name, value in env.items()]).encode("utf-8", "surrogateescape")


def environment_names(names: Iterable[str]) -> bytes:
    """Join names into one field: no name contains a `=`."""
    return "=".join(names).encode("utf-8", "surrogateescape")


def environment_of(block: bytes) -> dict[bytes, bytes]:
    if not block:
        return {}
    pairs = block.split(b"\0")
    try:
        env = dict([pair.split(b"=", 1) for pair in pairs])
    except ValueError as error:
        raise MalformedMessage("environment") from error
    if len(env) < len(pairs):
        raise MalformedMessage("environment")  # duplicate name
    return env


def _parse_int(field: bytes) -> int:
    """Parse an integer as `%d` writes it: without the spaces, signs, underscores and leading zeros that `int`
    accepts."""
    if not field.isdigit() or len(field) > _DIGITS or (field[0] == 48 and field != b"0"):
        raise MalformedMessage("number")
    if (number := int(field)) >= _MAX_NUMBER:
        raise MalformedMessage("number")
    return number


def _seconds(field: bytes) -> float:
    """Parse seconds as `%r` writes them: infinity is valid, negative numbers and NaN are not."""
    seconds = float(field)
    if not seconds >= 0 or b"%r" % seconds != field:
        raise MalformedMessage("seconds")
    return seconds


def _flags(field: bytes) -> list[bool]:
    if field.strip(b"01"):
        raise MalformedMessage("flags")
    return [flag == 49 for flag in field]


class StartMessage:
    """Everything that the keeper needs to start a run.

    File descriptors come with it in this order, each if present: control socket, command file, stdin, state, task
    directory.
    """

    __slots__ = (
        "bash",
        "cwd",
        "dedicated",
        "deferred",
        "env",
        "grace",
        "has_state",
        "has_stdin",
        "keep_leftovers",
        "kill_script",
        "log_cap",
        "merge",
        "private_dir",
        "protection",
        "report_pipestatus",
        "reports_state",
        "ruleset",
        "standby_ok",
        "tag",
        "task",
        "text",
        "timeout",
        "wait_for_jobs",
    )

    standby_ok: bool
    """Whether a shell may be started ahead for a next command like this one. False for a run with its own files."""
    text: bytes | None
    """The command. None: it is too long for the message and comes as a file."""
    env: bytes
    """`NAME=value`, NUL-separated. Kept as one block, because it nearly always equals the previous run's."""
    ruleset: bytes
    """Restrictions for the kernel, as `Ruleset.encode` writes them; empty for none."""
    dedicated: bool
    """Whether the run gets a dedicated keeper."""
    private_dir: bytes
    """A directory that is removed with that keeper."""
    task: bytes
    """Id of a run that is a task from the start; its directory comes as a descriptor. Empty for other runs."""
    log_cap: int
    """Size limit of its log in bytes."""
    reports_state: bool
    """Whether the shell reports its final working directory and environment."""
    report_pipestatus: bool
    """Whether the shell reports the exit status of each command of its last pipeline."""
    wait_for_jobs: bool
    """Whether the shell waits for its jobs before it exits."""
    kill_script: bytes
    """Shell script that kills the run where signals from here do not reach it; empty for none."""
    deferred: bytes
    """Names of variables, as `environment_names` joins them, that bash gets only after its tag and limits are set."""
    protection: bytes
    """For a task: hexadecimal SHA-256 of the snapshot of protected paths in its directory; empty if there is none."""

    def __init__(
        self,
        *,
        tag: int,
        timeout: float,
        grace: float,
        merge: bool,
        keep_leftovers: bool,
        standby_ok: bool,
        has_stdin: bool,
        has_state: bool,
        bash: bytes,
        cwd: bytes,
        text: bytes | None,
        env: bytes,
        ruleset: bytes = b"",
        dedicated: bool = False,
        private_dir: bytes = b"",
        task: bytes = b"",
        log_cap: int = 0,
        reports_state: bool = False,
        report_pipestatus: bool = False,
        wait_for_jobs: bool = False,
        kill_script: bytes = b"",
        deferred: bytes = b"",
        protection: bytes = b"",
    ) -> None:
        self.tag = tag
        self.timeout = timeout
        self.grace = grace
        self.merge = merge
        self.keep_leftovers = keep_leftovers
        self.standby_ok = standby_ok
        self.has_stdin = has_stdin
        self.has_state = has_state
        self.bash = bash
        self.cwd = cwd
        self.text = text
        self.env = env
        self.ruleset = ruleset
        self.dedicated = dedicated
        self.private_dir = private_dir
        self.task = task
        self.log_cap = log_cap
        self.reports_state = reports_state
        self.report_pipestatus = report_pipestatus
        self.wait_for_jobs = wait_for_jobs
        self.kill_script = kill_script
        self.deferred = deferred
        self.protection = protection

    def message(self) -> bytes:
        flags = (
            self.merge,
            self.keep_leftovers,
            self.standby_ok and not (self.has_stdin or self.has_state or self.text is None or self.deferred),
            self.has_stdin,
            self.has_state,
            self.text is None,
            self.dedicated,
            self.reports_state,
            self.report_pipestatus,
            self.wait_for_jobs,
        )
        return b"\0".join(
            (
                START,
                b"%d" % self.tag,
                b"%r" % float(self.timeout),
                b"%r" % float(self.grace),
                bytes([48 + flag for flag in flags]),
                self.private_dir,
                self.task,
                self.protection,
                self.kill_script,
                b"%d" % self.log_cap,
                self.bash,
                self.cwd,
                self.text or b"",
                self.deferred,
                b"%d" % len(self.ruleset),
                self.ruleset + self.env,
            )
        )

    @classmethod
    def parse(cls, message: bytes) -> StartMessage:
        try:
            verb, tag, timeout, grace, flags, private_dir, *others = message.split(b"\0", 15)
            task, protection, kill_script, log_cap, bash, cwd, text, deferred, length, rest = others
            merge, keep_leftovers, standby_ok, has_stdin, has_state, text_is_file, *rare = _flags(flags)
            dedicated, reports_state, report_pipestatus, wait_for_jobs = rare
            size, wait = _parse_int(length), _seconds(grace)
            if (
                verb != START
                or size > len(rest)
                or wait == _NO_TIMEOUT
                or (text_is_file and text)
                or (standby_ok and (has_stdin or has_state or text_is_file or deferred))
            ):
                raise MalformedMessage("start")
            return cls(
                tag=_parse_int(tag),
                timeout=_seconds(timeout),
                grace=wait,
                merge=merge,
                keep_leftovers=keep_leftovers,
                standby_ok=standby_ok,
                has_stdin=has_stdin,
                has_state=has_state,
                bash=bash,
                cwd=cwd,
                text=None if text_is_file else text,
                env=rest[size:],
                ruleset=rest[:size],
                dedicated=dedicated,
                private_dir=private_dir,
                task=task,
                log_cap=_parse_int(log_cap),
                reports_state=reports_state,
                report_pipestatus=report_pipestatus,
                wait_for_jobs=wait_for_jobs,
                kill_script=kill_script,
                deferred=deferred,
                protection=protection,
            )
        except ValueError as error:
            raise MalformedMessage("start") from error


class AdoptMessage:
    """Make a run a task. The task's directory comes as a file descriptor."""

    __slots__ = ("detached", "live", "log_cap", "protection", "task", "total_bytes")

    def __init__(
        self, *, task: bytes, log_cap: int, total_bytes: int, detached: bool, live: bool, protection: bytes = b""
    ) -> None:
        self.task = task
        self.log_cap = log_cap
        self.total_bytes = total_bytes
        """Bytes printed so far. They are in the log already, as far as they are kept."""
        self.detached = detached
        """Whether the task outlives its host."""
        self.live = live
        """Whether the run itself becomes the task, not its leftovers."""
        self.protection = protection
        """As in `StartMessage`."""

    def message(self) -> bytes:
        flags = b"%d%d" % (self.detached, self.live)
        return b"%b\0%b\0%b\0%d\0%d\0%b" % (ADOPT, self.task, self.protection, self.log_cap, self.total_bytes, flags)

    @classmethod
    def parse(cls, message: bytes) -> AdoptMessage:
        try:
            verb, task, protection, log_cap, total_bytes, flags = message.split(b"\0")
            detached, live = _flags(flags)
            if verb != ADOPT:
                raise MalformedMessage("adopt")
            return cls(
                task=task,
                log_cap=_parse_int(log_cap),
                total_bytes=_parse_int(total_bytes),
                detached=detached,
                live=live,
                protection=protection,
            )
        except ValueError as error:
            raise MalformedMessage("adopt") from error

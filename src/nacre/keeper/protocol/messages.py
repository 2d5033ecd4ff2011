"""What host and keeper say to each other: NUL-separated fields. How it travels is `channel`'s affair.

Nothing that bash takes can hold a NUL, so nothing needs escaping. Every decoder takes any bytes and answers with a
message or `Garbled`; and it takes only what an encoder writes: what it has taken is the same bytes again when it is
encoded. Knows neither processes nor event loops.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` would cost the keeper 5 ms of its start
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAIN_FD = 3
"""The keeper's end of the socket pair."""

START = b"start"
CANCEL = b"cancel"
ADOPT = b"adopt"
CLEAN = b"clean"
STARTED = b"started"
FAILED = b"failed"
GOING = b"going"
ADOPTED = b"adopted"
ENDED = b"ended"

_DIGITS = 19
_TOO_LARGE = 1 << 63
"""For the kernel, whose numbers some of ours become."""
_NEVER = float("inf")


class Garbled(ValueError):
    """Bytes that are no message of ours."""


def environment_block(env: Mapping[str, str]) -> bytes:
    return "\0".join([f"{name}={value}" for name, value in env.items()]).encode("utf-8", "surrogateescape")


def environment_names(names: Iterable[str]) -> bytes:
    """In one field: no name holds a `=`."""
    return "=".join(names).encode("utf-8", "surrogateescape")


def environment_of(block: bytes) -> dict[bytes, bytes]:
    if not block:
        return {}
    pairs = block.split(b"\0")
    try:
        env = dict([pair.split(b"=", 1) for pair in pairs])
    except ValueError as error:
        raise Garbled("environment") from error
    if len(env) < len(pairs):
        raise Garbled("environment")  # a name stands there twice
    return env


def _whole(field: bytes) -> int:
    """As `%d` writes it. Without `int`'s blanks, signs, underscores and zeros."""
    if not field.isdigit() or len(field) > _DIGITS or (field[0] == 48 and field != b"0"):
        raise Garbled("number")
    if (number := int(field)) >= _TOO_LARGE:
        raise Garbled("number")
    return number


def _seconds(field: bytes) -> float:
    """As `%r` writes it; perhaps for ever, but neither below 0 nor no number."""
    seconds = float(field)
    if not seconds >= 0 or b"%r" % seconds != field:
        raise Garbled("seconds")
    return seconds


def _flags(field: bytes) -> list[bool]:
    if field.strip(b"01"):
        raise Garbled("flags")
    return [flag == 49 for flag in field]


class Start:
    """Everything the keeper must know to start a run.

    Its files follow in the order control, text, stdin, state, folder.
    """

    __slots__ = (
        "apart",
        "bash",
        "cap",
        "confinement",
        "cwd",
        "deferred",
        "ender",
        "env",
        "grace",
        "has_state",
        "has_stdin",
        "keep",
        "merge",
        "private",
        "protection",
        "reusable",
        "session",
        "stages",
        "tag",
        "task",
        "text",
        "timeout",
        "waits",
    )

    def __init__(
        self,
        *,
        tag: int,
        timeout: float,
        grace: float,
        merge: bool,
        keep: bool,
        reusable: bool,
        has_stdin: bool,
        has_state: bool,
        bash: bytes,
        cwd: bytes,
        text: bytes | None,
        env: bytes,
        confinement: bytes = b"",
        apart: bool = False,
        private: bytes = b"",
        task: bytes = b"",
        cap: int = 0,
        session: bool = False,
        stages: bool = False,
        waits: bool = False,
        ender: bytes = b"",
        deferred: bytes = b"",
        protection: bytes = b"",
    ) -> None:
        self.tag = tag
        self.timeout = timeout
        self.grace = grace
        self.merge = merge
        self.keep = keep
        self.reusable = reusable
        """A shell for the next command may be started ahead, just like this one's: not if it has files of its own."""
        self.has_stdin = has_stdin
        self.has_state = has_state
        self.bash = bash
        self.cwd = cwd
        self.text = text
        """None: too long to be said here; it comes as a file."""
        self.env = env
        """`NAME=value`, NUL-separated: whole, because it is nearly always the one of the run before."""
        self.confinement = confinement
        """What the kernel is to enforce, as `Confinement` puts it; empty for nothing."""
        self.apart = apart
        """With a keeper of its own."""
        self.private = private
        """A directory that goes with that keeper."""
        self.task = task
        """The id of a task from the start, whose folder comes as a file; empty for none."""
        self.cap = cap
        """Bytes of its log."""
        self.session = session
        """The shell is to tell its last directory and environment."""
        self.stages = stages
        """The shell is to tell how each command of its last pipeline ended."""
        self.waits = waits
        """The shell is to wait for its jobs."""
        self.ender = ender
        """Shell text that ends it, where signals from here do not reach it; empty for none."""
        self.deferred = deferred
        """Names of variables, as `environment_names` joins them: bash gets those when its tag and limits are set."""
        self.protection = protection
        """Of a task: the SHA-256 of the file in its folder that says what protected paths were like before, in
        hexadecimal; empty if there is none."""

    def message(self) -> bytes:
        flags = (
            self.merge,
            self.keep,
            self.reusable and not (self.has_stdin or self.has_state or self.text is None or self.deferred),
            self.has_stdin,
            self.has_state,
            self.text is None,
            self.apart,
            self.session,
            self.stages,
            self.waits,
        )
        return b"\0".join(
            (
                START,
                b"%d" % self.tag,
                b"%r" % float(self.timeout),
                b"%r" % float(self.grace),
                bytes([48 + flag for flag in flags]),
                self.private,
                self.task,
                self.protection,
                self.ender,
                b"%d" % self.cap,
                self.bash,
                self.cwd,
                self.text or b"",
                self.deferred,
                b"%d" % len(self.confinement),
                self.confinement + self.env,
            )
        )

    @classmethod
    def parse(cls, message: bytes) -> Start:
        try:
            verb, tag, timeout, grace, flags, private, *others = message.split(b"\0", 15)
            task, protection, ender, cap, bash, cwd, text, deferred, length, rest = others
            merge, keep, reusable, has_stdin, has_state, text_is_file, *rare = _flags(flags)
            apart, session, stages, waits = rare
            size, wait = _whole(length), _seconds(grace)
            if (
                verb != START
                or size > len(rest)
                or wait == _NEVER
                or (text_is_file and text)
                or (reusable and (has_stdin or has_state or text_is_file or deferred))
            ):
                raise Garbled("start")
            return cls(
                tag=_whole(tag),
                timeout=_seconds(timeout),
                grace=wait,
                merge=merge,
                keep=keep,
                reusable=reusable,
                has_stdin=has_stdin,
                has_state=has_state,
                bash=bash,
                cwd=cwd,
                text=None if text_is_file else text,
                env=rest[size:],
                confinement=rest[:size],
                apart=apart,
                private=private,
                task=task,
                cap=_whole(cap),
                session=session,
                stages=stages,
                waits=waits,
                ender=ender,
                deferred=deferred,
                protection=protection,
            )
        except ValueError as error:
            raise Garbled("start") from error


class Adoption:
    """From now on this run is a task. Its folder comes as a file."""

    __slots__ = ("cap", "detached", "live", "protection", "seen", "task")

    def __init__(
        self, *, task: bytes, cap: int, seen: int, detached: bool, live: bool, protection: bytes = b""
    ) -> None:
        self.task = task
        self.cap = cap
        self.seen = seen
        """Bytes that it has printed so far: they are in its log already, as far as they are kept."""
        self.detached = detached
        """It does not end with its host."""
        self.live = live
        """The run itself is meant, and not what it has left running."""
        self.protection = protection
        """As in `Start`."""

    def message(self) -> bytes:
        flags = b"%d%d" % (self.detached, self.live)
        return b"%b\0%b\0%b\0%d\0%d\0%b" % (ADOPT, self.task, self.protection, self.cap, self.seen, flags)

    @classmethod
    def parse(cls, message: bytes) -> Adoption:
        try:
            verb, task, protection, cap, seen, flags = message.split(b"\0")
            detached, live = _flags(flags)
            if verb != ADOPT:
                raise Garbled("adopt")
            return cls(
                task=task, cap=_whole(cap), seen=_whole(seen), detached=detached, live=live, protection=protection
            )
        except ValueError as error:
            raise Garbled("adopt") from error

"""Messages of the host to the keeper: NUL-separated fields. `replies` has the answers; `channel` transports both.

No argument of bash can contain a NUL, so nothing needs escaping. Every decoder takes any bytes and returns a message or
raises `MalformedMessage`. It accepts only what an encoder writes: encoding the result gives the same bytes again.
Contains no knowledge of processes or event loops.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False  # importing `typing` would add 5 ms to the keeper's start
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Self

MAIN_FD = 3
"""File descriptor of the keeper's end of the socket pair."""

START = b"start"
CANCEL = b"cancel"
ADOPT = b"adopt"
REMOVE_DIRECTORY = b"clean"

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


def parse_int(field: bytes) -> int:
    """Parse an integer as `%d` writes it: without the spaces, signs, underscores and leading zeros that `int`
    accepts."""
    if not field.isdigit() or len(field) > _DIGITS or (field[0] == 48 and field != b"0"):
        raise MalformedMessage("number")
    if (number := int(field)) >= _MAX_NUMBER:
        raise MalformedMessage("number")
    return number


def parse_seconds(field: bytes) -> float:
    """Parse seconds as `%r` writes them: infinity is valid, negative numbers and NaN are not."""
    seconds = float(field)
    if not seconds >= 0 or b"%r" % seconds != field:
        raise MalformedMessage("seconds")
    return seconds


_FORMATS = {"int": b"%d", "float": b"%r", "bool": b"%b", "bytes": b"%b", "rest": b"%b"}
"""How a field is written, by its type. `rest`: bytes that may contain NUL, at the end of the message."""
_PARSERS = {"int": parse_int, "float": parse_seconds}


class MessageLayout:
    """The fields of a message in order, with their types. All flags (`bool`) are one field, in place of the first."""

    __slots__ = (
        "_encoded_flags",
        "_flags",
        "_flags_at",
        "_format",
        "_get_fields",
        "_get_flags",
        "_names",
        "_parsed_flags",
        "_parsers",
        "_splits",
        "_verb",
    )

    def __init__(self, verb: bytes, types: Mapping[str, str]) -> None:
        self._verb = verb
        self._flags = [name for name in types if types[name] == "bool"]
        self._names = [name for name in types if name not in self._flags[1:]]
        self._flags_at = self._names.index(self._flags[0])
        self._get_fields, self._get_flags = itemgetter(*self._names), itemgetter(*self._flags)
        self._format = b"\0".join([verb, *[_FORMATS[types[name]] for name in self._names]])
        self._parsers = [(name, _PARSERS[types[name]]) for name in self._names if types[name] in _PARSERS]
        self._splits = len(self._names) if "rest" in types.values() else -1
        self._encoded_flags: dict[tuple[bool, ...], bytes] = {}
        """Combinations of flags that were encoded before: nearly always the same ones."""
        self._parsed_flags: dict[bytes, dict[str, bool]] = {}

    def encode(self, values: Mapping[str, Any]) -> bytes:
        fields = [*self._get_fields(values)]
        flags = self._get_flags(values)
        fields[self._flags_at] = self._encoded_flags.get(flags) or self._encode_flags(flags)
        return self._format % tuple(fields)

    def decode(self, data: bytes) -> dict[str, Any]:
        """Return the values by name. Raises MalformedMessage for bytes that `encode` does not write."""
        verb, *fields = data.split(b"\0", self._splits)
        if verb != self._verb or len(fields) != len(self._names):
            raise MalformedMessage(self._verb.decode())
        values: dict[str, Any] = dict(zip(self._names, fields))  # noqa: B905  # `strict` would cost a tenth of decoding
        flags = fields[self._flags_at]
        try:
            values |= self._parsed_flags.get(flags) or self._parse_flags(flags)
            for name, parse in self._parsers:
                values[name] = parse(values[name])
        except ValueError as error:
            raise MalformedMessage(self._verb.decode()) from error
        return values

    def _encode_flags(self, flags: tuple[bool, ...]) -> bytes:
        self._encoded_flags[flags] = field = bytes([48 + flag for flag in flags])
        return field

    def _parse_flags(self, field: bytes) -> dict[str, bool]:
        if len(field) != len(self._flags) or field.strip(b"01"):
            raise MalformedMessage("flags")
        self._parsed_flags[field] = flags = {name: flag == 49 for name, flag in zip(self._flags, field, strict=True)}
        return flags


class Message:
    """A message. A subclass lists its fields once: as annotations, in the order in which they are sent."""

    layout: MessageLayout
    defaults: dict[str, Any]

    def __init_subclass__(cls, *, verb: bytes) -> None:
        cls.layout = MessageLayout(verb, cls.sent_types())
        cls.defaults = {name: cls.__dict__[name] for name in cls.__annotations__ if name in cls.__dict__}

    @classmethod
    def sent_types(cls) -> Mapping[str, str]:
        """Return the type of each field as it is sent."""
        return cls.__annotations__

    def __init__(self, **values: Any) -> None:
        """Without `values`, every field must be set as an attribute: that takes a fifth of the time."""
        if values:
            self.__dict__ = {**self.defaults, **values}

    def message(self) -> bytes:
        """Return the encoded message. KeyError: a field has no value."""
        return self.layout.encode(self.__dict__)

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Parse the output of `message`. Raises MalformedMessage for anything else."""
        message = cls.__new__(cls)
        message.__dict__ = cls.layout.decode(data)
        return message


class StartMessage(Message, verb=START):
    """Everything that the keeper needs to start a run.

    File descriptors come with it in this order, each if present: control socket, command file, stdin, state, task
    directory.
    """

    tag: int
    timeout: float
    grace: float
    merge: bool
    keep_leftovers: bool
    standby_ok: bool
    """Whether a shell may be started ahead for a next command like this one. False for a run with its own files."""
    has_stdin: bool
    has_state: bool
    dedicated: bool = False
    """Whether the run gets a dedicated keeper."""
    reports_state: bool = False
    """Whether the shell reports its final working directory and environment."""
    report_pipestatus: bool = False
    """Whether the shell reports the exit status of each command of its last pipeline."""
    wait_for_jobs: bool = False
    """Whether the shell waits for its jobs before it exits."""
    private_dir: bytes = b""
    """A directory that is removed with that keeper."""
    task: bytes = b""
    """Id of a run that is a task from the start; its directory comes as a descriptor. Empty for other runs."""
    protection: bytes = b""
    """For a task: hexadecimal SHA-256 of the snapshot of protected paths in its directory; empty if there is none."""
    kill_script: bytes = b""
    """Shell script that kills the run where signals from here do not reach it; empty for none."""
    log_cap: int = 0
    """Size limit of its log in bytes."""
    bash: bytes
    cwd: bytes
    text: bytes | None
    """The command. None: it is too long for the message and comes as a file."""
    deferred: bytes = b""
    """Names of variables, as `environment_names` joins them, that bash gets only after its tag and limits are set."""
    ruleset: bytes = b""
    """Restrictions for the kernel, as `Ruleset.encode` writes them; empty for none."""
    env: bytes
    """`NAME=value`, NUL-separated. Kept as one block, because it nearly always equals the previous run's."""

    @classmethod
    def sent_types(cls) -> Mapping[str, str]:
        """`text` is sent with a flag for None, `ruleset` as its size: its bytes precede those of `env`."""
        types: dict[str, str] = {}
        for name, kind in cls.__annotations__.items():
            types[name] = kind
            if name == "has_state":
                types["text_is_file"] = "bool"
        return types | {"text": "bytes", "ruleset": "int", "env": "rest"}

    def message(self) -> bytes:
        is_file = self.text is None
        has_files = self.has_stdin or self.has_state or is_file or self.deferred
        return self.layout.encode(
            self.__dict__
            | {
                "timeout": float(self.timeout),
                "grace": float(self.grace),
                "standby_ok": self.standby_ok and not has_files,
                "text_is_file": is_file,
                "text": self.text or b"",
                "ruleset": len(self.ruleset),
                "env": self.ruleset + self.env,
            }
        )

    @classmethod
    def parse(cls, data: bytes) -> Self:
        start = cls.__new__(cls)
        start.__dict__ = values = cls.layout.decode(data)
        is_file, size, rest = values.pop("text_is_file"), values["ruleset"], start.env
        has_files = start.has_stdin or start.has_state or is_file or start.deferred
        if (
            size > len(rest)
            or start.grace == _NO_TIMEOUT
            or (is_file and start.text)
            or (start.standby_ok and has_files)
        ):
            raise MalformedMessage("start")
        if is_file:
            start.text = None
        start.ruleset, start.env = rest[:size], rest[size:]
        return start


class AdoptMessage(Message, verb=ADOPT):
    """Make a run a task. The task's directory comes as a file descriptor."""

    task: bytes
    protection: bytes = b""
    """As in `StartMessage`."""
    log_cap: int
    total_bytes: int
    """Bytes printed so far. They are in the log already, as far as they are kept."""
    detached: bool
    """Whether the task outlives its host."""
    live: bool
    """Whether the run itself becomes the task, not its leftovers."""

"""Reasons why a run ended, and how long killing it may take. Shared by host and keeper."""

from __future__ import annotations

from enum import Enum

from nacre.keeper.protocol.messages import MalformedMessage

UNKILLABLE_AFTER_S = 1.0
"""Seconds after SIGKILL until a process counts as unkillable: it is blocked in the kernel, or belongs to another
user."""


KILL_SCRIPT_TIMEOUT_S = 15.0
"""Seconds beyond the grace for a kill script, which may have to call another program that is busy."""


class EndKind(Enum):
    """The event that ended a run, with its word in messages."""

    EXIT = b"exit"
    TIMEOUT = b"timeout"
    CANCEL = b"cancel"
    LIMIT = b"limit"
    KILL = b"kill"


class ExceededLimit:
    """A limit that a run exceeded: its name as in `Limits`, its value, and the amount that was used."""

    __slots__ = ("allowed", "name", "used")

    def __init__(self, name: str, allowed: float, used: float) -> None:
        self.name = name
        self.allowed = allowed
        self.used = used

    def encode(self) -> bytes:
        return b"%b %r %r" % (self.name.encode(), self.allowed, self.used)

    @classmethod
    def parse(cls, data: bytes) -> ExceededLimit:
        try:
            name, allowed, used = data.split(b" ")
            limit = cls(name.decode(), _parse_amount(allowed), _parse_amount(used))
        except ValueError as error:
            raise MalformedMessage("limit") from error
        if limit.encode() != data:
            raise MalformedMessage("limit")
        return limit


class EndReason:
    """Why a run ended. `limit` belongs to `LIMIT`; `requester` to `KILL`, and names in words who requested it."""

    __slots__ = ("kind", "limit", "requester")

    def __init__(self, kind: EndKind, *, limit: ExceededLimit | None = None, requester: str = "") -> None:
        self.kind = kind
        self.limit = limit
        self.requester = requester

    def encode(self) -> bytes:
        if self.limit is not None:
            return b"%b %b" % (self.kind.value, self.limit.encode())
        if self.kind is EndKind.KILL:
            return b"%b %b" % (self.kind.value, self.requester.encode("utf-8", "replace"))
        return b"%b" % self.kind.value

    @classmethod
    def parse(cls, data: bytes) -> EndReason:
        """Parse the output of `encode`. Raises MalformedMessage for anything else."""
        word, _, rest = data.partition(b" ")
        try:
            kind = EndKind(word)
            limit = ExceededLimit.parse(rest) if kind is EndKind.LIMIT else None
            reason = cls(kind, limit=limit, requester=rest.decode() if kind is EndKind.KILL else "")
        except ValueError as error:
            raise MalformedMessage("reason") from error
        if reason.encode() != data:
            raise MalformedMessage("reason")
        return reason

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EndReason) and self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(self.encode())

    def __repr__(self) -> str:
        return f"EndReason.parse({self.encode()!r})"


EXITED, TIMED_OUT, CANCELLED = EndReason(EndKind.EXIT), EndReason(EndKind.TIMEOUT), EndReason(EndKind.CANCEL)


def _parse_amount(field: bytes) -> float:
    """Parse an amount: an int stays an int. The caller compares the encoded result, which excludes other notations."""
    amount = int(field) if field.isdigit() else float(field)
    if not 0 <= amount < float("inf"):
        raise MalformedMessage("amount")
    return amount

"""What the kernel is to enforce for one run, as host and keeper tell it each other. Pure.

Every part is one field, `name=value`; the whole travels as bytes, so that two runs are confined alike exactly when
their bytes are equal.
"""

from __future__ import annotations

TYPE_CHECKING = False  # loaded by the keeper: see keeper/wire.py
if TYPE_CHECKING:
    from collections.abc import Iterable

WRITABLE, READ_ONLY, HIDDEN, SHM, PTS = b"open", b"close", b"hide", b"memory", b"terminals"
"""What a mount does to a path: leave it writable, make it read-only, cover it, make it shared memory or terminals of
one's own."""

MIN_THREADS = 256
"""Threads that a run may have, however few processes it may have: one Java program has tens."""


class Ruleset:
    __slots__ = (
        "drop_privileges",
        "filter",
        "grants",
        "landlock",
        "limits",
        "loopback",
        "mounts",
        "ports",
        "private_tmpdir",
        "read_only_root",
        "redirects",
        "user_namespace",
        "watched_limits",
    )

    def __init__(
        self,
        *,
        powerless: bool = False,
        landlock: tuple[int, int, int] | None = None,
        grants: Iterable[tuple[int, bytes]] = (),
        ports: Iterable[int] = (),
        filter: bytes = b"",
        closed: bool = False,
        mounts: Iterable[tuple[bytes, bytes]] = (),
        user_namespace: bool = False,
        loopback: bool = False,
        scratch: bytes = b"",
        redirects: Iterable[tuple[bytes, bytes]] = (),
        limits: Iterable[tuple[int, int]] = (),
        watched: Iterable[tuple[bytes, float]] = (),
    ) -> None:
        self.drop_privileges = powerless
        """No new privileges, no capabilities."""
        self.landlock = landlock
        """What it forbids: rights on files, rights on TCP, scopes."""
        self.grants = [*grants]
        """Rights on files that it gives back, each below a path. A path that does not exist is left out."""
        self.ports = [*ports]
        """That may be connected to."""
        self.filter = filter
        """For seccomp."""
        self.read_only_root = closed
        """In a mount namespace of its own, where everything is read-only but what `mounts` opens."""
        self.mounts = [*mounts]
        self.user_namespace = user_namespace
        """Mounts are made in a user namespace of its own: we may make none otherwise."""
        self.loopback = loopback
        """In a network namespace of its own."""
        self.private_tmpdir = scratch
        """Where to make the private TMPDIR; empty for none."""
        self.redirects = [*redirects]
        """Variables that point into the TMPDIR, and where."""
        self.limits = [*limits]
        """Resource limits: number and value."""
        self.watched_limits = [*watched]
        """What the keeper counts over the whole run: `memory` (bytes), `cpu` (seconds), `processes`, `threads`."""

    def encode(self) -> bytes:
        fields: list[bytes] = []
        if self.drop_privileges:
            fields.append(b"powerless=")
        if self.landlock is not None:
            fields.append(b"landlock=%d %d %d" % self.landlock)
        fields += [b"grant=%d %b" % grant for grant in self.grants]
        fields += [b"port=%d" % port for port in self.ports]
        if self.filter:
            fields.append(b"filter=" + self.filter.hex().encode())
        if self.read_only_root:
            fields.append(b"closed=")
        fields += [b"mount=%b %b" % mount for mount in self.mounts]
        if self.user_namespace:
            fields.append(b"user=")
        if self.loopback:
            fields.append(b"loopback=")
        if self.private_tmpdir:
            fields.append(b"scratch=" + self.private_tmpdir)
        fields += [b"redirect=%b %b" % redirect for redirect in self.redirects]
        fields += [b"limit=%d %d" % limit for limit in self.limits]
        fields += [b"watch=%b %r" % watch for watch in self.watched_limits]
        return b"\0".join(fields)

    @classmethod
    def decode(cls, data: bytes) -> Ruleset:
        """ValueError: these are no bytes of ours."""
        made = cls()
        for field in data.split(b"\0") if data else []:
            name, _, value = field.partition(b"=")
            first, _, rest = value.partition(b" ")
            match name:
                case b"powerless":
                    made.drop_privileges = True
                case b"landlock":
                    files, network, scopes = map(int, value.split())
                    made.landlock = files, network, scopes
                case b"grant":
                    made.grants.append((int(first), rest))
                case b"port":
                    made.ports.append(int(value))
                case b"filter":
                    made.filter = bytes.fromhex(value.decode())
                case b"closed":
                    made.read_only_root = True
                case b"mount":
                    made.mounts.append((first, rest))
                case b"user":
                    made.user_namespace = True
                case b"loopback":
                    made.loopback = True
                case b"scratch":
                    made.private_tmpdir = value
                case b"redirect":
                    made.redirects.append((first, rest))
                case b"limit":
                    made.limits.append((int(first), int(rest)))
                case b"watch":
                    made.watched_limits.append((first, int(rest) if rest.isdigit() else float(rest)))
                case _:
                    raise ValueError(f"a confinement with {name!r}")
        return made
